"""New counts in place of old ones: at once, with nothing of the old and nothing that people wrote lost."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table, create_engine, insert, select, text

from collector.contract.events import Position
from streaming.store import replacement, schema
from streaming.store.batch import Batch, GroupDelta, Sample, SeriesDelta, delta
from streaming.store.errors import RebuiltError
from streaming.store.owner import Owner
from streaming.store.series import BATCH_FAILURES, RECORDS_MISSED, TASK_TIMEOUTS, Series
from streaming.store.store import Store

NOW_MS = 1_800_000_000_000
GROUP = GroupDelta(
    fingerprint="f0",
    kafka_cluster="c1",
    dlq_topic="dlq.a",
    dialect="connect",
    source_topic="a",
    consumer="sink",
    error_class="E",
    message_pattern="bad #",
    message="bad 1",
    records=3,
    first_ms=NOW_MS - 10,
    last_ms=NOW_MS,
)
SAMPLE = Sample("f0", "dlq.a", 0, 7, NOW_MS, (), b"\x00\xffk", None, 3, -1)
OWNER = Owner("here", 1, "now")

Rows = Callable[[Table], list[dict[str, Any]]]


def counted(series: Series, value: int, **labels: str) -> SeriesDelta:
    return delta(series, labels, value, first_ms=NOW_MS, last_ms=NOW_MS)


OLD = Batch(
    query_id="old",
    batch_id=9,
    committed_at_ms=NOW_MS,
    offsets={("dlq.a", 0): 50, ("gone", 0): 7},
    topic_ids={"dlq.a": "id", "gone": "id"},
    marks={"log:old": Position(1, 2, 3)},
    series=(
        counted(TASK_TIMEOUTS, 100, task="0_0"),
        counted(TASK_TIMEOUTS, 1, task="wrong"),
        counted(RECORDS_MISSED, 5, topic="dlq.a"),
    ),
    groups=(GROUP, replace(GROUP, fingerprint="wrong")),
    samples=(SAMPLE,),
)
NEW = Batch(
    query_id="new",
    batch_id=1,
    committed_at_ms=NOW_MS,
    offsets={("dlq.a", 0): 40},
    topic_ids={"dlq.a": "id"},
    marks={"log:new": Position(4, 5, 6)},
    series=(counted(TASK_TIMEOUTS, 90, task="0_0"), counted(RECORDS_MISSED, 2, topic="dlq.a")),
    groups=(replace(GROUP, records=8),),
    samples=(replace(SAMPLE, offset=8),),
)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        opened.apply(OLD)
        opened.count(counted(BATCH_FAILURES, 4, cause="kafka"))
        opened.note_source("redrive-1", "redrive", up=True, message="", now_ms=NOW_MS)
        yield opened


@pytest.fixture
def shadow(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path / 'shadow.db'}") as opened:
        yield opened


@pytest.fixture
def rows(url: str) -> Iterator[Rows]:
    engine = create_engine(url)

    def read(table: Table) -> list[dict[str, Any]]:
        with engine.connect() as connection:
            ordered = select(table).order_by(*table.primary_key.columns)
            return [dict(row) for row in connection.execute(ordered).mappings()]

    yield read
    engine.dispose()


def values(rows: Rows) -> dict[tuple[str, str], int]:
    return {(row["name"], row["labels"]): row["value"] for row in rows(schema.series)}


def key(series: Series, **labels: str) -> tuple[str, str]:
    return series.name, series.key(labels)


def test_every_table_is_decided_about() -> None:
    decided = (*replacement.COUNTED, *replacement.MERGED, *replacement.OWN, *replacement.KEPT)
    assert sorted(table.name for table in decided) == sorted(schema.metadata.tables)


def test_new_counts_take_the_place_of_old_ones(store: Store, shadow: Store, rows: Rows) -> None:
    shadow.apply(NEW)
    store.replace_with(shadow)
    assert values(rows) == {
        key(TASK_TIMEOUTS, task="0_0"): 90,
        key(RECORDS_MISSED, topic="dlq.a"): 5 + 2,
        key(BATCH_FAILURES, cause="kafka"): 4,
    }
    assert store.offsets() == {("dlq.a", 0): 40}
    assert store.last_batches() == {"new": 1}
    assert store.marks(["log:old", "log:new"]) == {"log:new": Position(4, 5, 6)}
    assert [(row["fingerprint"], row["records"]) for row in rows(schema.groups)] == [("f0", 8)]
    assert [(row["offset"], bytes(row["key"]), row["value"]) for row in rows(schema.samples)] == [
        (8, b"\x00\xffk", None)
    ]
    assert sum(row["value"] for row in rows(schema.buckets)) == 90 + 2
    assert [row["records"] for row in rows(schema.group_trends)] == [8]


def test_what_is_not_counted_from_kafka_stays(store: Store, shadow: Store, rows: Rows) -> None:
    store.note_figures({"phase_ms": {"addBatch": 3}})
    shadow.apply(NEW)
    store.replace_with(shadow)
    assert [row["name"] for row in rows(schema.sources)] == ["redrive-1"]
    assert [row["value"] for row in rows(schema.stream_figures)] == [3]


def test_what_hangs_on_a_group_stays_with_it(store: Store, shadow: Store, url: str) -> None:
    engine = create_engine(url)
    group = "dead_letter_groups(fingerprint) ON DELETE CASCADE"
    with engine.begin() as connection:
        connection.execute(text(f"CREATE TABLE said (of_group TEXT PRIMARY KEY REFERENCES {group})"))
        connection.execute(text("INSERT INTO said VALUES ('f0'), ('wrong')"))
    shadow.apply(NEW)
    store.replace_with(shadow)
    with engine.begin() as connection:
        assert [*connection.scalars(text("SELECT of_group FROM said"))] == ["f0"]
    engine.dispose()


def test_orders_stay(store: Store, shadow: Store, url: str, rows: Rows) -> None:
    row = {
        column.name: False if column.name == "dry_run" else "o" if column.type.python_type is str else 1
        for column in schema.redrive_orders.columns
    }
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(insert(schema.redrive_orders).values(row))
    engine.dispose()
    store.replace_with(shadow)
    assert rows(schema.redrive_orders) == [row]


def test_a_copy_goes_on_exactly_where_the_store_is(store: Store, shadow: Store, rows: Rows) -> None:
    shadow.copy_from(store)
    more = replace(
        NEW, batch_id=2, groups=(), samples=(), series=(counted(TASK_TIMEOUTS, 1, task="0_0"),), topic_ids={}
    )
    shadow.apply(more)
    store.replace_with(shadow)
    assert values(rows) == {
        key(TASK_TIMEOUTS, task="0_0"): 101,
        key(TASK_TIMEOUTS, task="wrong"): 1,
        key(RECORDS_MISSED, topic="dlq.a"): 5,
        key(BATCH_FAILURES, cause="kafka"): 4,
    }
    assert store.offsets() == {("dlq.a", 0): 40, ("gone", 0): 7}
    assert store.topic_ids() == {"dlq.a": "id", "gone": "id"}
    assert store.last_batches() == {"new": 2}  # the old query's checkpoint is not to be trusted any more


def test_the_stream_that_writes_is_ended_and_the_next_let_in(url: str, shadow: Store) -> None:
    stop = threading.Event()
    with Store(url) as live, Store(url) as rebuilt, Store(url) as following:
        assert live.hold(OWNER, ttl_ms=60_000, stop=stop, now_ms=lambda: 0)
        live.apply(OLD)
        rebuilt.replace_with(shadow)
        with pytest.raises(RebuiltError, match="rebuilt by a backfill"):
            live.apply(replace(OLD, batch_id=10))
        assert stop.is_set()
        assert isinstance(live.lost, RebuiltError)
        assert following.hold(OWNER, ttl_ms=60_000, stop=threading.Event(), now_ms=lambda: 0)
        assert following.offsets() == {}


def test_when_it_fails_midway_the_store_is_as_it_was(
    store: Store, shadow: Store, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    before = values(rows), store.offsets()
    shadow.apply(NEW)
    monkeypatch.setattr("streaming.store.counters.merge", fail)
    with pytest.raises(RuntimeError):
        store.replace_with(shadow)
    assert (values(rows), store.offsets()) == before


def test_the_last_commit_is_told(store: Store, shadow: Store) -> None:
    assert store.last_commit_ms() == NOW_MS
    assert shadow.last_commit_ms() == 0
