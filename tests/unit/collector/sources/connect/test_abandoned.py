"""How threads and beans of a worker become the number of abandoned instances."""

from dataclasses import dataclass, field

import pytest

from collector.sources import jolokia
from collector.sources.connect import interfaces
from collector.sources.connect.interfaces import Key, WorkerState
from collector.sources.connect.workers import CLOSING_MS, count, failures, settled

TASK, CONNECTOR = Key("pipe", "0"), Key("pipe")


def seen(key: Key, threads: tuple[int, ...], bean: str = "") -> WorkerState:
    return WorkerState({key: frozenset(threads)} if threads else {}, {key: bean} if bean else {})


@dataclass(frozen=True)
class Case:
    name: str
    state: WorkerState
    expected: dict[Key, int]
    running: frozenset[Key] = field(default_factory=frozenset)
    failed_since_ms: dict[Key, int] = field(default_factory=dict)


CASES = [
    Case("a running task", seen(TASK, (1,), "running"), {}),
    Case("a task about to start has its bean first", seen(TASK, (), "unassigned"), {}),
    Case("one abandoned beside its successor", seen(TASK, (1, 2), "running"), {TASK: 1}),
    Case("one abandoned without a successor", seen(TASK, (1,)), {TASK: 1}),
    Case("two abandoned", seen(TASK, (1, 2, 3), "paused"), {TASK: 2}),
    Case("a failed task that still closes", seen(TASK, (1,), "failed"), {}, failed_since_ms={TASK: 0}),
    Case("a failed successor", seen(TASK, (1,), "failed"), {TASK: 1}, failed_since_ms={TASK: -1}),
    Case("an abandoned connector", seen(CONNECTOR, (1, 2), "running"), {CONNECTOR: 1}),
    Case("a connector whose predecessor took the bean", seen(CONNECTOR, (2,)), {}, frozenset({CONNECTOR})),
    Case("a failed connector keeps its thread", seen(CONNECTOR, (1,), "failed"), {}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_count(case: Case) -> None:
    assert count(case.state, case.running, case.failed_since_ms, CLOSING_MS) == case.expected


def test_a_failure_is_dated_from_when_it_was_first_seen() -> None:
    state = WorkerState(
        {}, {TASK: "failed", Key("b", "0"): "failed", Key("c", "0"): "running", Key("d"): "failed"}
    )
    assert failures(state, {TASK: 5, Key("c", "0"): 6}, 9) == {TASK: 5, Key("b", "0"): 9}


def test_what_two_readings_do_not_agree_on_stays_as_it_was() -> None:
    first, second = seen(TASK, (1,)), seen(TASK, (2,))
    assert settled((first, second), ({TASK: 1}, {TASK: 1}), {}) == {}
    assert settled((first, second), ({TASK: 1}, {TASK: 1}), {TASK: 2}) == {TASK: 2}
    assert settled((first, first), ({TASK: 1}, {TASK: 1}), {}) == {TASK: 1}
    assert settled((first, seen(TASK, ())), ({TASK: 1}, {}), {}) == {}


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("task-thread-pipe-0", Key("pipe", "0")),
        ("task-thread-my-sink-3-12", Key("my-sink-3", "12")),
        ("connector-thread-my-sink", Key("my-sink")),
        ("task-thread-pipe", None),
        ("kafka-producer-network-thread | connector-producer-pipe-0", None),
    ],
)
def test_whose_thread_it_is(name: str, key: Key | None) -> None:
    assert interfaces.thread_key(name) == key


def test_a_name_in_a_beans_name_is_unquoted() -> None:
    bean = 'kafka.connect:connector="a,b=\\"c\\\\",task=0,type=connector-task-metrics'
    properties = {"connector": 'a,b="c\\', "task": "0", "type": "connector-task-metrics"}
    assert jolokia.bean_properties(bean) == properties
