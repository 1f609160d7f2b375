"""From rows of the store to samples: one pure function a signal, and which metrics each of them completes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final, Generic, NamedTuple, TypeVar

from sqlalchemy import Connection

from api.abandoned import Abandoned, differences, evidence_rows, reconcile
from api.brokers import QueueRow, ShareGroupRow, queue_rows, share_group_rows
from api.collectors import CollectorRow, collector_rows
from api.connect_tasks import connect_task_rows
from api.findings import FindingRow, finding_rows
from api.metrics import catalog, connect_tasks, stream
from api.metrics.catalog import Metric
from api.metrics.exemplars import Exemplar, exemplar_of
from api.rows import BatchRow, InstanceRow, instance_rows, last_batch, series_values
from api.sources import SourceRow, source_rows
from api.task_timers import TimerRow, counts, timer_rows
from api.waiting import Parked, parked
from collector.contract import conduct
from streaming.redrive.order import Status
from streaming.store import stream_figures
from streaming.store.orders import count_by_status
from streaming.store.series import Series


class Sample(NamedTuple):
    """A value of a metric; label values in the order of the metric's labels."""

    metric: Metric
    labels: tuple[str, ...]
    value: float
    exemplar: Exemplar | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """When a scrape happens, and after which silence a source counts as down."""

    now_ms: int
    source_stale_ms: int


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reader(Generic[T]):
    """A reading that completes these metrics: all of their samples or none."""

    metrics: tuple[Metric, ...]
    read: Callable[[Connection], T]


def of_series(metric: Metric, rows: Iterable[tuple[tuple[str, ...], int, str]]) -> list[Sample]:
    """A sample a row."""
    return [Sample(metric, labels, value, exemplar_of(detail)) for labels, value, detail in rows]


def of_abandoned(instances: Iterable[Abandoned]) -> list[Sample]:
    """Current and total of each; current stays at 0 once it is over."""
    samples = []
    for instance in instances:
        labels: tuple[str, ...] = (instance.kafka_cluster, instance.worker, instance.connector)
        current, total = catalog.ABANDONED_CONNECTORS, catalog.ABANDONED_CONNECTORS_TOTAL
        if instance.task:
            labels += (instance.task,)
            current, total = catalog.ABANDONED_TASKS, catalog.ABANDONED_TASKS_TOTAL
        samples += [Sample(current, labels, instance.current), Sample(total, labels, instance.total)]
        samples += _disagreements(instance) if instance.compared else ()
    return samples


def _disagreements(instance: Abandoned) -> list[Sample]:
    labels = (instance.kafka_cluster, instance.worker, instance.connector, instance.task)
    return [
        Sample(catalog.ABANDONED_DISAGREEMENT, (*labels, figure), value)
        for figure, value in zip(("current", "total"), differences(instance), strict=True)
    ]


def of_instances(instances: Iterable[InstanceRow]) -> list[Sample]:
    """The state of every task that REST knows."""
    return [
        Sample(
            catalog.CONNECT_TASK_STATE,
            (row.kafka_cluster, row.worker, row.connector, row.task, row.state),
            1,
        )
        for row in instances
        if row.task and row.state
    ]


def of_backlogs(topics: Iterable[QueueRow]) -> list[Sample]:
    """What each dead letter topic holds, and since when; a topic that does not exist has neither."""
    samples = []
    for row in topics:
        labels = (row.kafka_cluster, row.dlq_topic)
        if row.partitions:
            samples.append(Sample(catalog.DEAD_LETTER_BACKLOG, labels, row.records))
        if row.oldest_at_ms:
            samples.append(Sample(catalog.DEAD_LETTER_OLDEST, labels, row.oldest_at_ms / 1_000))
    return samples


def of_parked(topics: Iterable[Parked]) -> list[Sample]:
    """What waits on each topic of parked records."""
    return [Sample(catalog.PARKED_BACKLOG, (one.kafka_cluster, one.dlq_topic), one.waiting) for one in topics]


def of_share_groups(groups: Iterable[ShareGroupRow]) -> list[Sample]:
    """The meters of every group and broker, as totals."""
    return [
        Sample(metric, (row.kafka_cluster, row.consumergroup, row.broker), value)
        for row in groups
        for metric, value in (
            (catalog.SHARE_RECORDS, row.records_total),
            (catalog.SHARE_REQUESTS, row.produce_requests_total),
            (catalog.SHARE_FAILED_REQUESTS, row.failed_produce_requests_total),
        )
    ]


def of_findings(findings: Iterable[FindingRow]) -> list[Sample]:
    """1 for every finding that holds."""
    return [Sample(catalog.FINDINGS, (row.kafka_cluster, row.kind, row.subject), 1) for row in findings]


def of_timers(timers: Iterable[TimerRow], moment: Moment) -> list[Sample]:
    """How many run, for every application that had one lately."""
    return [
        Sample(catalog.TASK_TIMERS, labels, count) for labels, count in counts(timers, moment.now_ms).items()
    ]


