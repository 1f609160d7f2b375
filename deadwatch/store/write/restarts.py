"""Counters that begin anew with their process, followed through restarts: no total goes back.

They are brokers' meters of share groups, what collectors count of themselves, and the errors of Connect's
tasks. A later start, or a counter that is less than it was, means that it began anew: all it shows has come
since. What was counted between the last snapshot and the end of a process is not known to anybody.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from sqlalchemy import Connection, update

from deadwatch.contract.events import (
    BrokerSnapshot,
    CollectorSnapshot,
    ConnectTask,
    ConnectTasksSnapshot,
    Event,
)
from deadwatch.store.schema import (
    CONNECT_COUNTERS,
    CONNECT_ERRORS,
    collector_counts,
    connect_tasks,
    share_groups,
)
from deadwatch.store.statements import Values, rows_with
from deadwatch.store.storable import MAX_INTEGER, storable_values
from deadwatch.store.write.states import RowLimits, States

METERS: Final = ("records", "produce_requests", "failed_produce_requests")
"""What a broker counts of a share group."""
NO_STATE: Final[Values] = {"state": "", "judged": False, "stalled_since_ms": 0, "stalled_because": ""}
"""A task of Connect that its source does not tell of: missing from the snapshot, or the source is down. It
keeps its totals.
"""


NO_METERS: Final = dict.fromkeys(("started_at_ms", *METERS, *(f"{name}_total" for name in METERS)), 0)
NO_COUNT: Final = {"started_at_ms": 0, "counted": 0, "total": 0}


def merge(connection: Connection, events: Sequence[Event], limits: RowLimits) -> None:
    """Apply the snapshots in their order."""
    of_brokers = [one for one in events if isinstance(one, BrokerSnapshot)]
    brokers = {one.broker for one in of_brokers}
    limits.follow(connection, share_groups.c.broker, brokers, of_brokers, meters_after)
    of_collectors = [one for one in events if isinstance(one, CollectorSnapshot)]
    collectors = {one.collector for one in of_collectors}
    limits.follow(connection, collector_counts.c.collector, collectors, of_collectors, counts_after)
    for event in events:
        if isinstance(event, ConnectTasksSnapshot):
            _replace_tasks(connection, event, limits)


def meters_after(before: States, event: BrokerSnapshot) -> States:
    """The meters after a snapshot; a group that it does not name keeps its meters."""
    after = dict(before)
    for one in event.share_groups:
        key = (event.kafka_cluster, one.consumergroup, event.broker)
        old, now = before.get(key, NO_METERS), {name: getattr(one, name) for name in METERS}
        totals = _totals(old, now, METERS, anew=event.started_at_ms != old["started_at_ms"])
        after[key] = {**now, **totals, "started_at_ms": event.started_at_ms}
    return after


def counts_after(before: States, event: CollectorSnapshot) -> States:
    """The counts after a snapshot; a count that it does not name has no current value any more."""
    mine = (event.kafka_cluster, event.collector)
    after = {key: {**old, "current": 0} if key[:2] == mine else old for key, old in before.items()}
    for one in event.collector_counts:
        key = (*mine, one.name, one.subject)
        old, started_at_ms = before.get(key, NO_COUNT), event.started_at_ms
        total = grown(old["total"], old["counted"], one.total, anew=started_at_ms != old["started_at_ms"])
        now = {"current": one.current, "counted": one.total, "total": total}
        after[key] = {**now, "started_at_ms": started_at_ms}
    return after


def task_after(before: Values | None, now: ConnectTask) -> Values:
    """The row of a task after a snapshot; ``before`` is the row until then.

    A task's counters begin anew with every instance of it: any counter that is less than it was tells. An
    instance that has come as far as its predecessor on every counter, records included, before it is first
    seen is taken for the same.
    """
    reported = asdict(now)
    zeros = {f"{name}_total": 0 for name in CONNECT_ERRORS}
    old = before or {**reported, "counted": False, "last_error_at_ms": 0, **zeros}
    if not now.counted:
        kept = ("counted", "started_at_ms", "last_error_at_ms", *CONNECT_COUNTERS, *zeros)
        return {**reported, **{name: old[name] for name in kept}}
    restarted = not old["counted"] or old["started_at_ms"] != now.started_at_ms
    anew = restarted or any(reported[name] < old[name] for name in CONNECT_COUNTERS)
    totals = _totals(old, reported, CONNECT_ERRORS, anew=anew)
    return {**reported, **totals, "last_error_at_ms": max(old["last_error_at_ms"], now.last_error_at_ms)}


def grown(total: int, before: int, now: int, *, anew: bool) -> int:
    """The total after a counter went from ``before`` to ``now``; less than before: it began anew."""
    return min(MAX_INTEGER, total + now - (0 if anew or now < before else before))


def _totals(before: Values, now: Values, names: Sequence[str], *, anew: bool) -> dict[str, int]:
    return {
        f"{name}_total": grown(before[f"{name}_total"], before[name], now[name], anew=anew) for name in names
    }


def _replace_tasks(connection: Connection, event: ConnectTasksSnapshot, limits: RowLimits) -> None:
    """Replace what this source has reported; tasks of other sources stay."""
    connection.execute(
        update(connect_tasks)
        .where(connect_tasks.c.source == event.source, connect_tasks.c.state != "")
        .values(NO_STATE)
    )
    stored = rows_with(connection, connect_tasks.c.worker, {one.worker for one in event.connect_tasks})
    before = {tuple(row[:4]): row._asdict() for row in stored}  # the key comes first
    names = ("kafka_cluster", "source", "connect_cluster", "observed_at_ms")
    of_snapshot: dict[str, Any] = {name: getattr(event, name) for name in names}
    rows = []
    for one in event.connect_tasks:
        old = before.get((event.kafka_cluster, one.worker, one.connector, one.task))
        rows.append(storable_values({**of_snapshot, **task_after(old, one)}))
    limits.upsert(connection, connect_tasks, rows)
