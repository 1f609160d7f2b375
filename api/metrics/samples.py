"""From rows of the store to samples: a reader for each group of metrics that is read whole or not at all."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final

from sqlalchemy import Connection

from api.metrics import catalog
from api.metrics.catalog import Metric
from api.metrics.sample import Sample, exemplar_of
from api.signals import waiting
from api.signals.abandoned import differences, evidence_rows, reconcile
from api.signals.dead_letter_topics import queues
from api.signals.group_choices import Shelf
from api.signals.pipeline import Moment, last_batch, source_rows
from api.signals.redrives import standstill
from api.signals.series import series_rows
from api.signals.tasks import counts, known_now
from api.store import StoredRow, every_row
from deadwatch.contract.events import self_report
from deadwatch.orders.order import Status
from deadwatch.runtime.clock import MS_PER_S
from deadwatch.store import schema
from deadwatch.store.series import Series
from deadwatch.store.write.orders import count_by_status
from deadwatch.store.write.progress import BEHIND, PHASE, RATE, Figures, read_figures

OfMoment = Callable[[Moment], Iterable[Sample]]
"""Makes samples at the moment of a scrape."""
Read = Callable[[Connection], Iterable[Sample] | OfMoment]


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads all samples of these metrics, or what makes them."""

    metrics: tuple[Metric, ...]
    read: Read


READERS: Final[list[Reader]] = []
"""Every metric of the catalogue but those of the api itself belongs to exactly one."""


def _reads(*metrics: Metric) -> Callable[[Read], None]:
    return lambda read: READERS.append(Reader(metrics, read))


@_reads(
    catalog.ABANDONED_TASKS,
    catalog.ABANDONED_TASKS_TOTAL,
    catalog.ABANDONED_CONNECTORS,
    catalog.ABANDONED_CONNECTORS_TOTAL,
    catalog.ABANDONED_DISAGREEMENT,
)
def _abandoned(connection: Connection) -> Iterator[Sample]:
    """Current and total of each instance; current stays at 0 once it has ended."""
    for instance in reconcile(evidence_rows(connection)):
        place = (instance.kafka_cluster, instance.worker, instance.connector)
        labels = (*place, instance.task) if instance.task else place
        current, total = catalog.ABANDONED_CONNECTORS, catalog.ABANDONED_CONNECTORS_TOTAL
        if instance.task:
            current, total = catalog.ABANDONED_TASKS, catalog.ABANDONED_TASKS_TOTAL
        yield Sample(current, labels, instance.current)
        yield Sample(total, labels, instance.total)
        if instance.compared:
            for figure, value in zip(("current", "total"), differences(instance), strict=True):
                yield Sample(catalog.ABANDONED_DISAGREEMENT, (*place, instance.task, figure), value)


@_reads(catalog.CONNECT_TASK_STATE, catalog.CONNECT_CONNECTOR_STATE)
def _instances(connection: Connection) -> OfMoment:
    """The state of every connector and task that REST knows; none where its cluster cannot be asked now."""
    rows, sources = every_row(connection, schema.instances), source_rows(connection)

    def samples(moment: Moment) -> Iterator[Sample]:
        for row in known_now(rows, sources, moment):
            place = (row.kafka_cluster, row.worker, row.connector)
            if row.state and row.task:
                yield Sample(catalog.CONNECT_TASK_STATE, (*place, row.task, row.state), 1)
            elif row.state:
                yield Sample(catalog.CONNECT_CONNECTOR_STATE, (*place, row.state), 1)

    return samples


CONNECT_TASK_TOTALS: Final = {
    "record_failures_total": catalog.CONNECT_RECORD_FAILURES,
    "record_errors_total": catalog.CONNECT_RECORD_ERRORS,
    "records_skipped_total": catalog.CONNECT_RECORDS_SKIPPED,
    "retries_total": catalog.CONNECT_RETRIES,
    "errors_logged_total": catalog.CONNECT_ERRORS_LOGGED,
    "dlq_produce_requests_total": catalog.CONNECT_DLQ_REQUESTS,
    "dlq_produce_failures_total": catalog.CONNECT_DLQ_FAILURES,
}
"""The metric of each total of a Connect task, by its column."""


