"""Tasks of Kafka Streams and of Kafka Connect: timeouts, running timers, errors, states, stalled ones.

A Streams thread that named no task counts as one timer, unless a timer of a task that it named runs: that is
the same one.
"""

from collections.abc import Iterable
from datetime import datetime

from pydantic import Field
from sqlalchemy import Connection

from api.answers import NEXT, TIME, Answer, Page, answer_of, instant
from api.cursor import Key
from api.signals.pipeline import Moment
from api.store import StoredRow, every_row
from deadwatch.contract.events import DEAD
from deadwatch.store import schema
from deadwatch.store.write.restarts import NO_STATE
from deadwatch.store.write.task_timers import SILENT_MS


def running(rows: Iterable[StoredRow], now_ms: int) -> list[StoredRow]:
    """The timers that run, the oldest first: neither ended nor silent for so long that they must have."""
    run = [row for row in rows if row.running and now_ms - row.heard_ms <= SILENT_MS]
    named = {(row.kafka_cluster, row.said_by) for row in run if row.task}
    shown = [row for row in run if row.task or (row.kafka_cluster, row.said_by) not in named]
    return sorted(shown, key=lambda row: (row.since_ms, row.streams_client, row.task))


def counts(rows: Iterable[StoredRow], now_ms: int) -> dict[tuple[str, str], int]:
    """How many timers run, by cluster and application; 0 where all timers of an application have ended."""
    known = list(rows)
    numbers = dict.fromkeys(sorted((row.kafka_cluster, row.application) for row in known), 0)
    for row in running(known, now_ms):
        numbers[row.kafka_cluster, row.application] += 1
    return numbers


def known_now(rows: Iterable[StoredRow], sources: Iterable[StoredRow], moment: Moment) -> list[StoredRow]:
    """The rows as they are known now: without their state, and whether they stall, where a source is down."""
    silent = {source.name for source in sources if not moment.is_up(source)}
    return [
        row._replace(**{name: NO_STATE[name] for name in NO_STATE.keys() & row._fields})
        if row.source in silent
        else row
        for row in rows
    ]


def failed(connection: Connection, sources: Iterable[StoredRow], moment: Moment) -> list[StoredRow]:
    """Instances that are FAILED or have lost their thread, as far as is known now, the latest first."""
    dead = every_row(connection, schema.instances, schema.instances.c.state.in_(DEAD))
    found = [row for row in known_now(dead, sources, moment) if row.state]
    return sorted(found, key=lambda row: (-row.state_since_ms, *instance_key(row)))


def stalled_since_ms(connection: Connection, sources: Iterable[StoredRow], moment: Moment) -> list[int]:
    """Since when each task of Connect stalls, as far as is known now."""
    stalled = every_row(connection, schema.connect_tasks, schema.connect_tasks.c.stalled_since_ms > 0)
    return [row.stalled_since_ms for row in known_now(stalled, sources, moment) if row.stalled_since_ms]


class TaskTimeouts(Answer):
    """The timeouts of a Streams task; elapsed time and message are the latest one's."""

    kafka_cluster: str = Field(examples=["default"])
    application: str = Field(examples=["wordcount"])
    task: str = Field(examples=["0_1"])
    timeouts: int = Field(examples=[1])
    elapsed_ms: int | None = Field(examples=[4006])
    message: str = Field(examples=["Task 0_1 did not make progress within 4006 ms."])
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class TaskTimer(Answer):
    """A timer of ``task.timeout.ms`` that runs: a call of the task timed out, and it has not moved since."""

    kafka_cluster: str = Field(examples=["default"])
    application: str = Field(examples=["wordcount"])
    streams_client: str = Field(examples=["wordcount-6f1c"])
    thread: str = Field(examples=["wordcount-6f1c-StreamThread-1"])
    task: str | None = Field(description="Null: the log names the thread alone.", examples=["0_1"])
    call: str = Field(description="The call that timed out first; empty: not known.", examples=["commit"])
    since: datetime | None = Field(examples=[TIME])
    last_heard: datetime | None = Field(examples=[TIME])
    remaining_ms: int | None = Field(
        description="Until it expires; null unless Streams logs at DEBUG.", examples=[2995]
    )
    message: str = Field(examples=["Committing task(s) 0_1 failed."])


