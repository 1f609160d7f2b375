"""Events: what a collector publishes to ``deadwatch.events``, one flat JSON object each.

Every event names its ``source`` and a ``position`` that depends on the source's input alone; within a source
positions only grow, and the record's key is the source, so one partition keeps their order. Streaming drops
what is at or below the position it has counted: a chunk that is sent twice is counted once.

Times are milliseconds since the epoch: ``happened_at_ms`` by the clock of whoever failed (the time in the log
line), ``observed_at_ms`` by the collector's. Empty text means "not known"; no field is ever null.

This module is a table: its length is the number of kinds.
"""

import dataclasses
import json
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

VERSION: Final = 1
MAX_TEXT_CHARS: Final = 1_000


class Position(NamedTuple):
    """Where in its source an event was read; compares as a tuple.

    Logs: (number of the file under this name, byte offset of the entry, ordinal of the cause in the entry).
    Topics of log lines: (incarnation of the topic, offset of the record, ordinal in it; -1: a gap before it).
    Snapshots: (time of the snapshot in ms, 0, 0).
    """

    epoch: int
    offset: int = 0
    ordinal: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What every event carries."""

    kind: ClassVar[str]

    source: str
    position: Position
    happened_at_ms: int
    observed_at_ms: int
    kafka_cluster: str


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
    """An abandoned instance came to its end after all; ``task`` is empty for a connector."""

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

    ``state`` is REST's word (RUNNING, FAILED …) or empty when REST no longer knows it; ``abandoned`` counts
    threads that still run for it although the worker has let go of them.
    """

    connector: str
    task: str
    state: str
    abandoned: int


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
class TaskTimeout(Event):
    """A Streams task made no progress within ``task.timeout.ms`` (KIP-572); ``elapsed_ms`` as logged."""

    kind: ClassVar[str] = "task_timeout"
    application: str
    task: str
    elapsed_ms: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTimerStarted(Event):
    """The timer of ``task.timeout.ms`` runs for a Streams task, since this event or an earlier one (KIP-572).

    ``call`` is what timed out: process, commit, init, restore, committed_offsets, init_transactions,
    partitions_for, offset_reset, global, or empty when only the timer was told. ``task`` is empty when the
    line tells no more than the ``thread``; ``remaining_ms`` is -1 when it is not told.
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
    """A task's timer does not run any more; ``task`` is empty for those of the ``thread``.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCorrupted(Event):
    """A Streams task is closed as dirty and restored from scratch: what a stall is under exactly-once."""

    kind: ClassVar[str] = "task_corrupted"
    application: str
    streams_client: str
    thread: str
    task: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamThreadDied(Event):
    """An exception ended a Streams thread; ``decision`` is its handler's: REPLACE_THREAD, SHUTDOWN_CLIENT or
    SHUTDOWN_APPLICATION.
    """

    kind: ClassVar[str] = "stream_thread_died"
    application: str
    streams_client: str
    thread: str
    decision: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryTimeout(Event):
    """A batch of ``records`` was not delivered within ``delivery.timeout.ms`` (KIP-91).

    ``client`` is the library: java, kafka-python or librdkafka.
    """

    kind: ClassVar[str] = "delivery_timeout"
    client: str
    client_id: str
    topic: str
    partition: int
    records: int
    elapsed_ms: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTimeout(Event):
    """Another timeout of a client; ``timeout`` is metadata, buffer, commit, request or poll."""

    kind: ClassVar[str] = "client_timeout"
    client: str
    client_id: str
    timeout: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryBackoffMisconfigured(Event):
    """A client warned that its initial backoff is above the maximum (KIP-580)."""

    kind: ClassVar[str] = "retry_backoff_misconfigured"
    client_id: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareDeadLetterLost(Event):
    """A broker archived a share-group record although its dead letter could not be written (KIP-1191)."""

    kind: ClassVar[str] = "share_dead_letter_lost"
    consumergroup: str
    message: str


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
class Finding:
    """A configuration that would lose or strand records; ``kind`` is one of ``findings.FindingKind``.

    ``subject`` is what has it (``sharegroup:g1``, ``topic:dlq.orders``), ``change`` what to do about it.
    """

    kind: str
    subject: str
    message: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsSnapshot(Event):
    """Every finding that holds now; it replaces its source's previous snapshot."""

    kind: ClassVar[str] = "findings_snapshot"
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectTask:
    """A task of Connect: what its beans have counted, and whether it gets on.

    The counters of ``task-error-metrics`` and ``records``, what it has read from Kafka or from its system,
    count from the beginning of this instance of the task, in a worker that began at ``started_at_ms``.
    Without ``counted`` the worker's agent has not told them and they say nothing.

    Without ``judged`` it is not known whether the task gets on; ``stalled_since_ms`` is 0 while it does, else
    since when nothing moves although records wait, and ``stalled_because`` says what was seen.
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
class RedriveOutcome(Event):
    """What one transaction of a redrive did with ``records`` that share all these fields.

    It is written in the same transaction, so it is as exact as the redrive. ``outcome`` is sent, parked,
    skipped or failed; ``outcome_reason`` says why for all but sent; ``attempt`` is the one that was made;
    ``fingerprint`` is that of the group of dead letters that the records were in. The
    source is ``redrive:<order>``, the position (lease epoch, number of the transaction, ordinal in it).
    """

    kind: ClassVar[str] = "redrive_outcome"
    order: str
    dlq_topic: str
    target_topic: str
    outcome: str
    outcome_reason: str
    attempt: int
    records: int
    backoff_ms: int
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRange:
    """Offsets of one partition that a transaction is about, no foreign one between; ``end`` is left out."""

    partition: int
    first: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RedriveWritten(Event):
    """Where the records of a redrive's transaction are now; in the same transaction, as its outcomes.

    A share group's dead letter keeps no headers: it is told by these offsets that it came back.
    """

    kind: ClassVar[str] = "redrive_written"
    order: str
    dlq_topic: str
    target_topic: str
    written: tuple[OffsetRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RedriveHandled(Event):
    """Which dead letters a redrive's transaction has sent or parked (``outcome``); in the same transaction.

    ``dlq_topic_id`` is Kafka's id of the topic ("": its broker knows none): one that was made anew under its
    name begins at offset 0 again.
    """

    kind: ClassVar[str] = "redrive_handled"
    order: str
    dlq_topic: str
    dlq_topic_id: str
    outcome: str
    handled: tuple[OffsetRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus(Event):
    """How a source is: sent at every change and as a heartbeat; ``subject`` is the source's name."""

    kind: ClassVar[str] = "source_status"
    subject: str
    source_kind: str
    up: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorCount:
    """One count of a collector, since its process began; ``subject`` is the source it is about, or empty.

    ``current`` is how many of the ``total`` still hold: instances that were abandoned and run on.
    """

    name: str
    subject: str
    current: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorSnapshot(Event):
    """Everything a collector counts of its own conduct; a later ``started_at_ms``: counted anew."""

    kind: ClassVar[str] = "collector_snapshot"
    collector: str
    started_at_ms: int
    collector_counts: tuple[CollectorCount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined(Event):
    """Input that a source could not read and has passed over; ``excerpt`` is the beginning of it."""

    kind: ClassVar[str] = "quarantined"
    reason: str
    excerpt: str


KINDS: Final[dict[str, type[Event]]] = {
    cls.kind: cls
    for cls in (
        TaskAbandoned,
        ConnectorAbandoned,
        AbandonedEnded,
        WorkerStarted,
        WorkerSnapshot,
        TaskTimeout,
        TaskTimerStarted,
        TaskTimerEnded,
        TaskCorrupted,
        StreamThreadDied,
        DeliveryTimeout,
        ClientTimeout,
        RetryBackoffMisconfigured,
        ShareDeadLetterLost,
        BrokerSnapshot,
        DeadLetterTopicsSnapshot,
        FindingsSnapshot,
        ConnectTasksSnapshot,
        RedriveOutcome,
        RedriveWritten,
        RedriveHandled,
        SourceStatus,
        CollectorSnapshot,
        Quarantined,
    )
}


def encode(event: Event) -> tuple[bytes, bytes]:
    """Key and value of the event's record; texts are cut to ``MAX_TEXT_CHARS``."""
    body = {"v": VERSION, "kind": event.kind, **_clipped(dataclasses.asdict(event))}
    return event.source.encode(), json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _clipped(fields: dict[str, object]) -> dict[str, object]:
    return {
        name: value[:MAX_TEXT_CHARS] if isinstance(value, str) else value for name, value in fields.items()
    }
