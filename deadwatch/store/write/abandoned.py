"""Instances that Connect workers have abandoned: two sources of evidence, each followed through its events.

The log says when an instance was abandoned and, not always, when it ended. A snapshot with threads says what
runs now: if more runs than before, more was abandoned since; an instance that it does not name has ended.
Between two snapshots an instance may end and another be abandoned, so the snapshots' total is a lower bound.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from sqlalchemy import Connection, delete, select

from deadwatch.contract.events import (
    AbandonedEnded,
    ConnectorAbandoned,
    Event,
    TaskAbandoned,
    WorkerSnapshot,
    WorkerStarted,
)
from deadwatch.store.schema import abandoned as table
from deadwatch.store.schema import instances
from deadwatch.store.statements import Values
from deadwatch.store.storable import MAX_INTEGER, storable_values
from deadwatch.store.write.states import RowLimits, States

Key = tuple[str, str, str, str]
"""A cluster, a worker of Connect, a connector and a task; without task it is the connector itself."""

NOTHING: Final = dict.fromkeys(("logged_total", "logged_current", "seen_total", "seen_current"), 0)
"""The counts of an instance that was never abandoned: by the log, and by snapshots."""


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
            own = {key: {**states[key], "logged_current": 0} for key in _of(states, event)}
            return {**states, **own}
        case WorkerSnapshot(threads_known=True):
            return _seen(states, event)
        case _:
            return states


def _of(states: States, event: WorkerStarted | WorkerSnapshot) -> set[Key]:
    return {key for key in states if key[:2] == (event.kafka_cluster, event.worker)}


def _logged(states: States, event: TaskAbandoned | ConnectorAbandoned, task: str) -> States:
    key = (event.kafka_cluster, event.worker, event.connector, task)
    state = states.get(key) or _new(event)
    after = {
        **state,
        "logged_total": state["logged_total"] + 1,
        "logged_current": state["logged_current"] + 1,
        "last_ms": max(state["last_ms"], event.happened_at_ms),
        "message": event.message,
    }
    return {**states, key: after}


def _new(event: Event) -> Values:
    at_ms = event.happened_at_ms
    return {**NOTHING, "seen": False, "message": "", "first_ms": at_ms, "last_ms": at_ms}


def _ended(states: States, event: AbandonedEnded) -> States:
    key = (event.kafka_cluster, event.worker, event.connector, event.task)
    state = states.get(key)
    if state is None:
        return states
    return {**states, key: {**state, "logged_current": max(0, state["logged_current"] - 1)}}


def _seen(states: States, event: WorkerSnapshot) -> States:
    counts = {
        (event.kafka_cluster, event.worker, one.connector, one.task): one.abandoned for one in event.instances
    }
    touched = _of(states, event) | {key for key, count in counts.items() if count > 0}
    seen = {key: _counted(states.get(key) or _new(event), counts.get(key, 0), event) for key in touched}
    return {**states, **seen}


def _counted(before: Values, count: int, event: WorkerSnapshot) -> Values:
    more = max(0, count - before["seen_current"])
    return {
        **before,
        "seen": True,
        "seen_current": count,
        "seen_total": min(MAX_INTEGER, before["seen_total"] + more),
        "last_ms": max(before["last_ms"], event.happened_at_ms) if more else before["last_ms"],
    }


def merge(connection: Connection, events: Sequence[Event], limits: RowLimits) -> None:
    """Apply the events in their order."""
    workers = {worker for event in events if (worker := getattr(event, "worker", None)) is not None}
    limits.follow(connection, table.c.worker, workers, events, following)
    latest = {(one.kafka_cluster, one.worker): one for one in events if isinstance(one, WorkerSnapshot)}
    for snapshot in latest.values():
        _replace_instances(connection, snapshot, limits)


def _replace_instances(connection: Connection, snapshot: WorkerSnapshot, limits: RowLimits) -> None:
    of_worker = (instances.c.kafka_cluster == snapshot.kafka_cluster, instances.c.worker == snapshot.worker)
    known = connection.execute(select(instances).where(*of_worker))
    before = {(row.connector, row.task): row for row in known}
    connection.execute(delete(instances).where(*of_worker))
    own = {name: getattr(snapshot, name) for name in ("kafka_cluster", "worker", "observed_at_ms", "source")}
    rows = []
    for one in snapshot.instances:
        row = asdict(one) | own | {"state_since_ms": snapshot.observed_at_ms}
        earlier = before.get((one.connector, one.task))
        if earlier is not None and earlier.state == one.state and earlier.state_since_ms:
            row["state_since_ms"] = earlier.state_since_ms
        if not snapshot.threads_known:
            row["abandoned"] = earlier.abandoned if earlier is not None else 0
        rows.append(storable_values(row))
    limits.upsert(connection, instances, rows)