class ConnectInstance(Answer):
    """A connector (``task`` null) or task, as the latest snapshot of its worker showed it."""

    kafka_cluster: str = Field(examples=["default"])
    worker: str = Field(examples=["127.0.0.1:8083"])
    connector: str = Field(examples=["pipe"])
    task: str | None = Field(examples=["0"])
    state: str = Field(
        description="As Connect's REST API says; RUNNING_WITHOUT_THREAD: it says RUNNING, and no thread of "
        "the worker runs it; empty: it does not know it, or cannot be asked now.",
        examples=["RUNNING"],
    )
    state_since: datetime | None = Field(
        description="When it was first seen in this state; null: that is not known.", examples=[TIME]
    )
    trace: str = Field(description="Why it is FAILED: the error and its first cause.", examples=[""])
    abandoned: int = Field(description="Abandoned threads that still run.", examples=[1])
    observed_at: datetime | None = Field(examples=[TIME])


class Tasks(Answer):
    """Tasks of Kafka Streams that timed out, latest first, those whose timer runs, oldest first, and
    everything that Connect runs, what is dead first; of each list the next part.
    """

    task_timeouts: list[TaskTimeouts]
    timers: list[TaskTimer]
    connect: list[ConnectInstance]
    next: str | None = NEXT


class ConnectTaskErrors(Answer):
    """What the bean ``task-error-metrics`` counted, added up over restarts."""

    record_failures: int = Field(examples=[10])
    record_errors: int = Field(examples=[10])
    records_skipped: int = Field(examples=[10])
    retries: int = Field(examples=[0])
    errors_logged: int = Field(examples=[10])
    dlq_produce_requests: int = Field(examples=[10])
    dlq_produce_failures: int = Field(examples=[0])
    last_error: datetime | None = Field(examples=[TIME])


class ConnectTask(Answer):
    """A task of Connect on one worker."""

    kafka_cluster: str = Field(examples=["default"])
    connect_cluster: str = Field(
        description="The cluster's `name` in the settings, or its URL.", examples=["http://127.0.0.1:8083"]
    )
    worker: str = Field(examples=["127.0.0.1:8083"])
    connector: str = Field(examples=["filesink"])
    task: str = Field(examples=["0"])
    state: str = Field(
        description="As Connect's REST API says; empty: it no longer runs there, or cannot be asked now.",
        examples=["RUNNING"],
    )
    stalled: bool | None = Field(
        description="Records wait and nothing moves; null: that cannot be known.", examples=[False]
    )
    stalled_since: datetime | None = Field(examples=[None])
    stalled_because: str = Field(description="What was seen.", examples=[""])
    errors: ConnectTaskErrors | None = Field(description="Null: its worker's agent has never reported them.")
    observed_at: datetime | None = Field(examples=[TIME])


class ConnectTasks(Page[ConnectTask]):
    """Those stalled for longest first, then the latest errors."""


def timer_key(row: StoredRow) -> Key:
    """Its place in the list of timers: the oldest first."""
    return row.since_ms, row.kafka_cluster, row.streams_client, row.task, row.thread


def instance_key(row: StoredRow) -> Key:
    """Its place in the list of what Connect runs: what is dead first."""
    return int(row.state not in DEAD), row.kafka_cluster, row.worker, row.connector, row.task


def timer_answer(row: StoredRow, now_ms: int) -> TaskTimer:
    """The timer as the api answers it."""
    return answer_of(
        TaskTimer,
        row,
        thread=row.said_by,
        last_heard=instant(row.heard_ms),
        remaining_ms=max(0, row.deadline_ms - now_ms) if row.deadline_ms else None,
    )


def connect_task_key(row: StoredRow) -> Key:
    """Its place in the list: those stalled for longest first, then the latest errors."""
    since_ms, place = row.stalled_since_ms, (row.kafka_cluster, row.worker, row.connector, row.task)
    return (int(not since_ms), since_ms, -row.last_error_at_ms, *place)


def connect_task_answer(row: StoredRow) -> ConnectTask:
    """The task as the api answers it."""
    return answer_of(
        ConnectTask,
        row,
        stalled=bool(row.stalled_since_ms) if row.judged else None,
        errors=_errors(row) if row.counted else None,
    )


def _errors(row: StoredRow) -> ConnectTaskErrors:
    totals = ConnectTaskErrors.model_fields.keys() - {"last_error"}
    counts = {name: getattr(row, f"{name}_total") for name in totals}
    return ConnectTaskErrors(**counts, last_error=instant(row.last_error_at_ms))
