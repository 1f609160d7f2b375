"""Findings that come, last and go: what the store makes of snapshots."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, select

from collector.contract.events import Finding, FindingsSnapshot, Position
from collector.contract.findings import MAX_FINDINGS
from streaming.store import schema
from streaming.store.batch import Batch
from streaming.store.storable import storable_key
from streaming.store.store import Store

ABSURD = "\x00" * 5_000


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        yield opened


def snapshot(
    at_ms: int, *subjects: str, source: str = "findings:one", message: str = "m"
) -> FindingsSnapshot:
    return FindingsSnapshot(
        source=source,
        position=Position(at_ms),
        happened_at_ms=at_ms,
        observed_at_ms=at_ms,
        kafka_cluster="c",
        findings=tuple(
            Finding(kind="k", subject=subject, message=message, change="c") for subject in subjects
        ),
    )


def apply(store: Store, batch_id: int, *events: FindingsSnapshot) -> None:
    store.apply(
        Batch(query_id="q", batch_id=batch_id, committed_at_ms=1, offsets={}, marks={}, events=events)
    )


def since(connection: Connection) -> dict[str, int]:
    connection.rollback()
    return {row.subject: row.first_ms for row in connection.execute(select(schema.findings))}


def test_a_finding_lasts_since_it_was_first_told_and_goes_when_it_is_mended(
    store: Store, connection: Connection
) -> None:
    apply(store, 0, snapshot(10, "a"))
    apply(store, 1, snapshot(20, "a", "b"))
    assert since(connection) == {"a": 10, "b": 20}
    apply(store, 2, snapshot(30, "b", message="now otherwise"))
    assert since(connection) == {"b": 20}
    (row,) = connection.execute(select(schema.findings))
    assert (row.message, row.observed_at_ms) == ("now otherwise", 30)
    apply(store, 3, snapshot(40), snapshot(50, "a"))
    assert since(connection) == {"a": 50}


def test_what_another_collector_tells_stays_until_that_one_takes_it_back(
    store: Store, connection: Connection
) -> None:
    apply(store, 0, snapshot(10, "a"), snapshot(10, "b", source="findings:two"))
    apply(store, 1, snapshot(20))
    assert since(connection) == {"b": 10}
    apply(store, 2, snapshot(30, "b"))
    assert since(connection) == {"b": 10}
    apply(store, 3, snapshot(40, source="findings:two"))
    assert since(connection) == {"b": 10}


def test_a_snapshot_beyond_all_bounds_is_cut_and_that_is_counted(
    store: Store, connection: Connection
) -> None:
    subjects = [ABSURD, *(str(number) for number in range(MAX_FINDINGS + 4))]
    apply(store, 0, snapshot(10, *subjects))
    held = since(connection)
    assert len(held) == MAX_FINDINGS
    assert storable_key(ABSURD) in held
    (row,) = connection.execute(select(schema.series).where(schema.series.c.name == "cardinality_limited"))
    assert (row.labels, row.value) == ('{"series":"findings"}', 5)
