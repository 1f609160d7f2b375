"""Errors of Connect's tasks: counters that begin anew, tasks that move and go."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

import pytest
from sqlalchemy import Connection, Row, select

from collector.contract.events import ConnectTask, ConnectTasksSnapshot, Event, Position
from streaming.store import schema
from streaming.store.batch import Batch
from streaming.store.connect_tasks import following
from streaming.store.storable import MAX_INTEGER
from streaming.store.store import Store

TASK = ConnectTask(
    worker="w:1",
    connector="sink",
    task="0",
    state="RUNNING",
    counted=True,
    started_at_ms=1,
    records=0,
    record_failures=0,
    record_errors=0,
    records_skipped=0,
    retries=0,
    errors_logged=0,
    dlq_produce_requests=0,
    dlq_produce_failures=0,
    last_error_at_ms=0,
    judged=True,
    stalled_since_ms=0,
    stalled_because="",
)
UNTOLD = replace(TASK, counted=False, started_at_ms=0)


def failed(failures: int, *, records: int = 100, started_at_ms: int = 1) -> ConnectTask:
    return replace(
        TASK,
        record_failures=failures,
        records=records,
        started_at_ms=started_at_ms,
        last_error_at_ms=failures,
    )


@dataclass(frozen=True)
class Case:
    name: str
    looks: tuple[ConnectTask, ...]
    total: int
    last_error_at_ms: int


CASES = [
    Case("what was counted before we looked counts", (failed(5),), 5, 5),
    Case("only what is more is added", (failed(5), failed(7), failed(7)), 7, 7),
    Case("a counter that is less than it was began anew", (failed(5), failed(2)), 7, 5),
    Case("the records give a restart away", (failed(5), failed(6, records=9)), 11, 6),
    Case("so does a later start of the worker", (failed(5), failed(6, started_at_ms=2)), 11, 6),
    Case("a task that was down keeps its total", (failed(5), UNTOLD, failed(6)), 6, 6),
    Case("and counts in full when it comes back anew", (failed(5), UNTOLD, failed(3)), 8, 5),
    Case("never told", (UNTOLD, UNTOLD), 0, 0),
    Case("told later", (UNTOLD, failed(4)), 4, 4),
    Case("no total overflows", (failed(MAX_INTEGER), failed(5, started_at_ms=2)), MAX_INTEGER, MAX_INTEGER),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_totals_never_go_back(case: Case) -> None:
    first, *later = case.looks
    row = reduce(following, later, following(None, first))
    assert (row["record_failures_total"], row["last_error_at_ms"]) == (case.total, case.last_error_at_ms)
    assert row["records_skipped_total"] == 0
    assert row["counted"] == any(look.counted for look in case.looks)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        yield opened


def snapshot(*tasks: ConnectTask, cluster: str = "a") -> ConnectTasksSnapshot:
    return ConnectTasksSnapshot(
        source=f"connect-tasks:{cluster}",
        position=Position(1),
        happened_at_ms=5,
        observed_at_ms=5,
        kafka_cluster="c",
        connect_cluster=cluster,
        connect_tasks=tasks,
    )


def apply(store: Store, batch_id: int, *events: Event) -> None:
    store.apply(
        Batch(query_id="q", batch_id=batch_id, committed_at_ms=1, offsets={}, marks={}, events=events)
    )


def rows(connection: Connection) -> dict[tuple[str, str], Row[tuple[object, ...]]]:
    connection.rollback()
    return {
        (row.connect_cluster, row.worker): row for row in connection.execute(select(schema.connect_tasks))
    }


def test_totals_go_on_over_batches_and_a_batch_counts_once(store: Store, connection: Connection) -> None:
    apply(store, 0, snapshot(failed(5)), snapshot(failed(6)))
    apply(store, 1, snapshot(failed(2)))
    apply(store, 1, snapshot(failed(1)))
    assert rows(connection)["a", "w:1"].record_failures_total == 8


def test_a_task_that_moved_keeps_what_it_had_where_it_was(store: Store, connection: Connection) -> None:
    apply(store, 0, snapshot(replace(failed(5), stalled_since_ms=3, stalled_because="x")))
    apply(store, 1, snapshot(replace(failed(1), worker="w:2")))
    seen = rows(connection)
    old, new = seen["a", "w:1"], seen["a", "w:2"]
    assert (old.state, old.judged, old.stalled_since_ms, old.record_failures_total) == ("", False, 0, 5)
    assert (new.state, new.judged, new.record_failures_total) == ("RUNNING", True, 1)


def test_two_connect_clusters_with_a_connector_of_one_name_are_two(
    store: Store, connection: Connection
) -> None:
    apply(store, 0, snapshot(failed(5)), snapshot(replace(failed(7), worker="w:2"), cluster="b"))
    apply(store, 1, snapshot(failed(6)))
    apply(store, 2, snapshot(cluster="b"))
    seen = rows(connection)
    one, other = seen["a", "w:1"], seen["b", "w:2"]
    assert (one.state, one.record_failures_total) == ("RUNNING", 6)
    assert (other.state, other.record_failures_total) == ("", 7)
