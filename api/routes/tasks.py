"""Tasks: those of Kafka Streams that timed out or are about to, those that Kafka Connect runs."""

from fastapi import APIRouter, Depends

from api.rows import InstanceRow, SeriesRow, instance_rows, series_rows
from api.schemas import ConnectInstance, Tasks, TaskTimeouts, TaskTimer
from api.service import Serving, no_parameters
from api.task_timers import TimerRow, running, timer_rows
from api.times import instant
from streaming.store.series import TASK_TIMEOUTS

router = APIRouter(tags=["tasks"], dependencies=[Depends(no_parameters)])


@router.get("/tasks")
def tasks(service: Serving) -> Tasks:
    """Timeouts of Streams tasks, the latest first, their running timers, and every Connect instance."""
    now_ms = service.now_ms()
    with service.store.read() as connection:
        timeouts = series_rows(connection, TASK_TIMEOUTS)
        timers = running(timer_rows(connection), now_ms)
        instances = instance_rows(connection)
    latest_first = sorted(timeouts, key=lambda row: row.last_ms, reverse=True)
    return Tasks(
        task_timeouts=[_timeouts(row) for row in latest_first],
        timers=[_timer(row, now_ms) for row in timers],
        connect=[_instance(row) for row in instances],
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


def _timer(row: TimerRow, now_ms: int) -> TaskTimer:
    return TaskTimer(
        kafka_cluster=row.kafka_cluster,
        application=row.application,
        streams_client=row.streams_client,
        thread=row.said_by,
        task=row.task or None,
        call=row.call,
        since=instant(row.since_ms),
        last_heard=instant(row.heard_ms),
        remaining_ms=max(0, row.deadline_ms - now_ms) if row.deadline_ms else None,
        message=row.message,
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
