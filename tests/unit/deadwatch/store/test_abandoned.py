"""What is abandoned follows from events, one after the other."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import pytest

from deadwatch.contract.events import (
    AbandonedEnded,
    ConnectorAbandoned,
    Event,
    Instance,
    TaskAbandoned,
    WorkerSnapshot,
    WorkerStarted,
)
from deadwatch.store.write.abandoned import NOTHING, following
from deadwatch.store.write.states import States
from tests.unit.deadwatch.store.suite import origin

EMPTY: States = {}
TASK, CONNECTOR = ("c", "w", "sink", "0"), ("c", "w", "sink", "")
ORIGIN = {**origin(at_ms=7), "worker": "w"}


def seen(count: int | None, *, worker: str = "w", threads_known: bool = True) -> WorkerSnapshot:
    """A snapshot; ``None``: the instance is not in it."""
    instances = (
        () if count is None else (Instance(connector="sink", task="0", state="RUNNING", abandoned=count),)
    )
    return WorkerSnapshot(**origin(at_ms=7), worker=worker, threads_known=threads_known, instances=instances)


LOGGED = TaskAbandoned(**ORIGIN, connector="sink", task="0", message="m")
ENDED = AbandonedEnded(**ORIGIN, connector="sink", task="0", message="m")
STARTED = WorkerStarted(**ORIGIN)


CASES: dict[str, tuple[Sequence[Event], tuple[int, int], tuple[int, int]]] = {
    "logged once": ([LOGGED], (1, 1), (0, 0)),
    "logged twice, ended once": ([LOGGED, LOGGED, ENDED], (1, 2), (0, 0)),
    "never below nothing": ([LOGGED, ENDED, ENDED], (0, 1), (0, 0)),
    "an end does not wipe out what comes later": ([LOGGED, ENDED, ENDED, LOGGED], (1, 2), (0, 0)),
    "a worker that starts has abandoned nothing yet": ([LOGGED, LOGGED, STARTED], (0, 2), (0, 0)),
    "abandoned after the start counts": ([STARTED, LOGGED], (1, 1), (0, 0)),
    "seen once": ([seen(1)], (0, 0), (1, 1)),
    "the same one seen again is no other": ([seen(1), seen(1), seen(1)], (0, 0), (1, 1)),
    "one more": ([seen(1), seen(2)], (0, 0), (2, 2)),
    "one less": ([seen(2), seen(1)], (0, 0), (1, 2)),
    "ended, then another": ([seen(1), seen(0), seen(1)], (0, 0), (1, 2)),
    "an instance that is gone has ended": ([seen(2), seen(None)], (0, 0), (0, 2)),
    "unknown threads say nothing": ([seen(2), seen(0, threads_known=False)], (0, 0), (2, 2)),
    "another worker's snapshot says nothing": ([seen(2), seen(None, worker="v")], (0, 0), (2, 2)),
    "the log and the threads": ([LOGGED, seen(1), ENDED], (0, 1), (1, 1)),
}
"""Events; current and total by the log; current and total by threads."""


@pytest.mark.parametrize(("events", "logged", "threads"), CASES.values(), ids=CASES)
def test_what_is_abandoned(
    events: Sequence[Event], logged: tuple[int, int], threads: tuple[int, int]
) -> None:
    state = reduce(following, events, EMPTY)[TASK]
    assert (state["logged_current"], state["logged_total"]) == logged
    assert (state["seen_current"], state["seen_total"]) == threads


@pytest.mark.parametrize(
    "event",
    [
        replace(seen(1), happened_at_ms=9),
        replace(seen(2), happened_at_ms=5),
        replace(LOGGED, happened_at_ms=5),
    ],
    ids=["the same one seen later", "one more seen earlier", "one more logged earlier"],
)
def test_the_last_time_is_that_of_the_latest_that_was_abandoned(event: Event) -> None:
    assert reduce(following, [seen(1), event], EMPTY)[TASK]["last_ms"] == 7


@pytest.mark.parametrize("event", [seen(0), ENDED], ids=["healthy", "an end that nobody saw begin"])
def test_what_is_not_abandoned_has_no_row(event: Event) -> None:
    assert following({}, event) == {}


def test_a_connector_is_the_instance_without_task() -> None:
    event = ConnectorAbandoned(**ORIGIN, connector="sink", message="m")
    counts = {**NOTHING, "logged_total": 1, "logged_current": 1, "seen": False}
    assert following({}, event) == {CONNECTOR: {**counts, "message": "m", "first_ms": 7, "last_ms": 7}}
