"""What is abandoned follows from events, one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pytest

from collector.contract.events import (
    AbandonedEnded,
    ConnectorAbandoned,
    Event,
    Instance,
    Position,
    TaskAbandoned,
    WorkerSnapshot,
    WorkerStarted,
)
from streaming.store.abandoned import Abandoned, Place, States, following

NOTHING: States = {}
TASK, CONNECTOR = Place("c1", "w", "sink", "0"), Place("c1", "w", "sink", "")


def where(worker: str = "w") -> dict[str, Any]:
    return {
        "source": "s",
        "position": Position(0),
        "happened_at_ms": 7,
        "observed_at_ms": 8,
        "kafka_cluster": "c1",
        "worker": worker,
    }


def seen(count: int | None, *, worker: str = "w", threads_known: bool = True) -> WorkerSnapshot:
    """A snapshot; ``None``: the instance is not in it."""
    instances = (
        () if count is None else (Instance(connector="sink", task="0", state="RUNNING", abandoned=count),)
    )
    return WorkerSnapshot(**where(worker), threads_known=threads_known, instances=instances)


LOGGED = TaskAbandoned(**where(), connector="sink", task="0", message="m")
ENDED = AbandonedEnded(**where(), connector="sink", task="0", message="m")
STARTED = WorkerStarted(**where())


@dataclass(frozen=True)
class Case:
    name: str
    events: Sequence[Event]
    logged: tuple[int, int]
    """current, total"""
    seen: tuple[int, int]


CASES = [
    Case("logged once", [LOGGED], (1, 1), (0, 0)),
    Case("logged twice, ended once", [LOGGED, LOGGED, ENDED], (1, 2), (0, 0)),
    Case("never below nothing", [LOGGED, ENDED, ENDED], (0, 1), (0, 0)),
    Case("an end does not wipe out what comes later", [LOGGED, ENDED, ENDED, LOGGED], (1, 2), (0, 0)),
    Case("a worker that starts has abandoned nothing yet", [LOGGED, LOGGED, STARTED], (0, 2), (0, 0)),
    Case("abandoned after the start counts", [STARTED, LOGGED], (1, 1), (0, 0)),
    Case("seen once", [seen(1)], (0, 0), (1, 1)),
    Case("the same one seen again is no other", [seen(1), seen(1), seen(1)], (0, 0), (1, 1)),
    Case("one more", [seen(1), seen(2)], (0, 0), (2, 2)),
    Case("one less", [seen(2), seen(1)], (0, 0), (1, 2)),
    Case("ended, then another", [seen(1), seen(0), seen(1)], (0, 0), (1, 2)),
    Case("an instance that is gone has ended", [seen(2), seen(None)], (0, 0), (0, 2)),
    Case("unknown threads say nothing", [seen(2), seen(0, threads_known=False)], (0, 0), (2, 2)),
    Case("another worker's snapshot says nothing", [seen(2), seen(None, worker="v")], (0, 0), (2, 2)),
    Case("the log and the threads", [LOGGED, seen(1), ENDED], (0, 1), (1, 1)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_abandoned(case: Case) -> None:
    state = reduce(following, case.events, NOTHING)[TASK]
    assert (state.logged_current, state.logged_total) == case.logged
    assert (state.seen_current, state.seen_total) == case.seen


def test_a_healthy_instance_has_no_row() -> None:
    assert following({}, seen(0)) == {}


def test_an_end_that_nobody_saw_begin_has_no_row() -> None:
    assert following({}, ENDED) == {}


def test_a_connector_is_the_instance_without_task() -> None:
    event = ConnectorAbandoned(**where(), connector="sink", message="m")
    assert following({}, event) == {CONNECTOR: Abandoned(7, 7, logged_total=1, logged_current=1, message="m")}


def test_a_snapshot_with_threads_covers_what_was_only_logged() -> None:
    states = reduce(following, [LOGGED, seen(None)], NOTHING)
    assert states[TASK].seen


def test_the_states_before_are_left_as_they_were() -> None:
    before = {TASK: Abandoned(1, 1, logged_current=1, logged_total=1)}
    following(before, LOGGED)
    assert before == {TASK: Abandoned(1, 1, logged_current=1, logged_total=1)}
