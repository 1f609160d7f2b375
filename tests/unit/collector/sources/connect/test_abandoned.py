"""How threads and beans of a worker become the number of abandoned instances."""

from dataclasses import dataclass, field

import pytest

from collector.sources import jolokia
from collector.sources.connect import interfaces
from collector.sources.connect.interfaces import InstanceState, Key, WorkerState
from collector.sources.connect.workers import CLOSING_MS, Worker, count, failures, settled
from deadwatch.contract.events import Instance

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


def test_a_worker_reports_zero_for_what_it_once_had() -> None:
    states = [seen(TASK, (1, 2), "running")] * 2 + [seen(TASK, (2,), "running")] * 2
    worker, pauses = Worker(), list[int]()
    published = []
    for _ in range(2):
        worker.observe(lambda: states.pop(0), {TASK: InstanceState("RUNNING")}, pauses.append, 0)
        published.append(worker.instances({TASK: InstanceState("RUNNING")}, threads_known=True))
    worker_without_task = worker.instances({}, threads_known=True)
    assert [[instance.abandoned for instance in instances] for instances in published] == [[1], [0]]
    assert worker_without_task == (Instance(connector="pipe", task="0", state="", abandoned=0),)
    assert pauses == [50, 50]


def test_a_worker_without_change_is_read_once() -> None:
    states = [seen(TASK, (1,), "running")]
    Worker().observe(
        states.pop, {TASK: InstanceState("RUNNING")}, lambda _: pytest.fail("no second reading"), 0
    )


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


@pytest.mark.parametrize(
    ("bean", "connector"),
    [
        ("kafka.connect:connector=pipe,task=0,type=connector-task-metrics", "pipe"),
        ('kafka.connect:connector="a,b=\\"c\\\\",task=0,type=connector-task-metrics', 'a,b="c\\'),
    ],
)
def test_the_connector_in_a_beans_name(bean: str, connector: str) -> None:
    assert jolokia.bean_properties(bean) == {
        "connector": connector,
        "task": "0",
        "type": "connector-task-metrics",
    }
