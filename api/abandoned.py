"""Abandoned connectors and tasks: two evidences, the worker's log and its threads, made one number each.

    total   = max(what the log says, what the threads showed)
    current = what the threads show, where a snapshot with threads covers the worker; else what the log says

Log lines whose worker is not known ("") are evidence about a known worker, not a second abandonment: with one
known worker they are added to its lines; with several, only those stay apart that the threads of the
known ones do not account for.

The two figures stay beside each other, and where both witnesses have spoken of an instance's worker they are
``compared``: a difference that stays says that one of them has not seen everything.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy import Connection, select

from streaming.store import schema


@dataclass(frozen=True, slots=True)
class Evidence:
    """A row of the store: what log and threads say about one connector (``task`` empty) or task."""

    kafka_cluster: str
    worker: str
    connector: str
    task: str
    logged_total: int
    logged_current: int
    seen_total: int
    seen_current: int
    seen: bool
    first_ms: int
    last_ms: int
    message: str


@dataclass(frozen=True, slots=True)
class Abandoned:
    """How often a connector (``task`` empty) or task was abandoned, and how many instances still run.

    ``compared``: the log has told of its worker, and threads too.
    """

    kafka_cluster: str
    worker: str
    connector: str
    task: str
    current: int
    total: int
    logged_current: int
    logged_total: int
    seen_current: int
    seen_total: int
    seen: bool
    compared: bool
    first_ms: int
    last_ms: int
    message: str


def evidence_rows(connection: Connection) -> list[Evidence]:
    """Everything that is known about abandoned instances."""
    return [Evidence(**row) for row in connection.execute(select(schema.abandoned)).mappings()]


def reconcile(rows: Iterable[Evidence]) -> list[Abandoned]:
    """One result for each cluster, worker, connector and task, in this order; nothing counts twice."""
    instances: dict[tuple[str, str, str], list[Evidence]] = defaultdict(list)
    heard = set()
    for row in rows:
        instances[row.kafka_cluster, row.connector, row.task].append(row)
        heard |= {(row.kafka_cluster, row.worker)} if row.logged_total else set()
    results = [result for evidences in instances.values() for result in _of_one_instance(evidences, heard)]
    return sorted(results, key=lambda a: (a.kafka_cluster, a.worker, a.connector, a.task))


def differences(instance: Abandoned) -> tuple[int, int]:
    """What the threads say beyond the log: of current and of total."""
    return instance.seen_current - instance.logged_current, instance.seen_total - instance.logged_total


def _of_one_instance(rows: list[Evidence], heard: Collection[tuple[str, str]]) -> list[Abandoned]:
    known = [row for row in rows if row.worker]
    unknown = [row for row in rows if not row.worker]
    judged = partial(_judged, heard)
    if not known or not unknown:
        return [judged(row) for row in rows]
    if len(known) == 1:
        return [judged(_merged(known[0], unknown[0]))]
    return [
        *(replace(judged(row), compared=False) for row in known),
        *map(judged, _unaccounted(known, unknown[0])),
    ]


def _judged(heard: Collection[tuple[str, str]], row: Evidence) -> Abandoned:
    return Abandoned(
        row.kafka_cluster,
        row.worker,
        row.connector,
        row.task,
        current=row.seen_current if row.seen else row.logged_current,
        total=max(row.logged_total, row.seen_total),
        logged_current=row.logged_current,
        logged_total=row.logged_total,
        seen_current=row.seen_current,
        seen_total=row.seen_total,
        seen=row.seen,
        compared=row.seen and (row.logged_total > 0 or (row.kafka_cluster, row.worker) in heard),
        first_ms=row.first_ms,
        last_ms=row.last_ms,
        message=row.message,
    )


def _merged(known: Evidence, unknown: Evidence) -> Evidence:
    """The known worker's evidence with the log lines that name no worker."""
    latest = max(known, unknown, key=lambda row: row.last_ms)
    return replace(
        known,
        logged_total=known.logged_total + unknown.logged_total,
        logged_current=known.logged_current + unknown.logged_current,
        first_ms=min(known.first_ms, unknown.first_ms),
        last_ms=latest.last_ms,
        message=latest.message or known.message or unknown.message,
    )


def _unaccounted(known: list[Evidence], unknown: Evidence) -> list[Evidence]:
    """The log lines without worker that no thread of a known worker explains."""
    explained = sum(max(0, row.seen_total - row.logged_total) for row in known)
    total = max(0, unknown.logged_total - explained)
    rest = replace(unknown, logged_total=total, logged_current=min(unknown.logged_current, total))
    return [rest] if total else []
