"""What the store promises, whatever database it stands on."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from deadwatch.contract.events import Instance, Position, SourceStatus, TaskAbandoned, WorkerSnapshot
from deadwatch.store import schema
from deadwatch.store.batch import AHEAD_MS, Sample, SeriesDelta, delta
from deadwatch.store.series import CARDINALITY_LIMITED, TASK_TIMEOUTS
from deadwatch.store.store import Store
from deadwatch.store.write.dead_letters import MAX_SAMPLES, kept_of_a_group
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import EMPTY, GROUP, Rows, apply, origin

rows = suite.rows


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url, max_series=3, max_groups=2, samples_per_group=2) as opened:
        yield opened


def hits(task: str, value: int = 1, at_ms: int = 100, **detail: int | str) -> SeriesDelta:
    labels = {"kafka_cluster": "c1", "application": "app", "task": task}
    return delta(TASK_TIMEOUTS, labels, value, first_ms=at_ms, last_ms=at_ms, detail=detail)


def sample(offset: int, fingerprint: str = "f0", timestamp_ms: int = 0) -> Sample:
    return Sample(fingerprint, "dlq.a", 0, offset, timestamp_ms or offset, (), None, b"v", -1, 1)


def values(rows: Rows, name: str) -> dict[tuple[str, ...], int]:
    found = rows(schema.series, "name labels value")
    return {tuple(json.loads(labels).values()): value for of, labels, value in found if of == name}


def test_counters_grow_and_keep_the_latest_detail(store: Store, rows: Rows) -> None:
    store.apply(replace(EMPTY, series=(hits("0_0", 2, at_ms=50, elapsed_ms=1),)))
    store.apply(replace(EMPTY, series=(hits("0_0", 3, at_ms=90, elapsed_ms=2),)))
    store.apply(replace(EMPTY, series=(hits("0_0", 1, at_ms=40, elapsed_ms=3),)))
    assert rows(schema.series, "value first_ms last_ms detail") == [(6, 40, 90, '{"elapsed_ms": 2}')]


def test_a_batch_without_detail_takes_none_away(store: Store, rows: Rows) -> None:
    for change in (hits("0_0", at_ms=90), hits("0_0", at_ms=40, elapsed_ms=1), hits("0_0", at_ms=95)):
        store.apply(replace(EMPTY, series=(change,)))
    assert rows(schema.series, "value last_ms detail") == [(3, 95, '{"elapsed_ms": 1}')]


def test_equal_rows_of_one_batch_are_added_up(store: Store, rows: Rows) -> None:
    store.apply(replace(EMPTY, series=(hits("0_0"), hits("0_0", 4), hits("0_1"))))
    assert values(rows, "task_timeouts") == {("c1", "app", "0_0"): 5, ("c1", "app", "0_1"): 1}


def test_a_batch_that_fails_leaves_nothing_behind(store: Store, rows: Rows) -> None:
    orphan = sample(1, fingerprint="no such group")
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        store.apply(replace(EMPTY, series=(hits("0_0"),), groups=(GROUP,), samples=(orphan,)))
    assert (
        rows(schema.series, "name") == rows(schema.groups, "records") == rows(schema.batches, "records") == []
    )


def test_marks_only_grow_and_are_compared_part_by_part(store: Store) -> None:
    for position in ((1, 900, 0), (1, 20, 5), (2, 3, 0), (2, 3, 1), (1, 999, 9)):
        store.apply(replace(EMPTY, marks={"log:a": Position(*position)}))
    assert store.marks(["log:a", "log:b"]) == {"log:a": Position(2, 3, 1)}


def test_beyond_the_bound_labels_become_other_and_are_counted(store: Store, rows: Rows) -> None:
    store.apply(replace(EMPTY, series=tuple(hits(f"0_{task}") for task in range(5))))
    store.apply(replace(EMPTY, series=(hits("0_0"), hits("0_9", 10))))
    own = {("c1", "app", "0_0"): 2, ("c1", "app", "0_1"): 1, ("c1", "app", "0_2"): 1}
    assert values(rows, "task_timeouts") == {**own, ("c1", "other", "other"): 12}
    assert values(rows, CARDINALITY_LIMITED.name) == {("task_timeouts",): 12}


def test_groups_grow_and_keep_message_and_topic_of_the_latest(store: Store, rows: Rows) -> None:
    store.apply(replace(EMPTY, groups=(GROUP,)))
    older = replace(GROUP, records=2, first_ms=5, last_ms=6, message="bad 0", dlq_topic="dlq.0")
    newer = replace(GROUP, records=1, first_ms=30, last_ms=30, message="bad 2", dlq_topic="dlq.renamed")
    store.apply(replace(EMPTY, groups=(newer, older)))
    kept = rows(schema.groups, "records first_ms last_ms message dlq_topic")
    assert kept == [(6, 5, 30, "bad 2", "dlq.renamed")]


def test_a_group_s_trend_is_by_the_hour_for_a_day(store: Store, rows: Rows) -> None:
    hour_ms = 3_600_000
    now_ms = 100 * hour_ms + 5

    def grown(*groups: tuple[str, int]) -> None:
        deltas = [replace(GROUP, fingerprint=name, last_ms=now_ms - age * hour_ms) for name, age in groups]
        store.apply(replace(EMPTY, committed_at_ms=now_ms, groups=tuple(deltas)))

    def trend() -> list[tuple[str, int, int]]:
        found = rows(schema.group_trends, "fingerprint hour_s records")
        return [(fingerprint, hour_s // 3_600, records) for fingerprint, hour_s, records in found]

    grown(("f0", 0), ("f1", 23), ("f0", 24), ("f2", 1), ("f3", -5))
    grown(("f0", 0))
    assert trend() == [("f0", 100, 6), ("f1", 77, 3), ("other", 99, 3), ("other", 100, 3)]
    now_ms += 23 * hour_ms
    grown(("f1", 0))
    assert trend() == [("f0", 100, 6), ("f1", 123, 3), ("other", 100, 3)]


def test_groups_beyond_the_bound_become_other_with_their_samples(store: Store, rows: Rows) -> None:
    every = [replace(GROUP, fingerprint=f"f{number}") for number in range(4)]
    found = [sample(number, f"f{number}") for number in range(4)]
    store.apply(replace(EMPTY, groups=tuple(every), samples=tuple(found)))
    assert rows(schema.groups, "fingerprint records") == [("f0", 3), ("f1", 3), ("other", 6)]
    assert rows(schema.samples, "fingerprint") == ["f0", "f1", "other", "other"]
    assert values(rows, CARDINALITY_LIMITED.name) == {("dead_letter_groups",): 6}


def test_a_group_keeps_its_newest_samples_over_batches(store: Store, rows: Rows) -> None:
    for offsets in [(1, 2), (9,), (3,), (9,)]:
        found = tuple(sample(offset) for offset in offsets)
        store.apply(replace(EMPTY, groups=(GROUP,), samples=found))
    assert rows(schema.samples, "offset") == [3, 9]


WHOLE = tuple((f"stacktrace.{number}", b"\tat a.b.C\n" * 50) for number in range(9))
HEADERS: dict[str, tuple[tuple[tuple[str, bytes | None], ...], list[list[str]]]] = {
    "kept whole": (WHOLE, [[name, value.decode()] for name, value in WHOLE]),
    "as far as they can be read": (
        (("null", None), ("bytes\x00", b"a\xffb"), ("twice", b"1"), ("twice", b"2")),
        [["null", ""], ["bytes\ufffd", "a\ufffdb"], ["twice", "1"], ["twice", "2"]],
    ),
}


@pytest.mark.parametrize(("headers", "kept"), HEADERS.values(), ids=HEADERS)
def test_the_headers_of_a_sample(
    store: Store, rows: Rows, headers: tuple[tuple[str, bytes | None], ...], kept: list[list[str]]
) -> None:
    store.apply(replace(EMPTY, groups=(GROUP,), samples=(replace(sample(1), headers=headers),)))
    assert [json.loads(found) for found in rows(schema.samples, "headers")] == [kept]


@pytest.mark.parametrize(
    ("groups", "kept"), [(0, 5), (1, 5), (2_000, 5), (2_001, 4), (5_000, 2), (10_000, 1), (1_000_000, 1)]
)
def test_the_more_groups_the_fewer_samples_of_each(groups: int, kept: int) -> None:
    assert kept_of_a_group(5, groups) == kept
    assert groups > MAX_SAMPLES or kept * groups <= MAX_SAMPLES
    assert kept_of_a_group(0, groups) == 0


def snapshot(abandoned: Mapping[str, int], at: int, *, threads_known: bool = True) -> WorkerSnapshot:
    return WorkerSnapshot(
        **origin("connect:w", at),
        worker="w",
        threads_known=threads_known,
        instances=tuple(
            Instance(connector="c", task=task, state="RUNNING", abandoned=count)
            for task, count in abandoned.items()
        ),
    )


def test_the_latest_snapshot_replaces_a_worker_s_instances(store: Store, rows: Rows) -> None:
    apply(store, snapshot({"0": 0, "1": 2}, 10))
    apply(store, snapshot({"0": 1}, 20), snapshot({"1": 1, "2": 0}, 30))
    assert rows(schema.instances, "task abandoned observed_at_ms") == [("1", 1, 30), ("2", 0, 30)]


def test_a_state_is_kept_with_the_time_since_which_it_holds(store: Store, rows: Rows) -> None:
    def at(observed_at_ms: int, state: str, trace: str = "") -> WorkerSnapshot:
        seen = Instance(connector="c", task="0", state=state, abandoned=0, trace=trace)
        return replace(snapshot({}, observed_at_ms), instances=(seen,))

    found = []
    for observed_at_ms, state, trace in ((10, "RUNNING", ""), (20, "FAILED", "E"), (30, "FAILED", "E")):
        apply(store, at(observed_at_ms, state, trace))
        found += rows(schema.instances, "state state_since_ms trace source")
    assert found == [("RUNNING", 10, "", "connect:w"), *[("FAILED", 20, "E", "connect:w")] * 2]
    apply(store, at(40, "FAILED", "E"), at(50, "RUNNING"))
    assert rows(schema.instances, "state state_since_ms trace") == [("RUNNING", 50, "")]


def test_unknown_threads_leave_what_was_seen(store: Store, rows: Rows) -> None:
    apply(store, snapshot({"0": 2}, 10))
    apply(store, snapshot({"0": 0}, 20, threads_known=False))
    assert rows(schema.instances, "abandoned") == [2]
    assert rows(schema.abandoned, "seen_current seen_total") == [(2, 2)]


def test_both_evidences_stand_beside_each_other(store: Store, rows: Rows) -> None:
    logged = TaskAbandoned(
        **origin("connect:w", 5), worker="w", connector="c", task="0", message="Graceful stop failed."
    )
    apply(store, logged)
    apply(store, snapshot({"0": 1}, 10))
    names = "logged_total logged_current seen_total seen_current seen first_ms last_ms message"
    assert rows(schema.abandoned, names) == [(1, 1, 1, 1, True, 5, 10, "Graceful stop failed.")]


STATE = "up since_ms heartbeat_ms"


def status(at: int, *, up: bool, message: str = "") -> SourceStatus:
    return SourceStatus(**origin("connect:w", at), subject="log:a", source_kind="log", up=up, message=message)


def test_a_source_s_since_moves_only_when_it_goes_up_or_down(store: Store, rows: Rows) -> None:
    down, still = (status(at, up=False, message=text) for at, text in ((20, "gone"), (30, "still gone")))
    apply(store, status(10, up=True), down, still)
    assert rows(schema.sources, f"{STATE} message") == [(False, 20, 30, "still gone")]


def test_an_older_status_changes_nothing(store: Store, rows: Rows) -> None:
    store.note_source("log:a", "log", up=True, message="", now_ms=50)
    store.apply(replace(EMPTY, committed_at_ms=60, events=(status(40, up=False),)))
    assert rows(schema.sources, STATE) == [(True, 50, 50)]


def test_a_status_is_from_little_later_than_its_batch(store: Store, rows: Rows) -> None:
    """So a source whose collector died while its clock was ahead goes stale a minute after any other."""
    store.apply(replace(EMPTY, committed_at_ms=50, events=(status(10**9, up=True),)))
    assert rows(schema.sources, STATE) == [(True, 50 + AHEAD_MS, 50 + AHEAD_MS)]
    apply(store, status(60, up=False))
    assert rows(schema.sources, STATE) == [(False, 60, 60)]


def test_a_stream_whose_clock_is_behind_makes_no_heartbeat_older(store: Store, rows: Rows) -> None:
    store.apply(replace(EMPTY, committed_at_ms=50, events=(status(20_000, up=True),)))
    assert rows(schema.sources, STATE) == [(True, 20_000, 20_000)]


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("told_by", ["an event", "the service"])
def test_a_state_from_later_than_now_gives_way(store: Store, rows: Rows, told_by: str, up: bool) -> None:
    store.note_source("log:a", "log", up=True, message="", now_ms=9_000)
    if told_by == "an event":
        apply(store, status(60, up=up))
    else:
        store.note_source("log:a", "log", up=up, message="", now_ms=60)
    assert rows(schema.sources, STATE) == [(up, 60, 60)]
