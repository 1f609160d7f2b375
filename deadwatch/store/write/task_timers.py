"""Which timers of ``task.timeout.ms`` run, followed through the logs of Streams (KIP-572).

At INFO no line says that a task made progress. A running timer is logged again whenever its call times out
again. So one without a line for ``SILENT_MS`` (the default of ``task.timeout.ms``) has been cleared, and its
next start is a new one. Timers are bounded in number and in time.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, delete

from deadwatch.contract.events import Event, TaskTimerEnded, TaskTimerStarted
from deadwatch.store.schema import task_timers
from deadwatch.store.statements import Values
from deadwatch.store.storable import clamped
from deadwatch.store.write.states import RowLimits, States

SILENT_MS: Final = 300_000
BRINGS_UP: Final = frozenset({"init", "restore", "committed_offsets", "init_transactions", "offset_reset"})
"""Calls that a thread has completed once it logs that it runs."""


def following(states: States, event: Event) -> States:
    """The timers of a client after ``event``."""
    match event:
        case TaskTimerStarted():
            thread = "" if event.task else event.thread
            key = (event.kafka_cluster, event.streams_client, event.task, thread)
            return {**states, key: _started(states.get(key), event)}
        case TaskTimerEnded():
            return {
                key: {**timer, "running": False} if _ends(key, timer, event) else timer
                for key, timer in states.items()
            }
        case _:
            return states


def said_at_ms(event: Event) -> int:
    """The event's time, but no later than when the collector saw it."""
    return min(event.happened_at_ms, event.observed_at_ms)


def _started(before: Values | None, event: TaskTimerStarted) -> Values:
    """The timer after a start; a running one keeps its beginning and the call that started it."""
    at_ms = said_at_ms(event)
    goes_on = before and before["running"] and at_ms - before["heard_ms"] <= SILENT_MS
    anew: Values = {"call": "", "since_ms": at_ms, "heard_ms": 0, "deadline_ms": 0}
    known = before if before and goes_on else anew
    return {
        "application": event.application,
        "said_by": event.thread,
        "call": known["call"] or event.call,
        "since_ms": known["since_ms"],
        "heard_ms": max(at_ms, known["heard_ms"]),
        "deadline_ms": at_ms + event.remaining_ms if event.remaining_ms >= 0 else known["deadline_ms"],
        "running": True,
        "message": event.message,
    }


def _ends(key: tuple[Any, ...], timer: Values, event: TaskTimerEnded) -> bool:
    """Whether the event ends the timer; an event without client is for the task in its whole application."""
    cluster, client, task, _ = key
    here = (cluster, timer["application"], client)
    if here != (event.kafka_cluster, event.application, event.streams_client or client):
        return False
    if event.task:
        return bool(task == event.task)
    ends_thread = event.thread in (timer["said_by"], event.streams_client)
    return ends_thread and _ends_call(event.reason, timer["call"])


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


def merge(connection: Connection, events: Sequence[Event], limits: RowLimits) -> None:
    """Apply the events in their order."""
    timer_events = [one for one in events if isinstance(one, TaskTimerStarted | TaskTimerEnded)]
    if not timer_events:
        return
    latest_ms = max(map(said_at_ms, timer_events))
    connection.execute(delete(task_timers).where(task_timers.c.heard_ms < clamped(latest_ms - KEPT_MS)))
    applications = {one.application for one in timer_events}
    limits.follow(connection, task_timers.c.application, applications, timer_events, following)
