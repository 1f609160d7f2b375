"""New counts in place of old ones: at once, with nothing of the old and nothing that people wrote lost."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from deadwatch.contract.events import Position
from deadwatch.store import schema
from deadwatch.store.batch import Sample, SeriesDelta, delta
from deadwatch.store.errors import RebuiltError
from deadwatch.store.series import BATCH_FAILURES, RECORDS_MISSED, TASK_TIMEOUTS, Series
from deadwatch.store.store import Store
from deadwatch.store.write import replacement
from deadwatch.store.write.lease import Owner
from deadwatch.store.write.orders import OrderBook
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import EMPTY, NOW_MS, Rows, order

engine, rows = suite.engine, suite.rows
GROUP = replace(suite.GROUP, first_ms=NOW_MS - 10, last_ms=NOW_MS)
SAMPLE = Sample("f0", "dlq.a", 0, 7, NOW_MS, (), b"\x00\xffk", None, 3, -1)
KEPT = (schema.sources, schema.stream_figures, schema.redrive_orders)
OWNER = Owner("here", 1, "now")


def counted(series: Series, value: int, **labels: str) -> SeriesDelta:
    return delta(series, labels, value, first_ms=NOW_MS, last_ms=NOW_MS)


OLD = replace(
    EMPTY,
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
MORE = replace(OLD, begins=OLD.offsets, offsets={place: end + 1 for place, end in OLD.offsets.items()})
"""The batch that follows it."""
NEW = replace(
    EMPTY,
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


def values(rows: Rows) -> dict[tuple[str, str], int]:
    return {(name, labels): value for name, labels, value in rows(schema.series, "name labels value")}


def key(series: Series, **labels: str) -> tuple[str, str]:
    return series.name, series.key(labels)


def test_every_table_is_decided_about() -> None:
    decided = (*replacement.COUNTED, *replacement.MERGED, *replacement.OWN, *replacement.KEPT)
    assert sorted(table.name for table in decided) == sorted(schema.metadata.tables)


def test_new_counts_take_the_place_of_old_ones(store: Store, shadow: Store, rows: Rows) -> None:
    assert (store.last_commit_ms(), shadow.last_commit_ms()) == (NOW_MS, 0)
    shadow.apply(NEW)
    store.replace_with(shadow)
    assert values(rows) == {
        key(TASK_TIMEOUTS, task="0_0"): 90,
        key(RECORDS_MISSED, topic="dlq.a"): 5 + 2,
        key(BATCH_FAILURES, cause="kafka"): 4,
    }
    assert store.offsets() == {("dlq.a", 0): 40}
    assert store.marks(["log:old", "log:new"]) == {"log:new": Position(4, 5, 6)}
    assert rows(schema.groups, "fingerprint records") == [("f0", 8)]
    assert rows(schema.samples, "offset key value") == [(8, b"\x00\xffk", None)]
    assert sum(rows(schema.buckets, "value")) == 90 + 2
    assert rows(schema.group_trends, "records") == [8]


def test_what_is_not_counted_from_kafka_stays(
    store: Store, shadow: Store, engine: Engine, rows: Rows
) -> None:
    store.note_figures({"phase_ms": {"addBatch": 3}})
    OrderBook(engine).create(order("0"), "{}")
    tables = {table: " ".join(table.c.keys()) for table in KEPT}
    before = [rows(table, names) for table, names in tables.items()]
    shadow.apply(NEW)
    store.replace_with(shadow)
    assert [len(found) for found in before] == [1, 1, 1]
    assert [rows(table, names) for table, names in tables.items()] == before


def test_what_hangs_on_a_group_stays_with_it(store: Store, shadow: Store, engine: Engine) -> None:
    group = "dead_letter_groups(fingerprint) ON DELETE CASCADE"
    with engine.begin() as connection:
        connection.execute(text(f"CREATE TABLE remarks (of_group TEXT PRIMARY KEY REFERENCES {group})"))
        connection.execute(text("INSERT INTO remarks VALUES ('f0'), ('wrong')"))
    shadow.apply(NEW)
    store.replace_with(shadow)
    with engine.begin() as connection:
        assert [*connection.scalars(text("SELECT of_group FROM remarks"))] == ["f0"]


def test_a_copy_goes_on_exactly_where_the_store_is(store: Store, shadow: Store, rows: Rows) -> None:
    shadow.copy_from(store)
    grown = (counted(TASK_TIMEOUTS, 1, task="0_0"),)
    shadow.apply(replace(EMPTY, begins=OLD.offsets, offsets=NEW.offsets, series=grown))
    store.replace_with(shadow)
    assert values(rows) == {
        key(TASK_TIMEOUTS, task="0_0"): 101,
        key(TASK_TIMEOUTS, task="wrong"): 1,
        key(RECORDS_MISSED, topic="dlq.a"): 5,
        key(BATCH_FAILURES, cause="kafka"): 4,
    }
    assert store.offsets() == {("dlq.a", 0): 40, ("gone", 0): 7}
    assert store.topic_ids() == {"dlq.a": "id", "gone": "id"}


def test_the_stream_that_writes_is_ended_and_the_next_let_in(url: str, shadow: Store) -> None:
    stop = threading.Event()
    with Store(url) as live, Store(url) as rebuilt, Store(url) as following:
        assert live.hold(OWNER, ttl_ms=60_000, stop=stop, now_ms=lambda: 0)
        live.apply(OLD)
        rebuilt.replace_with(shadow)
        with pytest.raises(RebuiltError, match="rebuilt by a backfill"):
            live.apply(MORE)
        assert stop.is_set()
        assert isinstance(live.lost, RebuiltError)
        assert following.hold(OWNER, ttl_ms=60_000, stop=threading.Event(), now_ms=lambda: 0)
        assert following.offsets() == {}


def test_said_again_it_adds_nothing_and_ends_nobody(
    url: str, store: Store, shadow: Store, rows: Rows
) -> None:
    """As it is when the answer to its commit was lost."""
    shadow.apply(NEW)
    store.replace_with(shadow)
    with Store(url) as following:
        assert following.hold(OWNER, ttl_ms=60_000, stop=threading.Event(), now_ms=lambda: 0)
        before = values(rows)
        store.replace_with(shadow)
        assert values(rows) == before
        assert following.apply(replace(MORE, begins=NEW.offsets))


def test_when_it_fails_midway_the_store_is_as_it_was(
    store: Store, shadow: Store, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    before = values(rows), store.offsets()
    shadow.apply(NEW)
    monkeypatch.setattr("deadwatch.store.write.counters.merge", fail)
    with pytest.raises(RuntimeError):
        store.replace_with(shadow)
    assert (values(rows), store.offsets()) == before
