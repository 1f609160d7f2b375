"""What is abandoned: two evidences of one fact beside each other, each followed through its events.

The log says when an instance was given up and, not always, when it ended. A snapshot with threads says what
runs now: what is more than before has been abandoned since, what it does not name has ended. Between two
snapshots an instance may end and another be abandoned: the snapshots' total is a lower bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from collector.contract.events import (
    AbandonedEnded,
    ConnectorAbandoned,
    Event,
    TaskAbandoned,
    WorkerSnapshot,
    WorkerStarted,
)
from streaming.store.storable import MAX_INTEGER


class Place(NamedTuple):
    """An instance of a worker; ``task`` is empty for the connector itself."""

    kafka_cluster: str
    worker: str
    connector: str
    task: str


@dataclass(frozen=True, slots=True)
class Abandoned:
    """One row of the table ``abandoned``."""

    first_ms: int
    last_ms: int
    logged_total: int = 0
    logged_current: int = 0
    seen_total: int = 0
    seen_current: int = 0
    seen: bool = False
    message: str = ""


States = Mapping[Place, Abandoned]


def following(states: States, event: Event) -> States:
    """The states of a worker's instances after ``event``."""
    match event:
        case TaskAbandoned():
            return _logged(states, event, event.task)
        case ConnectorAbandoned():
            return _logged(states, event, "")
        case AbandonedEnded():
            return _ended(states, event)
        case WorkerStarted():
            return {
                place: replace(state, logged_current=0) if _of(place, event) else state
                for place, state in states.items()
            }
        case WorkerSnapshot(threads_known=True):
            return _seen(states, event)
        case _:
            return states


def _of(place: Place, event: WorkerStarted | WorkerSnapshot) -> bool:
    return (place.kafka_cluster, place.worker) == (event.kafka_cluster, event.worker)


def _logged(states: States, event: TaskAbandoned | ConnectorAbandoned, task: str) -> States:
    place = Place(event.kafka_cluster, event.worker, event.connector, task)
    state = states.get(place) or Abandoned(event.happened_at_ms, event.happened_at_ms)
    return {
        **states,
        place: replace(
            state,
            logged_total=state.logged_total + 1,
            logged_current=state.logged_current + 1,
            last_ms=max(state.last_ms, event.happened_at_ms),
            message=event.message,
        ),
    }


def _ended(states: States, event: AbandonedEnded) -> States:
    place = Place(event.kafka_cluster, event.worker, event.connector, event.task)
    state = states.get(place)
    if state is None:
        return states
    return {**states, place: replace(state, logged_current=max(0, state.logged_current - 1))}


def _seen(states: States, event: WorkerSnapshot) -> States:
    counts = {
        Place(event.kafka_cluster, event.worker, one.connector, one.task): one.abandoned
        for one in event.instances
    }
    known = {place for place in states if _of(place, event)}
    touched = known | {place for place, count in counts.items() if count > 0}
    return {
        **states,
        **{place: _counted(states.get(place), counts.get(place, 0), event) for place in touched},
    }


def _counted(state: Abandoned | None, count: int, event: WorkerSnapshot) -> Abandoned:
    before = state or Abandoned(event.happened_at_ms, event.happened_at_ms)
    more = max(0, count - before.seen_current)
    return replace(
        before,
        seen=True,
        seen_current=count,
        seen_total=min(MAX_INTEGER, before.seen_total + more),
        last_ms=max(before.last_ms, event.happened_at_ms) if more else before.last_ms,
    )