@_reads(catalog.CONNECT_TASK_STALLED, catalog.CONNECT_LAST_ERROR, *CONNECT_TASK_TOTALS.values())
def _connect_tasks(connection: Connection) -> OfMoment:
    """Errors of every task whose agent has reported them, and whether each task that is judged is stalled.

    Of two Connect clusters that have a task of one name, the one that is stalled shows. No task is judged
    where its cluster cannot be asked now.
    """
    rows, sources = every_row(connection, schema.connect_tasks), source_rows(connection)
    errors = [*_connect_errors(rows)]

    def samples(moment: Moment) -> Iterator[Sample]:
        yield from errors
        stalled: dict[tuple[str, str, str], float] = {}
        for row in known_now(rows, sources, moment):
            if row.judged:
                task = (row.kafka_cluster, row.connector, row.task)
                stalled[task] = max(stalled.get(task, 0), row.stalled_since_ms > 0)
        for task, value in stalled.items():
            yield Sample(catalog.CONNECT_TASK_STALLED, task, value)

    return samples


def _connect_errors(rows: Iterable[StoredRow]) -> Iterator[Sample]:
    for row in rows:
        labels = (row.kafka_cluster, row.worker, row.connector, row.task)
        if row.counted:
            for name, metric in CONNECT_TASK_TOTALS.items():
                yield Sample(metric, labels, getattr(row, name))
        if row.counted and row.last_error_at_ms > 0:
            yield Sample(catalog.CONNECT_LAST_ERROR, labels, row.last_error_at_ms / MS_PER_S)


def _series(metric: Metric, series: Series, connection: Connection) -> Iterator[Sample]:
    for labels, value, *_, detail in series_rows(connection, series):
        yield Sample(metric, labels, value, exemplar_of(detail))


READERS.extend(
    Reader((metric,), partial(_series, metric, metric.series))
    for metric in catalog.ALL
    if metric.series is not None
)


@_reads(catalog.DEAD_LETTER_BACKLOG, catalog.DEAD_LETTER_OLDEST)
def _backlogs(connection: Connection) -> Iterator[Sample]:
    """How many records each dead letter topic holds, since when; one that does not exist has no sample."""
    for place, row in queues(connection).items():
        if row.partitions:
            yield Sample(catalog.DEAD_LETTER_BACKLOG, place, row.records)
        if row.oldest_at_ms:
            yield Sample(catalog.DEAD_LETTER_OLDEST, place, row.oldest_at_ms / MS_PER_S)


@_reads(catalog.DEAD_LETTERS_WAITING)
def _waiting(connection: Connection) -> Iterator[Sample]:
    """What waits on each topic that has had records or exists; archived, where a cause of it is."""
    found = waiting.read(connection)
    for topic in found.topics:
        if not topic.records and not (topic.queue and topic.queue.partitions):
            continue
        active = found.active(topic)
        yield Sample(catalog.DEAD_LETTERS_WAITING, (*topic.place, Shelf.ACTIVE), active)
        if topic.place in found.archived:
            archived = topic.waiting - active
            yield Sample(catalog.DEAD_LETTERS_WAITING, (*topic.place, Shelf.ARCHIVED), archived)


@_reads(catalog.PARKED_BACKLOG)
def _parked(connection: Connection) -> Iterator[Sample]:
    for row in waiting.parked(connection):
        yield Sample(catalog.PARKED_BACKLOG, (row.kafka_cluster, row.dlq_topic), row.waiting)


@_reads(catalog.SHARE_RECORDS, catalog.SHARE_REQUESTS, catalog.SHARE_FAILED_REQUESTS)
def _share_groups(connection: Connection) -> Iterator[Sample]:
    for row in every_row(connection, schema.share_groups):
        labels = (row.kafka_cluster, row.consumergroup, row.broker)
        yield Sample(catalog.SHARE_RECORDS, labels, row.records_total)
        yield Sample(catalog.SHARE_REQUESTS, labels, row.produce_requests_total)
        yield Sample(catalog.SHARE_FAILED_REQUESTS, labels, row.failed_produce_requests_total)


@_reads(catalog.FINDINGS)
def _findings(connection: Connection) -> Iterator[Sample]:
    for row in every_row(connection, schema.findings):
        yield Sample(catalog.FINDINGS, (row.kafka_cluster, row.kind, row.subject), 1)


