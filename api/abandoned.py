"""Abandoned connectors and tasks: two evidences, the worker's log and its threads, made one number each.

    total   = max(what the log says, what the threads showed)
    current = what the threads show, where a snapshot with threads covers the worker; else what the log says

Log lines whose worker is not known ("") are evidence about a known worker, not a second abandonment: with one
known worker they are added to its lines; with several, only those stay apart that the threads of the
known ones do not account for.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

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
    """How often a connector (``task`` empty) or task was abandoned, and how many instances still run."""

    kafka_cluster: str
    worker: str
    connector: str
    task: str
    current: int
    total: int
    seen: bool
    first_ms: int
    last_ms: int
    message: str


def evidence_rows(connection: Connection) -> list[Evidence]:
    """Everything that is known about abandoned instances."""
    return [Evidence(**row) for row in connection.execute(select(schema.abandoned)).mappings()]


def reconcile(rows: Iterable[Evidence]) -> list[Abandoned]:
    """One result for each cluster, worker, connector and task, in this order; nothing counts twice."""
    instances: dict[tuple[str, str, str], list[Evidence]] = defaultdict(list)
    for row in rows:
        instances[row.kafka_cluster, row.connector, row.task].append(row)
    results = [result for evidences in instances.values() for result in _of_one_instance(evidences)]
    return sorted(results, key=lambda a: (a.kafka_cluster, a.worker, a.connector, a.task))


def _of_one_instance(rows: list[Evidence]) -> list[Abandoned]:
    known = [row for row in rows if row.worker]
    unknown = [row for row in rows if not row.worker]
    if not known or not unknown:
        return [_judged(row) for row in rows]
    if len(known) == 1:
        return [_judged(_merged(known[0], unknown[0]))]
    return [*(_judged(row) for row in known), *_unaccounted(known, unknown[0])]


def _judged(row: Evidence) -> Abandoned:
    return Abandoned(
        row.kafka_cluster,
        row.worker,
        row.connector,
        row.task,
        current=row.seen_current if row.seen else row.logged_current,
        total=max(row.logged_total, row.seen_total),
        seen=row.seen,
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


def _unaccounted(known: list[Evidence], unknown: Evidence) -> list[Abandoned]:
    """The log lines without worker that no thread of a known worker explains."""
    explained = sum(max(0, row.seen_total - row.logged_total) for row in known)
    total = max(0, unknown.logged_total - explained)
    rest = replace(unknown, logged_total=total, logged_current=min(unknown.logged_current, total))
    return [_judged(rest)] if total else []
