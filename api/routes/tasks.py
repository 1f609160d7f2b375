"""Tasks: those of Kafka Streams that timed out, those that Kafka Connect runs."""

from fastapi import APIRouter, Depends

from api.rows import InstanceRow, SeriesRow, instance_rows, series_rows
from api.schemas import ConnectInstance, Tasks, TaskTimeouts
from api.service import Serving, no_parameters
from api.times import instant
from streaming.store.series import TASK_TIMEOUTS

router = APIRouter(tags=["tasks"], dependencies=[Depends(no_parameters)])


@router.get("/tasks")
def tasks(service: Serving) -> Tasks:
    """Timeouts of Streams tasks, the latest first, and the state of every Connect instance."""
    with service.store.read() as connection:
        timeouts = series_rows(connection, TASK_TIMEOUTS)
        instances = instance_rows(connection)
    latest_first = sorted(timeouts, key=lambda row: row.last_ms, reverse=True)
    return Tasks(
        task_timeouts=[_timeouts(row) for row in latest_first], connect=[_instance(row) for row in instances]
    )


def _timeouts(row: SeriesRow) -> TaskTimeouts:
    return TaskTimeouts(
        kafka_cluster=row.labels["kafka_cluster"],
        application=row.labels["application"],
        task=row.labels["task"],
        timeouts=row.value,
        elapsed_ms=row.fact("elapsed_ms", int),
        message=row.fact("message", str) or "",
        first_seen=instant(row.first_ms),
        last_seen=instant(row.last_ms),
    )


def _instance(row: InstanceRow) -> ConnectInstance:
    return ConnectInstance(
        kafka_cluster=row.kafka_cluster,
        worker=row.worker,
        connector=row.connector,
        task=row.task or None,
        state=row.state,
        abandoned=row.abandoned,
        observed_at=instant(row.observed_at_ms),
    )