COLLECTOR_TOTALS: Final = {
    self_report.DEAD_LETTERS: catalog.COLLECTOR_DEAD_LETTERS,
    self_report.PRODUCE_REQUESTS: catalog.COLLECTOR_DEAD_LETTER_REQUESTS,
    self_report.FAILED_PRODUCE_REQUESTS: catalog.COLLECTOR_DEAD_LETTER_FAILED_REQUESTS,
    self_report.LOST: catalog.COLLECTOR_DEAD_LETTERS_LOST,
}
COLLECTOR_ABANDONED: Final = {
    self_report.ABANDONED_TASKS: (catalog.COLLECTOR_ABANDONED_TASKS, catalog.COLLECTOR_ABANDONED_TASKS_TOTAL),
    self_report.ABANDONED_CONNECTORS: (
        catalog.COLLECTOR_ABANDONED_CONNECTORS,
        catalog.COLLECTOR_ABANDONED_CONNECTORS_TOTAL,
    ),
}


@_reads(*COLLECTOR_TOTALS.values(), *chain.from_iterable(COLLECTOR_ABANDONED.values()))
def _collectors(connection: Connection) -> Iterator[Sample]:
    """What collectors count of themselves; a count that only a newer collector has is ignored."""
    for row in every_row(connection, schema.collector_counts):
        labels = (row.kafka_cluster, row.collector)
        if row.name in COLLECTOR_TOTALS:
            yield Sample(COLLECTOR_TOTALS[row.name], labels, row.total)
        elif row.name in COLLECTOR_ABANDONED:
            current, total = COLLECTOR_ABANDONED[row.name]
            yield Sample(current, (*labels, row.subject), row.current)
            yield Sample(total, (*labels, row.subject), row.total)


@_reads(catalog.REDRIVE_JOBS)
def _redrives(connection: Connection) -> Iterator[Sample]:
    """How many orders are in each state; nothing before the first order."""
    if found := count_by_status(connection):
        for status in Status:
            yield Sample(catalog.REDRIVE_JOBS, (status,), found.get(status, 0))


@_reads(catalog.REDRIVE_STUCK)
def _stuck_redrives(connection: Connection) -> OfMoment:
    """How many orders move nothing; nothing before the first order."""
    stuck = standstill(connection)
    return lambda moment: [
        Sample(catalog.REDRIVE_STUCK, (status,), count) for status, count in stuck(moment.now_ms).items()
    ]


@_reads(catalog.PIPELINE_LAG, catalog.BATCH_DURATION)
def _batch(connection: Connection) -> Iterator[Sample]:
    """Lag and duration of the last batch, in seconds; nothing before the first."""
    if batch := last_batch(connection):
        yield Sample(catalog.PIPELINE_LAG, (), batch.lag_ms / MS_PER_S)
        yield Sample(catalog.BATCH_DURATION, (), batch.duration_ms / MS_PER_S)


@_reads(catalog.TASK_TIMERS)
def _timers(connection: Connection) -> OfMoment:
    """How many timers run, for every application that had one lately."""
    rows = every_row(connection, schema.task_timers)
    return lambda moment: [
        Sample(catalog.TASK_TIMERS, labels, count) for labels, count in counts(rows, moment.now_ms).items()
    ]


@_reads(catalog.SOURCE_UP)
def _sources(connection: Connection) -> OfMoment:
    """1 or 0 for every source."""
    rows = source_rows(connection)
    return lambda moment: [Sample(catalog.SOURCE_UP, (row.name, row.kind), moment.is_up(row)) for row in rows]


@_reads(catalog.STREAM_BEHIND, catalog.BATCH_PHASE_DURATION, catalog.STREAM_RATE)
def _streams(connection: Connection) -> Iterator[Sample]:
    return stream_samples(read_figures(connection))


def stream_samples(figures: Figures) -> Iterator[Sample]:
    """What streaming reports of its own queries; nothing before the first batch."""
    for topic, records in figures.get(BEHIND, {}).items():
        yield Sample(catalog.STREAM_BEHIND, (topic,), records)
    for phase, took_ms in figures.get(PHASE, {}).items():
        yield Sample(catalog.BATCH_PHASE_DURATION, (phase,), took_ms / MS_PER_S)
    for rate in figures.get(RATE, {}).values():
        yield Sample(catalog.STREAM_RATE, (), rate)
