"""The figures of Connect's tasks: a metric, its labels' values and a value each."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from api.connect_tasks import ConnectTaskRow
from api.metrics import catalog
from api.metrics.catalog import Metric

Figure = tuple[Metric, tuple[str, ...], float]

ERRORS: Final[Mapping[str, Metric]] = {
    "record_failures_total": catalog.CONNECT_RECORD_FAILURES,
    "record_errors_total": catalog.CONNECT_RECORD_ERRORS,
    "records_skipped_total": catalog.CONNECT_RECORDS_SKIPPED,
    "retries_total": catalog.CONNECT_RETRIES,
    "errors_logged_total": catalog.CONNECT_ERRORS_LOGGED,
    "dlq_produce_requests_total": catalog.CONNECT_DLQ_REQUESTS,
    "dlq_produce_failures_total": catalog.CONNECT_DLQ_FAILURES,
}
"""The metric of each total."""

METRICS: Final = (catalog.CONNECT_TASK_STALLED, catalog.CONNECT_LAST_ERROR, *ERRORS.values())


def figures(rows: Iterable[ConnectTaskRow]) -> Iterator[Figure]:
    """Errors of every task that has ever told them, and whether each that is judged is stalled."""
    stalled: dict[tuple[str, str, str], float] = {}
    for row in rows:
        if row.counted:
            yield from _errors(row)
        if row.judged:  # where two Connect clusters have a task of this name, one that is stalled shows
            name = (row.kafka_cluster, row.connector, row.task)
            stalled[name] = max(stalled.get(name, 0), row.stalled_since_ms > 0)
    for name, value in stalled.items():
        yield catalog.CONNECT_TASK_STALLED, name, value


def _errors(row: ConnectTaskRow) -> Iterator[Figure]:
    labels = (row.kafka_cluster, row.worker, row.connector, row.task)
    for name, metric in ERRORS.items():
        yield metric, labels, getattr(row, name)
    if row.last_error_at_ms > 0:
        yield catalog.CONNECT_LAST_ERROR, labels, row.last_error_at_ms / 1_000
