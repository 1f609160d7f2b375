"""One screen: what is dead, late or abandoned now."""

from collections.abc import Iterable, Mapping

from fastapi import APIRouter, Depends
from sqlalchemy import Connection

from api.abandoned import Abandoned, evidence_rows, reconcile
from api.connect_tasks import connect_task_rows
from api.dead_letters import count_groups
from api.findings import FindingRow, finding_rows
from api.redrive_workers import workforce
from api.rows import BatchRow, SeriesTotal, last_batch, series_totals
from api.schemas import (
    AbandonedNow,
    Count,
    DeadLettersNow,
    DeliveryTimeoutsNow,
    FindingsNow,
    Overview,
    Pipeline,
    RedrivesNow,
    Source,
    Sources,
    StalledNow,
)
from api.service import Service, Serving, no_parameters
from api.sources import SourceRow, source_rows
from api.times import instant
from api.waiting import Waiting
from streaming.redrive.order import Status
from streaming.store import series
from streaming.store.series import Series

router = APIRouter(tags=["overview"], dependencies=[Depends(no_parameters)])

Totals = Mapping[str, SeriesTotal]


@router.get("/overview")
def overview(service: Serving) -> Overview:
    """One screen: what is dead, late or abandoned now."""
    waiting = service.waiting.get()
    with service.store.read() as connection:
        totals = series_totals(connection)
        instances = reconcile(evidence_rows(connection))
        return Overview(
            kafka_cluster=service.settings.kafka_cluster,
            at=instant(service.now_ms()),
            dead_letters=_dead_letters(connection, totals, waiting),
            task_timeouts=_count(totals, series.TASK_TIMEOUTS),
            delivery_timeouts=_delivery_timeouts(totals),
            client_timeouts=_count(totals, series.CLIENT_TIMEOUTS),
            abandoned_tasks=_abandoned(instance for instance in instances if instance.task),
            abandoned_connectors=_abandoned(instance for instance in instances if not instance.task),
            findings=_findings(finding_rows(connection)),
            stalled_tasks=_stalled(connection),
            quarantined=_count(totals, series.QUARANTINED),
            redrives=_redrives(connection, service),
            sources=_sources(source_rows(connection), service),
            pipeline=_pipeline(last_batch(connection)),
        )


def _total(totals: Totals, counted: Series) -> SeriesTotal:
    return totals.get(counted.name, SeriesTotal())


def _count(totals: Totals, counted: Series) -> Count:
    total = _total(totals, counted)
    return Count(total=total.value, last_seen=instant(total.last_ms))


def _dead_letters(connection: Connection, totals: Totals, waiting: Waiting) -> DeadLettersNow:
    total = _total(totals, series.DEAD_LETTERS)
    return DeadLettersNow(
        total=total.value,
        waiting=waiting.total,
        last_seen=instant(total.last_ms),
        topics=sum(topic.records > 0 for topic in waiting.topics),
        groups=count_groups(connection),
        lost=_count(totals, series.SHARE_DEAD_LETTERS_LOST),
    )


def _delivery_timeouts(totals: Totals) -> DeliveryTimeoutsNow:
    batches = _total(totals, series.DELIVERY_TIMEOUT_BATCHES)
    records = _total(totals, series.DELIVERY_TIMEOUT_RECORDS)
    return DeliveryTimeoutsNow(
        batches=batches.value, records=records.value, last_seen=instant(max(batches.last_ms, records.last_ms))
    )


def _abandoned(instances: Iterable[Abandoned]) -> AbandonedNow:
    counted = list(instances)
    return AbandonedNow(
        current=sum(instance.current for instance in counted),
        total=sum(instance.total for instance in counted),
        last_seen=instant(max((instance.last_ms for instance in counted), default=0)),
    )


def _findings(rows: list[FindingRow]) -> FindingsNow:
    return FindingsNow(
        current=len(rows), newest_since=instant(max((row.first_ms for row in rows), default=0))
    )


def _stalled(connection: Connection) -> StalledNow:
    since_ms = [row.stalled_since_ms for row in connect_task_rows(connection) if row.stalled_since_ms]
    return StalledNow(current=len(since_ms), longest_since=instant(min(since_ms, default=0)))


def _redrives(connection: Connection, service: Service) -> RedrivesNow:
    found = workforce(connection, service.now_ms(), service.settings.source_stale_ms)
    return RedrivesNow(
        running=found.orders.get(Status.RUNNING, 0),
        paused=found.orders.get(Status.PAUSED, 0),
        workers=found.workers,
        warning=found.warning or None,
    )


def _sources(rows: list[SourceRow], service: Service) -> Sources:
    stale_ms, now_ms = service.settings.source_stale_ms, service.now_ms()
    return Sources(
        total=len(rows),
        down=[_source(row, stale_ms) for row in rows if not row.is_up(now_ms, stale_ms)],
    )


def _source(row: SourceRow, stale_ms: int) -> Source:
    """A source that was up and went silent is down since its last heartbeat."""
    return Source(
        name=row.name,
        kind=row.kind,
        message=f"nothing heard for more than {stale_ms} ms" if row.up else row.message,
        down_since=instant(row.heartbeat_ms if row.up else row.since_ms),
        last_heard=instant(row.heartbeat_ms),
    )


def _pipeline(batch: BatchRow | None) -> Pipeline:
    return Pipeline(
        lag_ms=batch and batch.lag_ms,
        batch_duration_ms=batch and batch.duration_ms,
        batch_records=batch and batch.records,
        last_batch=batch and instant(batch.committed_at_ms),
    )