COLLECTOR_TOTALS: Final = {
    conduct.DEAD_LETTERS: catalog.COLLECTOR_DEAD_LETTERS,
    conduct.PRODUCE_REQUESTS: catalog.COLLECTOR_DEAD_LETTER_REQUESTS,
    conduct.FAILED_PRODUCE_REQUESTS: catalog.COLLECTOR_DEAD_LETTER_FAILED_REQUESTS,
    conduct.LOST: catalog.COLLECTOR_DEAD_LETTERS_LOST,
}
COLLECTOR_ABANDONED: Final = {
    conduct.ABANDONED_TASKS: (catalog.COLLECTOR_ABANDONED_TASKS, catalog.COLLECTOR_ABANDONED_TASKS_TOTAL),
    conduct.ABANDONED_CONNECTORS: (
        catalog.COLLECTOR_ABANDONED_CONNECTORS,
        catalog.COLLECTOR_ABANDONED_CONNECTORS_TOTAL,
    ),
}


def of_collectors(rows: Iterable[CollectorRow]) -> list[Sample]:
    """What collectors count of themselves; a count of a newer collector is passed over."""
    samples = []
    for row in rows:
        labels = (row.kafka_cluster, row.collector)
        if row.name in COLLECTOR_TOTALS:
            samples.append(Sample(COLLECTOR_TOTALS[row.name], labels, row.total))
        elif row.name in COLLECTOR_ABANDONED:
            current, total = COLLECTOR_ABANDONED[row.name]
            samples.append(Sample(current, (*labels, row.subject), row.current))
            samples.append(Sample(total, (*labels, row.subject), row.total))
    return samples


def of_sources(sources: Iterable[SourceRow], moment: Moment) -> list[Sample]:
    """1 or 0 for every source."""
    return [
        Sample(catalog.SOURCE_UP, (row.name, row.kind), row.is_up(moment.now_ms, moment.source_stale_ms))
        for row in sources
    ]


def of_batch(batch: BatchRow | None) -> list[Sample]:
    """Lag and duration of the last batch, in seconds; nothing before the first."""
    if batch is None:
        return []
    return [
        Sample(catalog.PIPELINE_LAG, (), batch.lag_ms / 1_000),
        Sample(catalog.BATCH_DURATION, (), batch.duration_ms / 1_000),
    ]


def of_redrives(counts: Mapping[Status, int]) -> list[Sample]:
    """How many orders are in each state; nothing before the first order."""
    if not counts:
        return []
    return [Sample(catalog.REDRIVE_JOBS, (status,), counts.get(status, 0)) for status in Status]


def _series_reader(metric: Metric, series: Series) -> Reader[list[Sample]]:
    return Reader((metric,), lambda connection: of_series(metric, series_values(connection, series)))


READERS: Final[tuple[Reader[list[Sample]], ...]] = (
    *(_series_reader(metric, metric.series) for metric in catalog.ALL if metric.series is not None),
    Reader(
        (
            catalog.ABANDONED_TASKS,
            catalog.ABANDONED_TASKS_TOTAL,
            catalog.ABANDONED_CONNECTORS,
            catalog.ABANDONED_CONNECTORS_TOTAL,
            catalog.ABANDONED_DISAGREEMENT,
        ),
        lambda connection: of_abandoned(reconcile(evidence_rows(connection))),
    ),
    Reader(
        (catalog.DEAD_LETTER_BACKLOG, catalog.DEAD_LETTER_OLDEST),
        lambda connection: of_backlogs(queue_rows(connection)),
    ),
    Reader((catalog.PARKED_BACKLOG,), lambda connection: of_parked(parked(connection))),
    Reader(
        (catalog.SHARE_RECORDS, catalog.SHARE_REQUESTS, catalog.SHARE_FAILED_REQUESTS),
        lambda connection: of_share_groups(share_group_rows(connection)),
    ),
    Reader((catalog.FINDINGS,), lambda connection: of_findings(finding_rows(connection))),
    Reader(
        connect_tasks.METRICS,
        lambda connection: [
            Sample(*figure) for figure in connect_tasks.figures(connect_task_rows(connection))
        ],
    ),
    Reader(
        (*COLLECTOR_TOTALS.values(), *chain.from_iterable(COLLECTOR_ABANDONED.values())),
        lambda connection: of_collectors(collector_rows(connection)),
    ),
    Reader((catalog.CONNECT_TASK_STATE,), lambda connection: of_instances(instance_rows(connection))),
    Reader(
        stream.METRICS,
        lambda connection: [Sample(*figure) for figure in stream.figures(stream_figures.read(connection))],
    ),
    Reader((catalog.REDRIVE_JOBS,), lambda connection: of_redrives(count_by_status(connection))),
    Reader(
        (catalog.PIPELINE_LAG, catalog.BATCH_DURATION), lambda connection: of_batch(last_batch(connection))
    ),
)

TIMED_READERS: Final[tuple[Reader[Callable[[Moment], list[Sample]]], ...]] = (
    Reader((catalog.TASK_TIMERS,), lambda connection: partial(of_timers, timer_rows(connection))),
    Reader((catalog.SOURCE_UP,), lambda connection: partial(of_sources, source_rows(connection))),
)
"""What the same rows say depends on when they are asked."""
