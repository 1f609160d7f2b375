"""Abandoned connectors and tasks (KIP-611): two kinds of evidence, the worker's log and its threads, as one
number each.

    total   = max(what the log says, what the threads showed)
    current = what the threads show, where a snapshot with threads covers the worker; else what the log says

Log lines whose worker is not known ("") are evidence about a known worker, not a second abandonment: with one
known worker they are added to its lines; with several, only those stay apart that the threads of the known
ones do not account for.

The two figures stay beside each other, and where both kinds of evidence exist for an instance's worker they
are ``compared``: a difference that stays says that one of them has not seen everything.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from functools import partial
from typing import Final, Literal

from pydantic import Field
from sqlalchemy import Connection, select

from api.answers import TIME, Answer, Page, answer_of
from api.cursor import Key
from deadwatch.store import schema
from deadwatch.store.schema import instances


@dataclass(frozen=True, slots=True)
class Evidence:
    """A row of the store: what log and threads show of one connector (``task`` empty) or task."""

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


_EVIDENCE: Final = select(*(schema.abandoned.c[field.name] for field in fields(Evidence)))


@dataclass(frozen=True, slots=True)
class Abandoned(Evidence):
    """How often a connector (``task`` empty) or task was abandoned, and how many instances still run.

    ``compared``: both the log and the threads of its worker have been read.
    """

    current: int
    total: int
    compared: bool


def evidence_rows(connection: Connection) -> list[Evidence]:
    """All evidence of abandoned instances.

    A worker whose threads were seen and of which nothing is left, by REST and by its agent, has ended, and
    with it what it had abandoned: such as a pod whose successor has another name.
    """
    workers = select(instances.c.kafka_cluster, instances.c.worker).distinct()
    left = {(kafka_cluster, worker) for kafka_cluster, worker in connection.execute(workers)}
    return [
        replace(row, seen_current=0, logged_current=0)
        if row.seen and (row.kafka_cluster, row.worker) not in left
        else row
        for row in (Evidence(*values) for values in connection.execute(_EVIDENCE))
    ]


def reconcile(rows: Iterable[Evidence]) -> list[Abandoned]:
    """One result for each cluster, worker, connector and task, in this order; nothing counts twice."""
    instances: dict[tuple[str, str, str], list[Evidence]] = defaultdict(list)
    logged_workers = set()
    for row in rows:
        instances[row.kafka_cluster, row.connector, row.task].append(row)
        logged_workers |= {(row.kafka_cluster, row.worker)} if row.logged_total else set()
    results = [row for evidences in instances.values() for row in _of_one_instance(evidences, logged_workers)]
    return sorted(results, key=lambda row: (row.kafka_cluster, row.worker, row.connector, row.task))


def differences(instance: Abandoned) -> tuple[int, int]:
    """What the threads show beyond the log: of current and of total."""
    return instance.seen_current - instance.logged_current, instance.seen_total - instance.logged_total


def _of_one_instance(rows: list[Evidence], logged_workers: Collection[tuple[str, str]]) -> list[Abandoned]:
    known = [row for row in rows if row.worker]
    unknown = [row for row in rows if not row.worker]
    reconciled = partial(_reconciled, logged_workers)
    if not known or not unknown:
        return list(map(reconciled, rows))
    if len(known) == 1:
        return [reconciled(_merged(known[0], unknown[0]))]
    return [
        *(replace(reconciled(row), compared=False) for row in known),
        *map(reconciled, _unaccounted(known, unknown[0])),
    ]


def _reconciled(logged_workers: Collection[tuple[str, str]], row: Evidence) -> Abandoned:
    logged = row.logged_total > 0 or (row.kafka_cluster, row.worker) in logged_workers
    return Abandoned(
        **asdict(row),
        current=row.seen_current if row.seen else row.logged_current,
        total=max(row.logged_total, row.seen_total),
        compared=row.seen and logged,
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


class AbandonedFigures(Answer):
    """The figures by one kind of evidence."""

    current: int = Field(examples=[1])
    total: int = Field(examples=[1])


class AbandonedInstance(Answer):
    """How often a connector (``task`` null) or task was abandoned, and how many instances still run."""

    kind: Literal["connector", "task"] = Field(examples=["task"])
    kafka_cluster: str = Field(examples=["default"])
    worker: str = Field(examples=["127.0.0.1:8083"])
    connector: str = Field(examples=["pipe"])
    task: str | None = Field(examples=["0"])
    current: int = Field(examples=[1])
    total: int = Field(examples=[1])
    evidence: Literal["threads", "log"] = Field(
        description="The evidence for ``current``.", examples=["threads"]
    )
    log: AbandonedFigures = Field(description="By the worker's log.")
    threads: AbandonedFigures | None = Field(description="By its threads; null: never seen.")
    disagree: bool | None = Field(
        description="Whether the two differ; null: only one of them covers this worker.", examples=[False]
    )
    message: str = Field(
        description="The latest log line.", examples=["Graceful stop of task pipe-0 failed."]
    )
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class AbandonedInstances(Page[AbandonedInstance]):
    """Those that still run first, then the latest."""


def key(row: Abandoned) -> Key:
    """The instance's place in the list: what still runs first, then the latest."""
    return -row.current, -row.last_ms, row.kafka_cluster, row.worker, row.connector, row.task


def abandoned_answer(instance: Abandoned) -> AbandonedInstance:
    """The instance as the api answers it."""
    threads = AbandonedFigures(current=instance.seen_current, total=instance.seen_total)
    return answer_of(
        AbandonedInstance,
        instance,
        kind="task" if instance.task else "connector",
        evidence="threads" if instance.seen else "log",
        log=AbandonedFigures(current=instance.logged_current, total=instance.logged_total),
        threads=threads if instance.seen else None,
        disagree=any(differences(instance)) if instance.compared else None,
    )
