"""A task is stalled when records wait and nothing moves, and an idle one never is."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from kafka import TopicPartition

from collector.settings import ConnectSettings
from collector.sources.connect.interfaces import Key, Progress
from collector.sources.connect.sink_groups import Group, of_task
from collector.sources.connect.stalled import Clue, Extent, StallWatch, TaskObservation, Verdict
from tests.tables import named

KEY = Key("c", "0")
LIMITS = ConnectSettings(url="http://c:8083", stalled_after_ms=60, offset_flush_interval_ms=40)
IDLE = Progress(records=10, passed=10, held=0, turns=5)
BUSY = Progress(records=10, passed=5, held=5, turns=5)
DONE, BEHIND = (Extent(10, 10),), (Extent(10, 20),)

SINK = TaskObservation(running=True, sink=True, progress=IDLE, extents=DONE)
SOURCE = TaskObservation(running=True, sink=False, progress=IDLE)
UNREAD = replace(SINK, extents=BEHIND)
UNFINISHED = replace(SINK, progress=BUSY, extents=(Extent(5, 10),))
UNCOMMITTED = replace(UNREAD, progress=None)
UNWRITTEN = replace(SOURCE, progress=BUSY)


def silent(observation: TaskObservation) -> TaskObservation:
    """The agent does not answer."""
    return replace(observation, progress=None)


def moved(observation: TaskObservation, **progress: int) -> TaskObservation:
    assert observation.progress is not None
    return replace(observation, progress=replace(observation.progress, **progress))


@dataclass(frozen=True)
class Case:
    name: str
    polls: Sequence[tuple[int, TaskObservation]]
    because: str = ""
    since_ms: int = 1
    waits: bool = True
    judged: bool = True


STALLS = [
    Case("a sink that reads nothing", [(1, UNREAD), (61, UNREAD)], Clue.UNREAD),
    Case(
        "one that retries its batch for ever comes to its commits",
        [(1, replace(UNFINISHED, extents=BEHIND)), (61, replace(moved(UNFINISHED, turns=6), extents=BEHIND))],
        Clue.UNREAD,
    ),
    Case("more records come", [(1, UNREAD), (61, replace(UNREAD, extents=(Extent(10, 99),)))], Clue.UNREAD),
    Case("one that hangs with all it has read", [(1, UNFINISHED), (101, UNFINISHED)], Clue.UNFINISHED),
    Case(
        "thrown out of its group, with nothing left for it there",
        [(1, UNFINISHED), (101, replace(UNFINISHED, extents=()))],
        Clue.UNFINISHED,
    ),
    Case("without an agent", [(1, UNCOMMITTED), (101, UNCOMMITTED)], Clue.UNCOMMITTED),
    Case("a source whose records are not written", [(1, UNWRITTEN), (61, UNWRITTEN)], Clue.UNWRITTEN),
    Case(
        "the longest wait counts",
        [(1, UNFINISHED), (101, replace(UNFINISHED, extents=(Extent(5, 30),)))],
        Clue.UNFINISHED,
    ),
    Case(
        "it moved once, then no more",
        [(1, UNREAD), (50, moved(UNREAD, records=11)), (110, moved(UNREAD, records=11))],
        Clue.UNREAD,
        since_ms=50,
    ),
    Case("a silent agent", [(1, UNWRITTEN), (50, silent(UNWRITTEN)), (61, UNWRITTEN)], Clue.UNWRITTEN),
]
NO_STALLS = [
    Case("it went on meanwhile", [(1, UNWRITTEN), (50, silent(UNWRITTEN)), (61, moved(UNWRITTEN, passed=6))]),
    Case("an idle sink whose agent falls silent", [(1, SINK), (999, silent(SINK))]),
    Case("not for long enough", [(1, UNREAD), (60, UNREAD)]),
    Case("an idle sink", [(1, SINK), (999, SINK)]),
    Case("idle for long, then a record comes", [(1, SINK), (999, UNREAD)]),
    Case("a marker of a transaction is no record", [(1, UNREAD), (999, UNREAD)], waits=False),
    Case("a slow sink", [(1, UNREAD), (50, moved(UNREAD, records=11)), (100, moved(UNREAD, records=12))]),
    Case("one that finishes", [(1, UNREAD), (50, moved(UNREAD, passed=11)), (100, moved(UNREAD, passed=12))]),
    Case("one that commits", [(1, UNREAD), (61, replace(UNREAD, extents=(Extent(11, 20),)))]),
    Case("one that buffers comes to its commits", [(1, UNFINISHED), (101, moved(UNFINISHED, turns=6))]),
    Case("one whose commit is not due", [(1, UNFINISHED), (100, UNFINISHED)]),
    Case("without an agent a commit may be seldom", [(1, UNCOMMITTED), (100, UNCOMMITTED)]),
    Case("a paused task", [(1, UNREAD), (999, replace(UNREAD, running=False))]),
    Case("resumed after a long pause", [(1, UNREAD), (500, replace(UNREAD, running=False)), (510, UNREAD)]),
    Case("a group that rebalances", [(1, UNREAD), (999, replace(UNREAD, steady=False))]),
    Case("just after a rebalance", [(1, UNREAD), (900, replace(UNREAD, steady=False)), (910, UNREAD)]),
    Case("a new instance begins at 0", [(1, UNFINISHED), (101, moved(UNFINISHED, records=0, passed=0))]),
    Case("an idle source", [(1, SOURCE), (999, SOURCE)]),
    Case("a source that writes, slowly", [(1, UNWRITTEN), (61, moved(UNWRITTEN, passed=6))]),
    Case("partitions of others", [(1, replace(SINK, extents=())), (999, replace(SINK, extents=()))]),
]
UNKNOWN = [
    Case("a source whose agent falls silent", [(1, UNWRITTEN), (999, silent(UNWRITTEN))], judged=False),
    Case("a stuck sink whose agent falls silent", [(1, UNFINISHED), (101, silent(UNFINISHED))], judged=False),
    Case("a source without an agent", [(1, silent(SOURCE))], judged=False),
    Case("a sink without agent and Kafka", [(1, replace(SINK, progress=None, extents=None))], judged=False),
]


@pytest.mark.parametrize("restarted", [False, True], ids=["", "collector restarted between"])
@pytest.mark.parametrize("case", [*STALLS, *NO_STALLS, *UNKNOWN], ids=lambda case: case.name)
def test_a_task_is_judged(case: Case, restarted: bool) -> None:
    watch, verdict = StallWatch(LIMITS), Verdict()
    for now_ms, observation in case.polls:
        verdict = watch.judge(KEY, observation, lambda: case.waits, now_ms)
        if restarted:
            watch = StallWatch(LIMITS, json.loads(json.dumps(watch.state())))
    assert verdict == (case.judged, case.since_ms if case.because else 0, case.because)


def test_a_record_is_only_looked_for_when_the_offsets_alone_say_stalled() -> None:
    asked: list[int] = []

    def a_record_waits() -> bool:
        asked.append(1)
        return False

    watch = StallWatch(LIMITS)
    for now_ms in (1, 30, 61):
        watch.judge(KEY, UNREAD, a_record_waits, now_ms)
    assert asked == [1]


MARKERS = [
    ("a record behind old markers waits from now on", (False, True, True), [0, 0, 0]),
    ("and is a stall after the limit", (False, True, True, None, True), [0, 0, 0, 0, 61 + 10]),
    ("what cannot be read is no proof that none waited", (None, True), [0, 1]),
    ("nor that one did", (False, None, True), [0, 0, 0]),
    ("a record that waits goes on to wait", (True, True), [1, 1]),
]


@pytest.mark.parametrize("restarted", [False, True], ids=["", "collector restarted between"])
@pytest.mark.parametrize(("answers", "since_ms"), named(MARKERS))
def test_offsets_without_a_record_make_no_later_record_old(
    answers: Sequence[bool | None], since_ms: list[int], restarted: bool
) -> None:
    """Polls every 10 ms after the limit; the fifth is a limit later."""
    watch = StallWatch(LIMITS)
    watch.judge(KEY, UNREAD, lambda: False, 1)
    times = (61, 71, 81, 91, 71 + LIMITS.stalled_after_ms)
    found = []
    for at, answer in zip(times, answers, strict=False):
        found.append(watch.judge(KEY, UNREAD, lambda: answer, at).since_ms)  # noqa: B023 -- called at once
        if restarted:
            watch = StallWatch(LIMITS, json.loads(json.dumps(watch.state())))
    assert found == since_ms


def test_timers_that_an_earlier_version_saved_go_on() -> None:
    watch = StallWatch(LIMITS, [["c", "0", "UNREAD", 1, [10, 10, 10]]])
    assert watch.judge(KEY, UNREAD, lambda: True, 61).since_ms == 1


SILENT = replace(UNREAD, extents=None)


KAFKA_SILENT = [
    ("a stall stays one", ((1, UNREAD), (61, UNREAD), (99, SILENT)), True, [0, 1, 1]),
    ("where no record waited, none does", ((1, UNREAD), (61, UNREAD), (99, SILENT)), False, [0, 0, 0]),
    ("silence alone makes no stall", ((1, UNREAD), (99, SILENT)), True, [0, 0]),
]


@pytest.mark.parametrize(("polls", "waits", "since_ms"), named(KAFKA_SILENT))
def test_what_was_known_when_kafka_fell_silent_stays(
    polls: Sequence[tuple[int, TaskObservation]], waits: bool, since_ms: list[int]
) -> None:
    watch = StallWatch(LIMITS)
    assert [watch.judge(KEY, shown, lambda: waits, at).since_ms for at, shown in polls] == since_ms


def test_a_task_that_is_gone_is_forgotten() -> None:
    watch = StallWatch(LIMITS)
    watch.judge(KEY, UNREAD, lambda: True, 1)
    watch.keep([])
    assert watch.state() == []
    assert not watch.judge(KEY, UNREAD, lambda: True, 61).since_ms


P0, P1, P2 = (TopicPartition("t", number) for number in range(3))


def group(**held: TopicPartition) -> Group:
    """Who holds what, by the last part of the client id."""
    names = {
        f"connector-consumer-{name.replace('_', '-')}": frozenset({place}) for name, place in held.items()
    }
    return Group(steady=True, held=names, extents=dict.fromkeys((P0, P1, P2), Extent(1, 2)))


@pytest.mark.parametrize(
    ("name", "of", "only", "expected"),
    [
        ("a member has what it holds", group(c_0=P0, c_1=P1), False, [P0]),
        ("what nobody holds is the thrown-out task's", group(c_1=P1), False, [P0, P2]),
        ("a group without members is the only task's", group(), True, [P0, P1, P2]),
        ("another client id stands for an only task", group(other=P2), True, [P2]),
        ("and for nobody among several", group(other=P2), False, []),
    ],
)
def test_partitions_find_their_task(name: str, of: Group, only: bool, expected: list[TopicPartition]) -> None:
    assert list(of_task(KEY, of, only=only)) == expected, name
