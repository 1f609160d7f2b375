"""How threads and beans of a worker become the number of abandoned instances."""

import pytest

from collector.sources import jolokia
from collector.sources.connect import interfaces
from collector.sources.connect.interfaces import Key, WorkerState
from collector.sources.connect.workers import CLOSING_MS, count, failures, settled
from tests.tables import named

TASK, CONNECTOR = Key("pipe", "0"), Key("pipe")


def seen(key: Key, threads: tuple[int, ...], bean: str = "") -> WorkerState:
    return WorkerState({key: frozenset(threads)} if threads else {}, {key: bean} if bean else {})


COUNTS: list[tuple[str, WorkerState, set[Key], dict[Key, int], dict[Key, int]]] = [
    ("a running task", seen(TASK, (1,), "running"), set(), {}, {}),
    ("a task about to start has its bean first", seen(TASK, (), "unassigned"), set(), {}, {}),
    ("one abandoned beside its successor", seen(TASK, (1, 2), "running"), set(), {}, {TASK: 1}),
    ("one abandoned without a successor", seen(TASK, (1,)), set(), {}, {TASK: 1}),
    ("two abandoned", seen(TASK, (1, 2, 3), "paused"), set(), {}, {TASK: 2}),
    ("a failed task that still closes", seen(TASK, (1,), "failed"), set(), {TASK: 0}, {}),
    ("a failed successor", seen(TASK, (1,), "failed"), set(), {TASK: -1}, {TASK: 1}),
    ("an abandoned connector", seen(CONNECTOR, (1, 2), "running"), set(), {}, {CONNECTOR: 1}),
    ("a connector whose predecessor took the bean", seen(CONNECTOR, (2,)), {CONNECTOR}, {}, {}),
    ("a failed connector keeps its thread", seen(CONNECTOR, (1,), "failed"), set(), {}, {}),
]


@pytest.mark.parametrize(("state", "running", "failed_since_ms", "abandoned"), named(COUNTS))
def test_count(
    state: WorkerState, running: set[Key], failed_since_ms: dict[Key, int], abandoned: dict[Key, int]
) -> None:
    assert count(state, running, failed_since_ms, CLOSING_MS) == abandoned


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
