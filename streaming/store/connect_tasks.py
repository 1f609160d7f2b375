"""Connect's tasks: the latest snapshot, and their errors followed through restarts; no total goes back.

A task's counters begin anew with every instance of it. A later start of the worker, or any counter that is
less than it was, means that they did: all they show has come since. What was counted between the last
snapshot and the end of an instance is not known to anybody; an instance that has come as far as its
predecessor on every counter, records included, before it is first seen is taken for the same.

A task that its cluster no longer tells keeps its totals, without a state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from sqlalchemy import Connection, select, update

from collector.contract.events import ConnectTask, ConnectTasksSnapshot, Event
from streaming.store.caps import Caps
from streaming.store.engine import Values, chunks, upsert
from streaming.store.schema import CONNECT_COUNTERS, CONNECT_ERRORS, connect_tasks
from streaming.store.storable import MAX_INTEGER, storable_values

Row = Mapping[str, Any]

UNTOLD: Final[Row] = {
    "state": "",
    "judged": False,
    "stalled_since_ms": 0,
    "stalled_because": "",
}
"""What becomes of a task that is no longer told."""


def merge(connection: Connection, events: Sequence[Event], caps: Caps) -> None:
    """Apply the snapshots in their order."""
    for event in events:
        if isinstance(event, ConnectTasksSnapshot):
            _replace(connection, event, caps)


def following(before: Row | None, now: ConnectTask) -> Values:
    """The row of a task after a snapshot told it; ``before`` is the row until then."""
    told = asdict(now)
    zeros = {f"{name}_total": 0 for name in CONNECT_ERRORS}
    old = before or {**told, "counted": False, "last_error_at_ms": 0, **zeros}
    if not now.counted:
        kept = ("counted", "started_at_ms", "last_error_at_ms", *CONNECT_COUNTERS, *zeros)
        return {**told, **{name: old[name] for name in kept}}
    anew = not old["counted"] or _began_anew(old, told)
    totals = {
        f"{name}_total": min(MAX_INTEGER, old[f"{name}_total"] + told[name] - (0 if anew else old[name]))
        for name in CONNECT_ERRORS
    }
    return {**told, **totals, "last_error_at_ms": max(old["last_error_at_ms"], now.last_error_at_ms)}


def _began_anew(old: Row, told: Row) -> bool:
    return old["started_at_ms"] != told["started_at_ms"] or any(
        told[name] < old[name] for name in CONNECT_COUNTERS
    )


def _replace(connection: Connection, event: ConnectTasksSnapshot, caps: Caps) -> None:
    """What another source told last is not this one's to take back."""
    connection.execute(
        update(connect_tasks)
        .where(connect_tasks.c.source == event.source, connect_tasks.c.state != "")
        .values(UNTOLD)
    )
    before = _read(connection, event)
    whose = {
        "kafka_cluster": event.kafka_cluster,
        "source": event.source,
        "connect_cluster": event.connect_cluster,
        "observed_at_ms": event.observed_at_ms,
    }
    rows = [
        {**storable_values({**whose, **following(before.get(_key(event, one)), one)})}
        for one in event.connect_tasks
    ]
    upsert(connection, connect_tasks, caps.fitting(connection, connect_tasks, rows))


def _key(event: ConnectTasksSnapshot, one: ConnectTask) -> tuple[str, ...]:
    return (event.kafka_cluster, one.worker, one.connector, one.task)


def _read(connection: Connection, event: ConnectTasksSnapshot) -> dict[tuple[str, ...], Row]:
    return {
        (row.kafka_cluster, row.worker, row.connector, row.task): row._asdict()
        for workers in chunks({one.worker for one in event.connect_tasks})
        for row in connection.execute(select(connect_tasks).where(connect_tasks.c.worker.in_(workers)))
    }
