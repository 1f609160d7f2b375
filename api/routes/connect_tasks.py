"""Connect's tasks: errors by their beans, and which are stalled while RUNNING."""

from fastapi import APIRouter

from api import cursor
from api.connect_tasks import ConnectTaskRow, connect_task_rows
from api.cursor import Key
from api.schemas import ConnectTask, ConnectTaskErrors, ConnectTasks
from api.service import Paging, Serving
from api.times import instant

router = APIRouter(tags=["tasks"])


@router.get("/connect/tasks")
def connect_tasks(service: Serving, query: Paging) -> ConnectTasks:
    """Every task of Connect; those stalled for longest come first, then the latest errors."""
    with service.store.read() as connection:
        rows = connect_task_rows(connection)
    page, following = cursor.page(rows, _urgency, query.after, query.limit, numbers=3, names=4)
    return ConnectTasks(items=[_task(row) for row in page], next=following)


def _urgency(row: ConnectTaskRow) -> Key:
    since_ms, place = row.stalled_since_ms, (row.kafka_cluster, row.worker, row.connector, row.task)
    return (int(not since_ms), since_ms, -row.last_error_at_ms, *place)


def _task(row: ConnectTaskRow) -> ConnectTask:
    return ConnectTask(
        kafka_cluster=row.kafka_cluster,
        connect_cluster=row.connect_cluster,
        worker=row.worker,
        connector=row.connector,
        task=row.task,
        state=row.state,
        stalled=bool(row.stalled_since_ms) if row.judged else None,
        stalled_since=instant(row.stalled_since_ms),
        stalled_because=row.stalled_because,
        errors=_errors(row) if row.counted else None,
        observed_at=instant(row.observed_at_ms),
    )


def _errors(row: ConnectTaskRow) -> ConnectTaskErrors:
    return ConnectTaskErrors(
        record_failures=row.record_failures_total,
        record_errors=row.record_errors_total,
        records_skipped=row.records_skipped_total,
        retries=row.retries_total,
        errors_logged=row.errors_logged_total,
        dlq_produce_requests=row.dlq_produce_requests_total,
        dlq_produce_failures=row.dlq_produce_failures_total,
        last_error=instant(row.last_error_at_ms),
    )
