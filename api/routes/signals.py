"""Lists of what was observed, one route a signal: tasks, abandoned instances, delivery timeouts, findings."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final, TypeVar

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import Connection, Table

from api import cursor
from api.answers import TIME, Answer, Page, answer_of, instant
from api.cursor import Key, PageQuery
from api.service import Paging, Service, Serving
from api.signals import abandoned as abandonment
from api.signals import tasks as progress
from api.signals.abandoned import AbandonedInstances
from api.signals.pipeline import Moment, source_rows
from api.signals.series import SeriesRow, counter_answer, latest_first, series_rows
from api.store import StoredRow, every_row
from deadwatch.store import schema
from deadwatch.store.series import DELIVERY_TIMEOUT_BATCHES, DELIVERY_TIMEOUT_RECORDS, TASK_TIMEOUTS


class DeliveryTimeout(Answer):
    """What a producer gave up for a topic; elapsed time and message are the latest batch's."""

    kafka_cluster: str = Field(examples=["default"])
    topic: str = Field(examples=["orders"])
    client_id: str = Field(examples=["checkout-1"])
    client: str = Field(description="The library: java, kafka-python or librdkafka.", examples=["java"])
    batches: int = Field(examples=[1])
    records: int = Field(examples=[3])
    elapsed_ms: int | None = Field(examples=[3004])
    message: str = Field(
        examples=["Expiring 3 record(s) for orders-0:3004 ms has passed since batch creation"]
    )
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class DeliveryTimeouts(Page[DeliveryTimeout]):
    """By topic and client, latest first."""


class Finding(Answer):
    """A configuration that would lose or strand records; it is gone when it is fixed."""

    kafka_cluster: str = Field(examples=["default"])
    kind: str = Field(description="As docs/findings.md lists them.", examples=["dlq_compacted"])
    subject: str = Field(description="What has it.", examples=["topic:dlq.orders"])
    message: str = Field(
        description="What is wrong, and what would be lost.",
        examples=["it is compacted: of dead letters with the same key only the last one stays"],
    )
    change: str = Field(
        description="A command, or settings as key=value.", examples=["errors.tolerance=none"]
    )
    first_seen: datetime | None = Field(description="Since when it lasts.", examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class Findings(Page[Finding]):
    """What will go wrong, the newest finding first."""


NOT_BEGUN: Final = ""
ENDED: Final = "."
"""Stand in place of a cursor of one of the three lists of ``/tasks``."""
R = TypeVar("R")
router = APIRouter()


@router.get("/tasks", tags=["tasks"])
def tasks(service: Serving, query: Paging) -> progress.Tasks:
    """Timeouts of Streams tasks, the latest first, their running timers, every Connect instance, dead first.

    A page has up to `limit` rows of each of the three lists.
    """
    moment, after = service.moment, query.after
    begins = (NOT_BEGUN,) * 3 if after is None else cursor.decode(after, names=3, numbers=0)
    with service.store.read() as connection:
        timeouts = series_rows(connection, TASK_TIMEOUTS)
        timers = progress.running(every_row(connection, schema.task_timers), moment.now_ms)
        instances = _known_now(connection, schema.instances, moment)
    timed_out, after_timeouts = _part(timeouts, latest_first, begins[0], query, numbers=1, names=3)
    run, after_timers = _part(timers, progress.timer_key, begins[1], query, numbers=1, names=4)
    connect, after_instances = _part(instances, progress.instance_key, begins[2], query, numbers=1, names=4)
    following = (after_timeouts, after_timers, after_instances)
    return progress.Tasks(
        task_timeouts=[
            counter_answer(progress.TaskTimeouts, TASK_TIMEOUTS, row, timeouts=row.value) for row in timed_out
        ],
        timers=[progress.timer_answer(row, moment.now_ms) for row in run],
        connect=[answer_of(progress.ConnectInstance, row) for row in connect],
        next=None if following == (ENDED, ENDED, ENDED) else cursor.encode(following),
    )


def failed(service: Service) -> list[progress.ConnectInstance]:
    """Connectors and tasks that are dead now, the latest first."""
    with service.store.read() as connection:
        rows = progress.failed(connection, source_rows(connection), service.moment)
    return [answer_of(progress.ConnectInstance, row) for row in rows]


def _known_now(connection: Connection, table: Table, moment: Moment) -> list[StoredRow]:
    return progress.known_now(every_row(connection, table), source_rows(connection), moment)


def _part(
    rows: Iterable[R],
    key: Callable[[R], Key],
    after: int | str,
    query: PageQuery,
    *,
    numbers: int,
    names: int,
) -> tuple[list[R], str]:
    """Like ``cursor.page``, for a list that may have ended on a page before."""
    if after == ENDED:
        return [], ENDED
    part = PageQuery(limit=query.limit, after=None if after == NOT_BEGUN else str(after))
    page, following = cursor.page(rows, key, part, numbers=numbers, names=names)
    return page, ENDED if following is None else following


@router.get("/connect/tasks", tags=["tasks"])
def connect_tasks(service: Serving, query: Paging) -> progress.ConnectTasks:
    """Every task of Connect; those stalled for longest come first, then the latest errors."""
    with service.store.read() as connection:
        rows = _known_now(connection, schema.connect_tasks, service.moment)
    page, following = cursor.page(rows, progress.connect_task_key, query, numbers=3, names=4)
    return progress.ConnectTasks(items=[progress.connect_task_answer(row) for row in page], next=following)


@router.get("/abandoned", tags=["abandoned"])
def abandoned(service: Serving, query: Paging) -> AbandonedInstances:
    """Everything that was ever abandoned; what still runs comes first, then the latest."""
    with service.store.read() as connection:
        rows = abandonment.reconcile(abandonment.evidence_rows(connection))
    page, following = cursor.page(rows, abandonment.key, query, numbers=2, names=4)
    return AbandonedInstances(items=[abandonment.abandoned_answer(row) for row in page], next=following)


@router.get("/delivery-timeouts", tags=["delivery timeouts"])
def delivery_timeouts(service: Serving, query: Paging) -> DeliveryTimeouts:
    """Expired batches and records by topic and client, the latest first."""
    with service.store.read() as connection:
        batches, records = (
            {row.labels: row for row in series_rows(connection, series)}
            for series in (DELIVERY_TIMEOUT_BATCHES, DELIVERY_TIMEOUT_RECORDS)
        )
    latest = {**records, **batches}.values()  # facts of a batch are newer than those of its records
    page, following = cursor.page(latest, latest_first, query, numbers=1, names=4)

    def value(counter: Mapping[tuple[str, ...], SeriesRow], row: SeriesRow) -> int:
        return counter[row.labels].value if row.labels in counter else 0

    items = [
        counter_answer(
            DeliveryTimeout,
            DELIVERY_TIMEOUT_BATCHES,
            row,
            batches=value(batches, row),
            records=value(records, row),
        )
        for row in page
    ]
    return DeliveryTimeouts(items=items, next=following)


@router.get("/findings", tags=["findings"])
def findings(service: Serving, query: Paging) -> Findings:
    """Configurations that would lose or strand records, the newest finding first."""
    with service.store.read() as connection:
        rows = every_row(connection, schema.findings)

    def key(row: StoredRow) -> Key:
        return row.first_ms, row.kind, row.subject, row.kafka_cluster

    page, following = cursor.page(rows, key, query, numbers=1, names=3, backwards=True)
    items = [answer_of(Finding, row, last_seen=instant(row.observed_at_ms)) for row in page]
    return Findings(items=items, next=following)
