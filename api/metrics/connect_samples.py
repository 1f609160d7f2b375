"""Samples of Kafka Connect: abandoned connectors and tasks, states, errors of tasks, and stalled ones."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from sqlalchemy import Connection

from api.metrics import catalog
from api.metrics.catalog import Metric
from api.metrics.sample import MS_PER_S, OfMoment, Reader, Sample, Samples
from api.signals.abandoned import differences, evidence_rows, reconcile
from api.signals.pipeline import Moment, source_rows
from api.signals.tasks import ConnectTaskRow, connect_task_rows, instance_rows, known_now


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


def _instances(connection: Connection) -> OfMoment:
    """The state of every connector and task that REST knows; none where its cluster cannot be asked now."""
    rows, sources = instance_rows(connection), source_rows(connection)

    def samples(moment: Moment) -> Iterator[Sample]:
        for row in known_now(rows, sources, moment):
            place = (row.kafka_cluster, row.worker, row.connector)
            if row.state and row.task:
                yield Sample(catalog.CONNECT_TASK_STATE, (*place, row.task, row.state), 1)
            elif row.state:
                yield Sample(catalog.CONNECT_CONNECTOR_STATE, (*place, row.state), 1)

    return samples


CONNECT_TASK_TOTALS: Final[Mapping[str, Metric]] = {
    "record_failures_total": catalog.CONNECT_RECORD_FAILURES,
    "record_errors_total": catalog.CONNECT_RECORD_ERRORS,
    "records_skipped_total": catalog.CONNECT_RECORDS_SKIPPED,
    "retries_total": catalog.CONNECT_RETRIES,
    "errors_logged_total": catalog.CONNECT_ERRORS_LOGGED,
    "dlq_produce_requests_total": catalog.CONNECT_DLQ_REQUESTS,
    "dlq_produce_failures_total": catalog.CONNECT_DLQ_FAILURES,
}
"""The metric of each total of a Connect task, by its column."""


def _stalled(connection: Connection) -> OfMoment:
    """Whether each task is stalled; none where its cluster cannot be asked now."""
    rows, sources = connect_task_rows(connection), source_rows(connection)
    return lambda moment: stalled_samples(known_now(rows, sources, moment))


def stalled_samples(rows: Iterable[ConnectTaskRow]) -> Iterator[Sample]:
    """Whether each task that is judged is stalled; of two Connect clusters that have a task of one name, the
    one that is stalled shows.
    """
    stalled: dict[tuple[str, str, str], float] = {}
    for row in rows:
        if row.judged:
            task = (row.kafka_cluster, row.connector, row.task)
            stalled[task] = max(stalled.get(task, 0), row.stalled_since_ms > 0)
    for task, value in stalled.items():
        yield Sample(catalog.CONNECT_TASK_STALLED, task, value)


def _connect_tasks(connection: Connection) -> Samples:
    return connect_task_samples(connect_task_rows(connection))


def connect_task_samples(rows: Iterable[ConnectTaskRow]) -> Iterator[Sample]:
    """Errors of every task whose agent has reported them."""
    for row in rows:
        labels = (row.kafka_cluster, row.worker, row.connector, row.task)
        if row.counted:
            for name, metric in CONNECT_TASK_TOTALS.items():
                yield Sample(metric, labels, getattr(row, name))
        if row.counted and row.last_error_at_ms > 0:
            yield Sample(catalog.CONNECT_LAST_ERROR, labels, row.last_error_at_ms / MS_PER_S)


READERS: Final = (
    Reader(
        (
            catalog.ABANDONED_TASKS,
            catalog.ABANDONED_TASKS_TOTAL,
            catalog.ABANDONED_CONNECTORS,
            catalog.ABANDONED_CONNECTORS_TOTAL,
            catalog.ABANDONED_DISAGREEMENT,
        ),
        _abandoned,
    ),
    Reader((catalog.CONNECT_TASK_STATE, catalog.CONNECT_CONNECTOR_STATE), read_timed=_instances),
    Reader((catalog.CONNECT_TASK_STALLED,), read_timed=_stalled),
    Reader((catalog.CONNECT_LAST_ERROR, *CONNECT_TASK_TOTALS.values()), _connect_tasks),
)
