"""Which timers of ``task.timeout.ms`` run, followed through what the logs of Streams say (KIP-572).

At INFO nobody says that a task made progress. A timer that runs is told again whenever its call times out
again, so one that nobody has told of for ``SILENT_MS`` (what ``task.timeout.ms`` is unless somebody sets it)
has been cleared, and its next start is a new one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from collector.contract.events import Event, TaskTimerEnded, TaskTimerStarted

SILENT_MS: Final = 300_000
BRINGS_UP: Final = frozenset({"init", "restore", "committed_offsets", "init_transactions", "offset_reset"})
"""Calls that a thread is done with once it says that it runs."""


class Place(NamedTuple):
    """A task of a Streams client, or a thread (``task`` empty) of which no more is known than itself."""

    kafka_cluster: str
    streams_client: str
    task: str
    thread: str


@dataclass(frozen=True, slots=True)
class Timer:
    """A row of the table ``task_timers``; ``said_by`` is the thread, ``deadline_ms`` 0 if it is not told."""

    application: str
    said_by: str
    call: str
    since_ms: int
    heard_ms: int
    deadline_ms: int
    running: bool
    message: str


States = Mapping[Place, Timer]


def following(states: States, event: Event) -> States:
    """The timers of a client after ``event``."""
    match event:
        case TaskTimerStarted():
            place = Place(
                event.kafka_cluster, event.streams_client, event.task, "" if event.task else event.thread
            )
            return {**states, place: _started(states.get(place), event)}
        case TaskTimerEnded():
            return {
                place: replace(timer, running=False) if _ends(place, timer, event) else timer
                for place, timer in states.items()
            }
        case _:
            return states


def said_at_ms(event: Event) -> int:
    """When it was said; a time that lies ahead of who saw it is not believed."""
    return min(event.happened_at_ms, event.observed_at_ms)


def _started(before: Timer | None, event: TaskTimerStarted) -> Timer:
    """A timer that runs keeps its beginning and the call that started it."""
    at_ms = said_at_ms(event)
    told = event.remaining_ms >= 0
    known = before if before and before.running and at_ms - before.heard_ms <= SILENT_MS else None
    return Timer(
        application=event.application,
        said_by=event.thread,
        call=(known and known.call) or event.call,
        since_ms=known.since_ms if known else at_ms,
        heard_ms=max(at_ms, known.heard_ms if known else 0),
        deadline_ms=at_ms + event.remaining_ms if told else known.deadline_ms if known else 0,
        running=True,
        message=event.message,
    )


def _ends(place: Place, timer: Timer, event: TaskTimerEnded) -> bool:
    """An end without client is about the task in all of its application."""
    here = (place.kafka_cluster, timer.application, place.streams_client)
    if here != (event.kafka_cluster, event.application, event.streams_client or place.streams_client):
        return False
    if event.task:
        return place.task == event.task
    return event.thread in (timer.said_by, event.streams_client) and _ends_call(event.reason, timer.call)


def _ends_call(reason: str, call: str) -> bool:
    match reason:
        case "running":
            return call in BRINGS_UP
        case "revived":
            return call == "commit"
        case _:
            return True
