"""Which timers of ``task.timeout.ms`` run, followed through the logs of Streams (KIP-572).

At INFO no line says that a task made progress. A running timer is logged again whenever its call times out
again. So one without a line for ``SILENT_MS`` (the default of ``task.timeout.ms``) has been cleared, and its
next start is a new one. Timers are bounded in number and in time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from sqlalchemy import Connection, delete

from deadwatch.contract.events import Event, TaskTimerEnded, TaskTimerStarted
from deadwatch.store.schema import task_timers
from deadwatch.store.storable import clamped
from deadwatch.store.write.states import RowLimits, StateTable

SILENT_MS: Final = 300_000
BRINGS_UP: Final = frozenset({"init", "restore", "committed_offsets", "init_transactions", "offset_reset"})
"""Calls that a thread has completed once it logs that it runs."""


class TimerKey(NamedTuple):
    """A task of a Streams client, or a thread (``task`` empty) where the log names only that."""

    kafka_cluster: str
    streams_client: str
    task: str
    thread: str


@dataclass(frozen=True, slots=True)
class Timer:
    """A row of the table ``task_timers``; ``said_by`` is the thread, ``deadline_ms`` is 0 if unknown."""

    application: str
    said_by: str
    call: str
    since_ms: int
    heard_ms: int
    deadline_ms: int
    running: bool
    message: str


States = Mapping[TimerKey, Timer]


def following(states: States, event: Event) -> States:
    """The timers of a client after ``event``."""
    match event:
        case TaskTimerStarted():
            key = TimerKey(
                event.kafka_cluster, event.streams_client, event.task, "" if event.task else event.thread
            )
            return {**states, key: _started(states.get(key), event)}
        case TaskTimerEnded():
            return {
                key: replace(timer, running=False) if _ends(key, timer, event) else timer
                for key, timer in states.items()
            }
        case _:
            return states


def said_at_ms(event: Event) -> int:
    """The event's time, but no later than when the collector saw it."""
    return min(event.happened_at_ms, event.observed_at_ms)


def _started(before: Timer | None, event: TaskTimerStarted) -> Timer:
    """The timer after a start; a running one keeps its beginning and the call that started it."""
    at_ms = said_at_ms(event)
    has_deadline = event.remaining_ms >= 0
    known = before if before and before.running and at_ms - before.heard_ms <= SILENT_MS else None
    return Timer(
        application=event.application,
        said_by=event.thread,
        call=(known and known.call) or event.call,
        since_ms=known.since_ms if known else at_ms,
        heard_ms=max(at_ms, known.heard_ms if known else 0),
        deadline_ms=at_ms + event.remaining_ms if has_deadline else known.deadline_ms if known else 0,
        running=True,
        message=event.message,
    )


def _ends(key: TimerKey, timer: Timer, event: TaskTimerEnded) -> bool:
    """Whether the event ends the timer; an event without client is for the task in its whole application."""
    here = (key.kafka_cluster, timer.application, key.streams_client)
    if here != (event.kafka_cluster, event.application, event.streams_client or key.streams_client):
        return False
    if event.task:
        return key.task == event.task
    return event.thread in (timer.said_by, event.streams_client) and _ends_call(event.reason, timer.call)


def _ends_call(reason: str, call: str) -> bool:
    match reason:
        case "running":
            return call in BRINGS_UP
        case "revived":
            return call == "commit"
        case _:
            return True


KEPT_MS: Final = 86_400_000
"""How long a timer that has ended is remembered, for its application to show 0."""

STATES: Final = StateTable(task_timers, task_timers.c.application, TimerKey, Timer)


def merge(connection: Connection, events: Sequence[Event], caps: RowLimits) -> None:
    """Apply the events in their order."""
    timer_events = [one for one in events if isinstance(one, TaskTimerStarted | TaskTimerEnded)]
    if not timer_events:
        return
    latest_ms = max(map(said_at_ms, timer_events))
    connection.execute(delete(task_timers).where(task_timers.c.heard_ms < clamped(latest_ms - KEPT_MS)))
    applications = {one.application for one in timer_events}
    STATES.follow(connection, applications, timer_events, following, caps)
