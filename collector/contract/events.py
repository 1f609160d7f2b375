"""Events: what a collector publishes to ``deadwatch.events``, one flat JSON object each.

Every event names its ``source`` and a ``position`` that depends on the source's input alone; within a source
positions only grow, and the record's key is the source, so one partition keeps their order. Streaming drops
what is at or below the position it has counted: a chunk that is sent twice is counted once.

Times are milliseconds since the epoch: ``happened_at_ms`` by the clock of whoever failed (the time in the log
line), ``observed_at_ms`` by the collector's. Empty text means "not known"; no field is ever null.
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
class SourceStatus(Event):
    """How a source is: sent at every change and as a heartbeat; ``subject`` is the source's name."""

    kind: ClassVar[str] = "source_status"
    subject: str
    source_kind: str
    up: bool
    message: str


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
        DeliveryTimeout,
        ClientTimeout,
        RetryBackoffMisconfigured,
        ShareDeadLetterLost,
        BrokerSnapshot,
        DeadLetterTopicsSnapshot,
        SourceStatus,
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
