"""One screen: what is dead, late or abandoned now."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import Connection, func, select

from api.answers import TIME, Answer, answer_of, instant
from api.service import NoParameters, Serving
from api.signals.abandoned import Abandoned, evidence_rows, reconcile
from api.signals.dead_letter_groups import count_groups
from api.signals.pipeline import last_batch, source_rows, workforce
from api.signals.tasks import failed, stalled_since_ms
from api.store import StoredRow, every_row
from deadwatch.orders.order import Status
from deadwatch.store import schema, series


class Count(Answer):
    """A total since the store began, and when it last grew."""

    total: int = Field(examples=[3])
    last_seen: datetime | None = Field(examples=[TIME])


class DeadLettersNow(Count):
    """Dead letters over all topics."""

    waiting: int = Field(
        description="Neither moved nor parked by a redrive, nor known to be gone; without archived causes.",
        examples=[12],
    )
    topics: int = Field(description="Dead letter topics with records.", examples=[2])
    groups: int = Field(description="Causes.", examples=[4])
    lost: Count = Field(description="Times a broker could not write share-group dead letters.")


class DeliveryTimeoutsNow(Answer):
    """Batches and records that producers gave up."""

    batches: int = Field(examples=[7])
    records: int = Field(examples=[21])
    last_seen: datetime | None = Field(examples=[TIME])


class AbandonedNow(Answer):
    """Abandoned instances: those that still run, and all there ever were."""

    current: int = Field(examples=[1])
    total: int = Field(examples=[1])
    last_seen: datetime | None = Field(examples=[TIME])


class FindingsNow(Answer):
    """Configurations that would lose or strand records: how many hold now, the newest since when."""

    current: int = Field(examples=[2])
    newest_since: datetime | None = Field(examples=[TIME])


class FailedNow(Answer):
    """Connectors and tasks of Connect that are FAILED or RUNNING_WITHOUT_THREAD: dead until a restart."""

    tasks: int = Field(examples=[1])
    connectors: int = Field(examples=[0])
    latest_since: datetime | None = Field(examples=[TIME])


class StalledNow(Answer):
    """Tasks of Connect for which records wait while nothing moves."""

    current: int = Field(examples=[0])
    longest_since: datetime | None = Field(examples=[None])


class Source(Answer):
    """A source that does not work, or is silent."""

    name: str = Field(examples=["connect:127.0.0.1:8083"])
    kind: str = Field(examples=["connect"])
    message: str = Field(examples=["connection refused"])
    down_since: datetime | None = Field(examples=[TIME])
    last_heard: datetime | None = Field(examples=[TIME])


class Sources(Answer):
    """How many sources there are, and those that are down."""

    total: int = Field(examples=[3])
    down: list[Source]


class Pipeline(Answer):
    """The last batch of streaming; nulls before the first."""

    lag_ms: int | None = Field(
        description="How far events or dead letters are behind, whichever is further.", examples=[240]
    )
    batch_duration_ms: int | None = Field(examples=[130])
    batch_records: int | None = Field(examples=[12])
    last_batch: datetime | None = Field(examples=[TIME])


class RedrivesNow(Answer):
    """Redrives that are not over, and who moves them."""

    running: int = Field(examples=[1])
    paused: int = Field(examples=[0])
    workers: int = Field(description="Workers that were heard lately.", examples=[1])
    warning: str | None = Field(description="Redrives wait and no worker runs.", examples=[None])


class Overview(Answer):
    """One screen: what is dead, late or abandoned now."""

    kafka_cluster: str = Field(examples=["default"])
    at: datetime | None = Field(examples=[TIME])
    dead_letters: DeadLettersNow
    task_timeouts: Count
    delivery_timeouts: DeliveryTimeoutsNow
    client_timeouts: Count
    abandoned_tasks: AbandonedNow
    abandoned_connectors: AbandonedNow
    findings: FindingsNow
    failed: FailedNow
    stalled_tasks: StalledNow
    quarantined: Count
    redrives: RedrivesNow
    sources: Sources
    pipeline: Pipeline


router = APIRouter(tags=["overview"], dependencies=[NoParameters])


@router.get("/overview")
def overview(service: Serving) -> Overview:
    """One screen: what is dead, late or abandoned now."""
    waiting, moment = service.waiting.get(), service.moment
    with service.store.read() as connection:
        totals = _totals(connection)
        groups = count_groups(connection)
        instances = reconcile(evidence_rows(connection))
        found = every_row(connection, schema.findings)
        sources = source_rows(connection)
        stalled_ms = stalled_since_ms(connection, sources, moment)
        redrives = workforce(connection, sources, moment)
        batch = last_batch(connection)
        failures = failed(connection, sources, moment)
    expired = (series.DELIVERY_TIMEOUT_BATCHES, series.DELIVERY_TIMEOUT_RECORDS)
    batches, records = (totals[counter.name] for counter in expired)
    return Overview(
        kafka_cluster=service.settings.kafka_cluster,
        at=instant(moment.now_ms),
        dead_letters=DeadLettersNow(
            **dict(totals[series.DEAD_LETTERS.name]),
            waiting=waiting.total,
            topics=sum(topic.records > 0 for topic in waiting.topics),
            groups=groups,
            lost=totals[series.SHARE_DEAD_LETTERS_LOST.name],
        ),
        task_timeouts=totals[series.TASK_TIMEOUTS.name],
        delivery_timeouts=DeliveryTimeoutsNow(
            batches=batches.total,
            records=records.total,
            last_seen=max(filter(None, (batches.last_seen, records.last_seen)), default=None),
        ),
        client_timeouts=totals[series.CLIENT_TIMEOUTS.name],
        abandoned_tasks=_abandoned([instance for instance in instances if instance.task]),
        abandoned_connectors=_abandoned([instance for instance in instances if not instance.task]),
        findings=FindingsNow(
            current=len(found), newest_since=instant(max((row.first_ms for row in found), default=0))
        ),
        failed=FailedNow(
            tasks=sum(row.task != "" for row in failures),
            connectors=sum(row.task == "" for row in failures),
            latest_since=instant(max((row.state_since_ms for row in failures), default=0)),
        ),
        stalled_tasks=StalledNow(current=len(stalled_ms), longest_since=instant(min(stalled_ms, default=0))),
        quarantined=totals[series.QUARANTINED.name],
        redrives=RedrivesNow(
            running=redrives.orders.get(Status.RUNNING, 0),
            paused=redrives.orders.get(Status.PAUSED, 0),
            workers=redrives.workers,
            warning=redrives.warning or None,
        ),
        sources=Sources(
            total=len(sources),
            down=[_down(row, moment.source_stale_ms) for row in sources if not moment.is_up(row)],
        ),
        pipeline=Pipeline(
            lag_ms=batch and batch.lag_ms,
            batch_duration_ms=batch and batch.duration_ms,
            batch_records=batch and batch.records,
            last_batch=batch and instant(batch.committed_at_ms),
        ),
    )


def _totals(connection: Connection) -> Mapping[str, Count]:
    """The sum of each series, by name."""
    table = schema.series.c
    columns = (table.name, func.sum(table.value), func.max(table.last_ms))
    totals = defaultdict(lambda: Count(total=0, last_seen=None))
    for name, total, last_ms in connection.execute(select(*columns).group_by(table.name)):
        totals[name] = Count(total=int(total), last_seen=instant(last_ms))
    return totals


def _abandoned(instances: Sequence[Abandoned]) -> AbandonedNow:
    return AbandonedNow(
        current=sum(instance.current for instance in instances),
        total=sum(instance.total for instance in instances),
        last_seen=instant(max((instance.last_ms for instance in instances), default=0)),
    )


def _down(row: StoredRow, stale_ms: int) -> Source:
    """A source that is down; one that went silent is down since its last heartbeat."""
    return answer_of(
        Source,
        row,
        message=f"nothing heard for more than {stale_ms} ms" if row.up else row.message,
        down_since=instant(row.heartbeat_ms if row.up else row.since_ms),
        last_heard=instant(row.heartbeat_ms),
    )
