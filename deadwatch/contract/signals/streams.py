"""What Kafka Streams logs: tasks without progress (KIP-572), threads that died, tasks restored."""

from dataclasses import dataclass
from typing import ClassVar, Final

from deadwatch.contract.signals.signal import Alert, Event, Severity, Signal

_BOARD: Final = "deadwatch-task-timeouts"
_PAGE: Final = "/api/v1/tasks"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTimeout(Event):
    """A Streams task made no progress within ``task.timeout.ms`` (KIP-572); ``elapsed_ms`` as logged."""

    kind: ClassVar[str] = "task_timeout"
    application: str
    task: str
    elapsed_ms: int
    message: str


TASK_TIMEOUTS: Final = Signal(
    series="task_timeouts",
    metric="deadwatch_task_timeouts_total",
    event=TaskTimeout,
    labels=("application", "task"),
    help="Times a Kafka Streams task made no progress within task.timeout.ms. 0: every task made progress in "
    "time. More: each ends a stream thread; look at the brokers the task depends on, then at "
    "task.timeout.ms.",
    board=_BOARD,
    title="Task timeouts",
    text="Tasks without progress within task.timeout.ms, in the chosen time.",
    page=_PAGE,
    alert=Alert(
        "DeadwatchTaskTimeouts",
        Severity.CRITICAL,
        ("application",),
        "{count} tasks of {application} timed out",
        "Tasks of this Streams application on cluster {kafka_cluster} made no progress within "
        "task.timeout.ms; each ends a stream thread. Look at the brokers the tasks depend on.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamThreadDied(Event):
    """``decision`` is its handler's: REPLACE_THREAD, SHUTDOWN_CLIENT or SHUTDOWN_APPLICATION."""

    kind: ClassVar[str] = "stream_thread_died"
    application: str
    streams_client: str
    thread: str
    decision: str
    message: str


STREAM_THREAD_DEATHS: Final = Signal(
    series="stream_thread_deaths",
    metric="deadwatch_stream_thread_deaths_total",
    event=StreamThreadDied,
    labels=("application", "decision"),
    help="Kafka Streams threads that an exception ended, by what the handler decided. 0: none. More: "
    "REPLACE_THREAD goes on with a new one, SHUTDOWN_CLIENT and SHUTDOWN_APPLICATION need a restart.",
    board=_BOARD,
    title="Stream threads died",
    text="Threads that an exception ended in the chosen time; unless they were replaced, work stands still.",
    page=_PAGE,
    alert=Alert(
        "DeadwatchStreamThreadDied",
        Severity.CRITICAL,
        ("application", "decision"),
        "{count} stream threads of {application} died: {decision}",
        "An exception ended them on cluster {kafka_cluster}. After REPLACE_THREAD a new one "
        "works on; after SHUTDOWN_CLIENT or SHUTDOWN_APPLICATION nothing does until somebody restarts it.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCorrupted(Event):
    """A Streams task is closed as dirty and restored from scratch: what a stall is under exactly-once."""

    kind: ClassVar[str] = "task_corrupted"
    application: str
    streams_client: str
    thread: str
    task: str
    message: str


TASKS_CORRUPTED: Final = Signal(
    series="tasks_corrupted",
    metric="deadwatch_tasks_corrupted_total",
    event=TaskCorrupted,
    labels=("application", "task"),
    help="Times a Kafka Streams task was closed as dirty to be restored from scratch: under exactly-once, "
    "what a stall is. 0: none. More: work is repeated; look for timeouts of its producer and at its "
    "brokers.",
    board=_BOARD,
    title="Tasks corrupted",
    text="Tasks closed as dirty and restored from scratch in the chosen time: the stall under exactly-once.",
    page=_PAGE,
    odd=True,
)
