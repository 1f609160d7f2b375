"""From rows of the store to samples: a reader for each group of metrics that is read whole or not at all."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from sqlalchemy import Connection

from api.metrics import catalog, connect_samples
from api.metrics.catalog import Metric
from api.metrics.sample import MS_PER_S, OfMoment, Reader, Sample, Samples, exemplar_of
from api.signals import waiting
from api.signals.dead_letter_topics import queue_rows, share_group_rows
from api.signals.findings import finding_rows
from api.signals.group_choices import Shelf
from api.signals.pipeline import collector_rows, last_batch, source_rows
from api.signals.redrives import standstill
from api.signals.series import series_rows
from api.signals.tasks import counts, timer_rows
from deadwatch.contract.events import self_report
from deadwatch.orders.order import Status
from deadwatch.store.series import Series
from deadwatch.store.write.orders import count_by_status
from deadwatch.store.write.progress import BEHIND, PHASE, RATE, Figures, read_figures

READERS: Final[list[Reader]] = [*connect_samples.READERS]
"""Every metric of the catalogue but those of the api itself belongs to exactly one."""


def _reads(*metrics: Metric) -> Callable[[Callable[[Connection], Samples]], None]:
    return lambda read: READERS.append(Reader(metrics, read))


def _series_reader(metric: Metric, series: Series) -> Reader:
    def read(connection: Connection) -> Iterator[Sample]:
        for labels, value, *_, detail in series_rows(connection, series):
            yield Sample(metric, labels, value, exemplar_of(detail))

    return Reader((metric,), read)


READERS.extend(_series_reader(metric, metric.series) for metric in catalog.ALL if metric.series is not None)


@_reads(catalog.DEAD_LETTER_BACKLOG, catalog.DEAD_LETTER_OLDEST)
def _backlogs(connection: Connection) -> Iterator[Sample]:
    """How many records each dead letter topic holds, since when; one that does not exist has no sample."""
    for row in queue_rows(connection):
        labels = (row.kafka_cluster, row.dlq_topic)
        if row.partitions:
            yield Sample(catalog.DEAD_LETTER_BACKLOG, labels, row.records)
        if row.oldest_at_ms:
            yield Sample(catalog.DEAD_LETTER_OLDEST, labels, row.oldest_at_ms / MS_PER_S)


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
    for row in share_group_rows(connection):
        labels = (row.kafka_cluster, row.consumergroup, row.broker)
        yield Sample(catalog.SHARE_RECORDS, labels, row.records_total)
        yield Sample(catalog.SHARE_REQUESTS, labels, row.produce_requests_total)
        yield Sample(catalog.SHARE_FAILED_REQUESTS, labels, row.failed_produce_requests_total)


@_reads(catalog.FINDINGS)
def _findings(connection: Connection) -> Iterator[Sample]:
    for row in finding_rows(connection):
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
    for row in collector_rows(connection):
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


def _stuck_redrives(connection: Connection) -> OfMoment:
    """How many orders move nothing; nothing before the first order."""
    found = standstill(connection)
    return lambda moment: [
        Sample(catalog.REDRIVE_STUCK, (status,), count) for status, count in found.at(moment.now_ms).items()
    ]


READERS.append(Reader((catalog.REDRIVE_STUCK,), read_timed=_stuck_redrives))


@_reads(catalog.PIPELINE_LAG, catalog.BATCH_DURATION)
def _batch(connection: Connection) -> Iterator[Sample]:
    """Lag and duration of the last batch, in seconds; nothing before the first."""
    if batch := last_batch(connection):
        yield Sample(catalog.PIPELINE_LAG, (), batch.lag_ms / MS_PER_S)
        yield Sample(catalog.BATCH_DURATION, (), batch.duration_ms / MS_PER_S)


def _timers(connection: Connection) -> OfMoment:
    """How many timers run, for every application that had one lately."""
    rows = timer_rows(connection)
    return lambda moment: [
        Sample(catalog.TASK_TIMERS, labels, count) for labels, count in counts(rows, moment.now_ms).items()
    ]


def _sources(connection: Connection) -> OfMoment:
    """1 or 0 for every source."""
    rows = source_rows(connection)
    return lambda moment: [Sample(catalog.SOURCE_UP, (row.name, row.kind), row.is_up(moment)) for row in rows]


READERS.append(Reader((catalog.TASK_TIMERS,), read_timed=_timers))
READERS.append(Reader((catalog.SOURCE_UP,), read_timed=_sources))


@_reads(catalog.STREAM_BEHIND, catalog.BATCH_PHASE_DURATION, catalog.STREAM_RATE)
def _streams(connection: Connection) -> Samples:
    return stream_samples(read_figures(connection))


def stream_samples(figures: Figures) -> Iterator[Sample]:
    """What streaming reports of its own queries; nothing before the first batch."""
    for topic, records in figures.get(BEHIND, {}).items():
        yield Sample(catalog.STREAM_BEHIND, (topic,), records)
    for phase, took_ms in figures.get(PHASE, {}).items():
        yield Sample(catalog.BATCH_PHASE_DURATION, (phase,), took_ms / MS_PER_S)
    for rate in figures.get(RATE, {}).values():
        yield Sample(catalog.STREAM_RATE, (), rate)
