"""Events that change a state: of Connect's instances and tasks, of brokers, of Streams' timers."""

from dataclasses import dataclass
from typing import ClassVar, Final

from deadwatch.contract.event import Event

THREADLESS: Final = "RUNNING_WITHOUT_THREAD"
"""The state of a task that Connect's REST calls RUNNING and that no thread of its worker runs."""
DEAD: Final = frozenset({"FAILED", THREADLESS})
"""States in which a connector or a task does nothing until somebody restarts it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAbandoned(Event):
    """A Connect worker gave up waiting for a task to stop (``Graceful stop of task {} failed.``)."""

    kind: ClassVar[str] = "task_abandoned"
    worker: str
    connector: str
    task: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorAbandoned(Event):
    """A Connect worker gave up waiting for a connector to stop (``… failed to properly shut down …``)."""

    kind: ClassVar[str] = "connector_abandoned"
    worker: str
    connector: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AbandonedEnded(Event):
    """An abandoned instance has ended after all; ``task`` is empty for a connector."""

    kind: ClassVar[str] = "abandoned_ended"
    worker: str
    connector: str
    task: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStarted(Event):
    """A Connect worker process began: what it had abandoned is gone with its predecessor."""

    kind: ClassVar[str] = "worker_started"
    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A connector (``task`` empty) or task of a worker, as a snapshot saw it.

    ``state`` is REST's word (RUNNING, FAILED …), ``THREADLESS``, or empty when REST no longer knows it;
    ``abandoned`` counts threads that still run for it although the worker has let go of them. ``trace`` says
    why it is FAILED.
    """

    connector: str
    task: str
    state: str
    abandoned: int
    trace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSnapshot(Event):
    """Everything a Connect worker runs, and what it left behind, at one moment.

    It replaces the worker's previous snapshot. ``threads_known`` is false when the worker's Jolokia did not
    answer: then ``abandoned`` says nothing.
    """

    kind: ClassVar[str] = "worker_snapshot"
    worker: str
    threads_known: bool
    instances: tuple[Instance, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectTask:
    """A task of Connect: the counters of its beans, and whether it makes progress.

    The counters of ``task-error-metrics`` and ``records``, what it has read from Kafka or from its system,
    count from the beginning of this instance of the task, in a worker that began at ``started_at_ms``.
    Without ``counted`` the worker's agent did not answer and the counters mean nothing.

    Without ``judged`` the task's progress is unknown. ``stalled_since_ms`` is 0 while it makes progress, else
    the time since which it has read nothing although records wait; ``stalled_because`` is the evidence.
    """

    worker: str
    connector: str
    task: str
    state: str
    counted: bool
    started_at_ms: int
    records: int
    record_failures: int
    record_errors: int
    records_skipped: int
    retries: int
    errors_logged: int
    dlq_produce_requests: int
    dlq_produce_failures: int
    last_error_at_ms: int
    judged: bool
    stalled_since_ms: int
    stalled_because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectTasksSnapshot(Event):
    """Every task of a Connect cluster at one moment; it replaces the cluster's previous snapshot."""

    kind: ClassVar[str] = "connect_tasks_snapshot"
    connect_cluster: str
    connect_tasks: tuple[ConnectTask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroup:
    """What a broker's meters have counted of a share group's dead letter queue since it was started."""

    consumergroup: str
    records: int
    produce_requests: int
    failed_produce_requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSnapshot(Event):
    """Every share group that a broker has meters of; a later ``started_at_ms`` means they began anew."""

    kind: ClassVar[str] = "broker_snapshot"
    broker: str
    started_at_ms: int
    share_groups: tuple[ShareGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterTopic:
    """A dead letter topic as it is in Kafka.

    ``records`` are present in it; ``oldest_at_ms`` is the time of the first of them, 0 when there is none.
    ``partitions`` is 0 for a topic that a configuration names and that does not exist. ``named_by`` says
    which share groups and connectors send there, separated by commas. ``read`` is false for a topic that no
    pattern of ``dlq_topics`` matches: its records are counted here, but not read.
    """

    topic: str
    partitions: int
    records: int
    oldest_at_ms: int
    named_by: str
    read: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterTopicsSnapshot(Event):
    """Every dead letter topic of the cluster."""

    kind: ClassVar[str] = "dead_letter_topics_snapshot"
    dead_letter_topics: tuple[DeadLetterTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTimerStarted(Event):
    """The timer of ``task.timeout.ms`` runs for a Streams task, since this event or an earlier one (KIP-572).

    ``call`` is what timed out: process, commit, init, restore, committed_offsets, init_transactions,
    partitions_for, offset_reset, global, or empty when the line is about the timer alone. ``task`` is empty
    when the line names only the ``thread``; ``remaining_ms`` is -1 when the line does not give it.
    """

    kind: ClassVar[str] = "task_timer_started"
    application: str
    streams_client: str
    thread: str
    task: str
    call: str
    remaining_ms: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTimerEnded(Event):
    """A task's timer has stopped; ``task`` is empty for all tasks of the ``thread``.

    ``reason``: progress (it was cleared), corrupted or revived (the task begins anew), running (the thread
    has brought up its tasks), closed (the thread, or all of a client, has ended). That it expired is a
    ``TaskTimeout``.
    """

    kind: ClassVar[str] = "task_timer_ended"
    application: str
    streams_client: str
    thread: str
    task: str
    reason: str
    message: str
