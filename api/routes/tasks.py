"""Tasks: those of Kafka Streams that timed out or are about to, those that Kafka Connect runs."""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from fastapi import APIRouter

from api import cursor
from api.cursor import Key
from api.rows import InstanceRow, SeriesRow, instance_rows, series_rows
from api.schemas import ConnectInstance, Tasks, TaskTimeouts, TaskTimer
from api.service import Paging, Serving
from api.task_timers import TimerRow, running, timer_rows
from api.times import instant
from streaming.store.series import TASK_TIMEOUTS

router = APIRouter(tags=["tasks"])

BEGIN: Final = ""
ENDED: Final = "."
"""In place of a cursor."""

R = TypeVar("R")


@router.get("/tasks")
def tasks(service: Serving, query: Paging) -> Tasks:
    """Timeouts of Streams tasks, the latest first, their running timers, and every Connect instance.

    A page has up to `limit` rows of each of the three lists.
    """
    now_ms = service.now_ms()
    begins = _begins(query.after)
    with service.store.read() as connection:
        timeouts = series_rows(connection, TASK_TIMEOUTS)
        timers = running(timer_rows(connection), now_ms)
        instances = instance_rows(connection)
    told, of_timeouts = _part(timeouts, _timeouts_key, begins[0], query.limit, numbers=1, names=3)
    runs, of_timers = _part(timers, _timer_key, begins[1], query.limit, numbers=1, names=4)
    connects, of_instances = _part(instances, _instance_key, begins[2], query.limit, numbers=0, names=4)
    following = (of_timeouts, of_timers, of_instances)
    return Tasks(
        task_timeouts=[_timeouts(row) for row in told],
        timers=[_timer(row, now_ms) for row in runs],
        connect=[_instance(row) for row in connects],
        next=None if following == (ENDED, ENDED, ENDED) else cursor.encode(following),
    )


def _begins(after: str | None) -> Key:
    """Where each list goes on: its own cursor."""
    return (BEGIN, BEGIN, BEGIN) if after is None else cursor.decode(after, names=3, numbers=0)


def _part(
    rows: Iterable[R], key: Callable[[R], Key], after: int | str, limit: int, *, numbers: int, names: int
) -> tuple[list[R], str]:
    """As ``cursor.page``, of a list that may have ended before."""
    if after == ENDED:
        return [], ENDED
    page, following = cursor.page(
        rows, key, None if after == BEGIN else str(after), limit, numbers=numbers, names=names
    )
    return page, ENDED if following is None else following


def _timeouts_key(row: SeriesRow) -> Key:
    labels = row.labels
    return -row.last_ms, labels["kafka_cluster"], labels["application"], labels["task"]


def _timer_key(row: TimerRow) -> Key:
    return row.since_ms, row.kafka_cluster, row.streams_client, row.task, row.thread


def _instance_key(row: InstanceRow) -> Key:
    return row.kafka_cluster, row.worker, row.connector, row.task


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
