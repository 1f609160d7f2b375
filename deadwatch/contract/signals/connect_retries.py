"""Tasks of Connect whose system fails in ways that pass: the task stays RUNNING and tries again, for ever."""

from dataclasses import dataclass
from typing import ClassVar, Final

from deadwatch.contract.signals.signal import Alert, Event, Severity, Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRetriableException(Event):
    """A source's ``poll`` or a sink's ``put`` threw a RetriableException; Connect calls it again."""

    kind: ClassVar[str] = "task_retriable_exception"
    worker: str
    connector: str
    task: str
    message: str


TASK_RETRIABLE_EXCEPTIONS: Final = Signal(
    series="task_retriable_exceptions",
    metric="deadwatch_connect_task_retriable_exceptions_total",
    event=TaskRetriableException,
    labels=("connector", "task"),
    help="Times a Connect task could not reach its system and was called again (RetriableException). 0: "
    "none. More and more: REST says RUNNING and nothing moves; look at the system it reads or writes.",
    board="deadwatch-abandoned",
    title="Retriable exceptions",
    text="Times a task could not reach its system and was called again, in the chosen time.",
    page="/api/v1/connect/tasks",
    odd=True,
    alert=Alert(
        "DeadwatchTaskRetries",
        Severity.WARNING,
        ("connector", "task"),
        "Task {task} of connector {connector} is RUNNING and fails again and again",
        "On cluster {kafka_cluster} its system failed {count} times, and Connect goes on calling it. Its "
        "state stays RUNNING: look at the database or service that it reads from or writes to.",
        threshold=4,
        runbook=(
            "A source's poll or a sink's put throws a RetriableException each time; Connect calls it again.",
            "Whoever waits for the records: nothing moves, and no state of Connect shows it.",
            "Read the exception in the worker's log and fix what it names: a database that is down, a "
            "network, a password. The task goes on by itself then.",
        ),
    ),
)
