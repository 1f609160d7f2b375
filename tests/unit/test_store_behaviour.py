"""What the store promises, whatever database it stands on."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Table, create_engine, select, text

from collector.contract.events import Instance, Position, SourceStatus, TaskAbandoned, WorkerSnapshot
from streaming.store import schema
from streaming.store.batch import Batch, GroupDelta, Sample, SeriesDelta, delta
from streaming.store.series import CARDINALITY_LIMITED, TASK_TIMEOUTS
from streaming.store.store import Store, StoreError

EMPTY = Batch(query_id="q", batch_id=0, committed_at_ms=1, offsets={}, marks={})
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
    first_ms=10,
    last_ms=20,
)

Rows = Callable[[Table], list[dict[str, Any]]]


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url, max_series=3, max_groups=2, samples_per_group=2) as opened:
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


def hits(task: str, value: int = 1, at_ms: int = 100, **detail: int | str) -> SeriesDelta:
    labels = {"kafka_cluster": "c1", "application": "app", "task": task}
    return delta(TASK_TIMEOUTS, labels, value, first_ms=at_ms, last_ms=at_ms, detail=detail)


def sample(offset: int, fingerprint: str = "f0", timestamp_ms: int = 0) -> Sample:
    return Sample(fingerprint, "dlq.a", 0, offset, timestamp_ms or offset, (), None, b"v", -1, 1)


def values(rows: Rows, name: str) -> dict[tuple[str, ...], int]:
    return {
        tuple(json.loads(row["labels"]).values()): row["value"]
        for row in rows(schema.series)
        if row["name"] == name
    }


def test_counters_grow_and_keep_the_latest_detail(store: Store, rows: Rows) -> None:
    store.apply(replace(EMPTY, batch_id=0, series=(hits("0_0", 2, at_ms=50, elapsed_ms=1),)))
    store.apply(replace(EMPTY, batch_id=1, series=(hits("0_0", 3, at_ms=90, elapsed_ms=2),)))
    store.apply(replace(EMPTY, batch_id=2, series=(hits("0_0", 1, at_ms=40, elapsed_ms=3),)))
    (row,) = rows(schema.series)
    assert (row["value"], row["first_ms"], row["last_ms"]) == (6, 40, 90)
    assert json.loads(row["detail"]) == {"elapsed_ms": 2}


def test_equal_rows_of_one_batch_are_added_up(store: Store, rows: Rows) -> None:
    store.apply(replace(EMPTY, series=(hits("0_0"), hits("0_0", 4), hits("0_1"))))
    assert values(rows, "task_timeouts") == {("c1", "app", "0_0"): 5, ("c1", "app", "0_1"): 1}


@pytest.mark.parametrize("batch_id", [0, 7])
def test_a_batch_applied_before_changes_nothing(store: Store, rows: Rows, batch_id: int) -> None:
    assert store.apply(replace(EMPTY, batch_id=7, series=(hits("0_0"),)))
    assert not store.apply(replace(EMPTY, batch_id=batch_id, series=(hits("0_0"),)))
    assert store.applied("q", batch_id)
    assert values(rows, "task_timeouts") == {("c1", "app", "0_0"): 1}


def test_a_new_checkpoint_is_a_new_query(store: Store, rows: Rows) -> None:
    assert store.apply(replace(EMPTY, query_id="old", batch_id=7, series=(hits("0_0"),)))
    assert not store.applied("new", 0)
    assert store.apply(replace(EMPTY, query_id="new", batch_id=0, series=(hits("0_0"),)))
    assert values(rows, "task_timeouts") == {("c1", "app", "0_0"): 2}


def test_a_batch_that_fails_leaves_nothing_behind(store: Store, rows: Rows) -> None:
    orphan = sample(1, fingerprint="no such group")
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        store.apply(replace(EMPTY, series=(hits("0_0"),), groups=(GROUP,), samples=(orphan,)))
    assert [rows(table) for table in (schema.series, schema.groups, schema.batches)] == [[], [], []]


def test_marks_only_grow_and_are_compared_part_by_part(store: Store) -> None:
    steps = [
        Position(1, 900, 0),
        Position(1, 20, 5),
        Position(2, 3, 0),
        Position(2, 3, 1),
        Position(1, 999, 9),
    ]
    for number, position in enumerate(steps):
        store.apply(replace(EMPTY, batch_id=number, marks={"log:a": position}))
    assert store.marks(["log:a", "log:b"]) == {"log:a": Position(2, 3, 1)}


def test_offsets_are_where_the_last_batch_ended(store: Store) -> None:
    store.apply(replace(EMPTY, batch_id=0, offsets={("t", 0): 10, ("t", 1): 4}))
    store.apply(replace(EMPTY, batch_id=1, offsets={("t", 0): 12}))
    assert store.offsets() == {("t", 0): 12, ("t", 1): 4}


def test_beyond_the_bound_labels_become_other_and_are_counted(store: Store, rows: Rows) -> None:
    store.apply(replace(EMPTY, batch_id=0, series=tuple(hits(f"0_{task}") for task in range(5))))
    store.apply(replace(EMPTY, batch_id=1, series=(hits("0_0"), hits("0_9", 10))))
    assert values(rows, "task_timeouts") == {
        ("c1", "app", "0_0"): 2,
        ("c1", "app", "0_1"): 1,
        ("c1", "app", "0_2"): 1,
        ("c1", "other", "other"): 12,
    }
    assert values(rows, CARDINALITY_LIMITED.name) == {("task_timeouts",): 12}


def test_groups_grow_and_keep_message_and_topic_of_the_latest(store: Store, rows: Rows) -> None:
    store.apply(replace(EMPTY, batch_id=0, groups=(GROUP,)))
    older = replace(GROUP, records=2, first_ms=5, last_ms=6, message="bad 0", dlq_topic="dlq.0")
    newer = replace(GROUP, records=1, first_ms=30, last_ms=30, message="bad 2", dlq_topic="dlq.renamed")
    store.apply(replace(EMPTY, batch_id=1, groups=(newer, older)))
    (row,) = rows(schema.groups)
    assert (row["records"], row["first_ms"], row["last_ms"], row["message"]) == (6, 5, 30, "bad 2")
    assert row["dlq_topic"] == "dlq.renamed"


def test_a_group_s_trend_is_by_the_hour_for_a_day(store: Store, rows: Rows) -> None:
    hour_ms = 3_600_000
    now_ms = 100 * hour_ms + 5

    def grown(batch_id: int, *groups: tuple[str, int]) -> None:
        deltas = [replace(GROUP, fingerprint=name, last_ms=now_ms - age * hour_ms) for name, age in groups]
        store.apply(replace(EMPTY, batch_id=batch_id, committed_at_ms=now_ms, groups=tuple(deltas)))

    grown(0, ("f0", 0), ("f1", 23), ("f0", 24), ("f2", 1), ("f3", -5))
    grown(1, ("f0", 0))
    trend = [
        (row["fingerprint"], row["hour_s"] // 3_600, row["records"]) for row in rows(schema.group_trends)
    ]
    assert trend == [("f0", 100, 6), ("f1", 77, 3), ("other", 99, 3), ("other", 100, 3)]
    now_ms += 23 * hour_ms
    grown(2, ("f1", 0))
    trend = [
        (row["fingerprint"], row["hour_s"] // 3_600, row["records"]) for row in rows(schema.group_trends)
    ]
    assert trend == [("f0", 100, 6), ("f1", 123, 3), ("other", 100, 3)]


def test_groups_beyond_the_bound_become_other_with_their_samples(store: Store, rows: Rows) -> None:
    every = [replace(GROUP, fingerprint=f"f{number}") for number in range(4)]
    found = [sample(number, f"f{number}") for number in range(4)]
    store.apply(replace(EMPTY, groups=tuple(every), samples=tuple(found)))
    assert {row["fingerprint"]: row["records"] for row in rows(schema.groups)} == {
        "f0": 3,
        "f1": 3,
        "other": 6,
    }
    assert [row["fingerprint"] for row in rows(schema.samples)] == ["f0", "f1", "other", "other"]
    assert values(rows, CARDINALITY_LIMITED.name) == {("dead_letter_groups",): 6}


def test_a_group_keeps_its_newest_samples_over_batches(store: Store, rows: Rows) -> None:
    for number, offsets in enumerate([(1, 2), (9,), (3,), (9,)]):
        found = tuple(sample(offset) for offset in offsets)
        store.apply(replace(EMPTY, batch_id=number, groups=(GROUP,), samples=found))
    assert [row["offset"] for row in rows(schema.samples)] == [3, 9]


def test_the_headers_of_a_sample_are_kept_whole(store: Store, rows: Rows) -> None:
    headers = tuple((f"stacktrace.{number}", b"\tat a.b.C\n" * 50) for number in range(9))
    store.apply(replace(EMPTY, groups=(GROUP,), samples=(replace(sample(1), headers=headers),)))
    (kept,) = [json.loads(row["headers"]) for row in rows(schema.samples)]
    assert kept == [[name, value.decode()] for name, value in headers]


def test_the_headers_of_a_sample_keep_what_can_be_read(store: Store, rows: Rows) -> None:
    headers = (("null", None), ("bytes\x00", b"a\xffb"), ("twice", b"1"), ("twice", b"2"))
    store.apply(replace(EMPTY, groups=(GROUP,), samples=(replace(sample(1), headers=headers),)))
    (kept,) = [json.loads(row["headers"]) for row in rows(schema.samples)]
    assert kept == [["null", ""], ["bytes\ufffd", "a\ufffdb"], ["twice", "1"], ["twice", "2"]]


def snapshot(abandoned: Mapping[str, int], at: int, *, threads_known: bool = True) -> WorkerSnapshot:
    return WorkerSnapshot(
        **where(at),
        worker="w",
        threads_known=threads_known,
        instances=tuple(
            Instance(connector="c", task=task, state="RUNNING", abandoned=count)
            for task, count in abandoned.items()
        ),
    )


def where(at: int) -> dict[str, Any]:
    return {
        "source": "connect:w",
        "position": Position(at),
        "happened_at_ms": at,
        "observed_at_ms": at,
        "kafka_cluster": "c1",
    }


def test_the_latest_snapshot_replaces_a_worker_s_instances(store: Store, rows: Rows) -> None:
    store.apply(replace(EMPTY, batch_id=0, events=(snapshot({"0": 0, "1": 2}, 10),)))
    store.apply(replace(EMPTY, batch_id=1, events=(snapshot({"0": 1}, 20), snapshot({"1": 1, "2": 0}, 30))))
    seen = {row["task"]: (row["abandoned"], row["observed_at_ms"]) for row in rows(schema.instances)}
    assert seen == {"1": (1, 30), "2": (0, 30)}


def test_unknown_threads_leave_what_was_seen(store: Store, rows: Rows) -> None:
    store.apply(replace(EMPTY, batch_id=0, events=(snapshot({"0": 2}, 10),)))
    store.apply(replace(EMPTY, batch_id=1, events=(snapshot({"0": 0}, 20, threads_known=False),)))
    assert [row["abandoned"] for row in rows(schema.instances)] == [2]
    assert [(row["seen_current"], row["seen_total"]) for row in rows(schema.abandoned)] == [(2, 2)]


def test_both_evidences_stand_beside_each_other(store: Store, rows: Rows) -> None:
    logged = TaskAbandoned(**where(5), worker="w", connector="c", task="0", message="Graceful stop failed.")
    store.apply(replace(EMPTY, batch_id=0, events=(logged,)))
    store.apply(replace(EMPTY, batch_id=1, events=(snapshot({"0": 1}, 10),)))
    (row,) = rows(schema.abandoned)
    assert (row["logged_total"], row["logged_current"], row["seen_total"], row["seen_current"]) == (
        1,
        1,
        1,
        1,
    )
    assert (row["seen"], row["first_ms"], row["last_ms"], row["message"]) == (
        True,
        5,
        10,
        "Graceful stop failed.",
    )


def status(at: int, *, up: bool, message: str = "") -> SourceStatus:
    return SourceStatus(**where(at), subject="log:a", source_kind="log", up=up, message=message)


def test_a_source_s_since_moves_only_when_it_goes_up_or_down(store: Store, rows: Rows) -> None:
    down = (
        status(10, up=True),
        status(20, up=False, message="gone"),
        status(30, up=False, message="still gone"),
    )
    store.apply(replace(EMPTY, events=down))
    (row,) = rows(schema.sources)
    assert (row["up"], row["since_ms"], row["heartbeat_ms"], row["message"]) == (False, 20, 30, "still gone")


def test_an_older_status_changes_nothing(store: Store, rows: Rows) -> None:
    store.note_source("log:a", "log", up=True, message="", now_ms=50)
    store.apply(replace(EMPTY, events=(status(40, up=False),)))
    (row,) = rows(schema.sources)
    assert (row["up"], row["heartbeat_ms"]) == (True, 50)


def test_opening_again_keeps_everything(url: str, rows: Rows) -> None:
    with Store(url) as first:
        first.apply(replace(EMPTY, series=(hits("0_0"),)))
    with Store(url) as second:
        assert second.applied("q", 0)
    assert [row["value"] for row in rows(schema.series)] == [1]


def test_a_store_of_a_newer_version_is_refused(url: str) -> None:
    with Store(url):
        pass
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE deadwatch_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(StoreError, match="install a newer"), Store(url):
        pass
