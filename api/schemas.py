"""The answers of ``/api/v1``. Times are RFC 3339 in UTC; durations end in ``_ms``. What is
not known is "" where a text stands and null elsewhere.

This module is a table of the answers' fields, with an example each for ``/docs``.
"""

from datetime import datetime
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Item = TypeVar("Item")

TIME = "2026-11-21T12:38:42.120000Z"


class Answer(BaseModel):
    """Base of every answer."""

    model_config = ConfigDict(frozen=True)


class Page(Answer, Generic[Item]):
    """A part of a list; ask again with ``after`` = ``next`` for the rest."""

    items: list[Item]
    next: str | None = Field(description="Cursor of the next page; null at the end.", examples=[None])


class Alive(Answer):
    """The process answers."""

    alive: Literal[True] = True


class Readiness(Answer):
    """Whether the other routes can be answered; ``missing`` says what they lack."""

    ready: bool = Field(examples=[True])
    missing: list[str] = Field(examples=[[]])


class Count(Answer):
    """A total since the store began, and when it last grew."""

    total: int = Field(examples=[3])
    last_seen: datetime | None = Field(examples=[TIME])


class DeadLettersNow(Count):
    """Dead letters over all topics."""

    topics: int = Field(description="Dead letter topics with records.", examples=[2])
    groups: int = Field(description="Causes.", examples=[4])
    lost: Count = Field(description="Times a broker could not write share-group dead letters.")


class DeliveryTimeoutsNow(Answer):
    """Batches and records that producers gave up."""

    batches: int = Field(examples=[7])
    records: int = Field(examples=[21])
    last_seen: datetime | None = Field(examples=[TIME])


class AbandonedNow(Answer):
    """Abandoned instances: those that still run, and all there ever were."""

    current: int = Field(examples=[1])
    total: int = Field(examples=[1])
    last_seen: datetime | None = Field(examples=[TIME])


class Source(Answer):
    """A source that does not work, or is silent."""

    name: str = Field(examples=["connect:127.0.0.1:8083"])
    kind: str = Field(examples=["connect"])
    message: str = Field(examples=["connection refused"])
    down_since: datetime | None = Field(examples=[TIME])
    last_heard: datetime | None = Field(examples=[TIME])


class Sources(Answer):
    """How many sources there are, and those that are down."""

    total: int = Field(examples=[3])
    down: list[Source]


class Pipeline(Answer):
    """The last batch of streaming; nulls before the first."""

    lag_ms: int | None = Field(description="Age of its newest event when it was committed.", examples=[240])
    batch_duration_ms: int | None = Field(examples=[130])
    batch_records: int | None = Field(examples=[12])
    last_batch: datetime | None = Field(examples=[TIME])


class Overview(Answer):
    """One screen: what is dead, late or abandoned now."""

    kafka_cluster: str = Field(examples=["default"])
    at: datetime | None = Field(examples=[TIME])
    dead_letters: DeadLettersNow
    task_timeouts: Count
    delivery_timeouts: DeliveryTimeoutsNow
    client_timeouts: Count
    abandoned_tasks: AbandonedNow
    abandoned_connectors: AbandonedNow
    quarantined: Count
    sources: Sources
    pipeline: Pipeline


class DeadLetterQueue(Answer):
    """A dead letter topic as it is in Kafka now."""

    exists: bool = Field(description="False: a configuration names it, nobody has made it.", examples=[True])
    backlog_records: int = Field(description="Records that are on it.", examples=[10])
    oldest_record: datetime | None = Field(description="Time of the first of them.", examples=[TIME])
    named_by: str = Field(
        description="Share groups and connectors that send there.", examples=["share group g1"]
    )
    read: bool = Field(description="Whether its records are counted by cause.", examples=[True])
    to_do: str = Field(description="What to change; empty: nothing.", examples=[""])


class DeadLetterTopic(Answer):
    """A dead letter topic: sums over every cause."""

    kafka_cluster: str = Field(examples=["default"])
    dlq_topic: str = Field(examples=["dlq.orders"])
    records: int = Field(examples=[10])
    dialects: list[str] = Field(examples=[["share"]])
    source_topics: list[str] = Field(examples=[["orders"]])
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])
    queue: DeadLetterQueue | None = Field(description="Null: no collector has told of it.")


class DeadLetterTopics(Page[DeadLetterTopic]):
    """Dead letter topics, the one with the newest record first."""


class DeadLetterGroup(Answer):
    """Dead letters of one cause."""

    fingerprint: str = Field(examples=["3f1c0a9be27d4455"])
    kafka_cluster: str = Field(examples=["default"])
    dlq_topic: str = Field(examples=["dlq.filesink"])
    dialect: str = Field(examples=["connect"])
    source_topic: str = Field(examples=["payments"])
    consumer: str = Field(description="Connector, share group or application.", examples=["filesink"])
    error_class: str = Field(examples=["org.apache.kafka.connect.errors.DataException"])
    message: str = Field(
        description="Of the latest record.", examples=["Converting byte[] failed at offset 17"]
    )
    message_pattern: str = Field(
        description="What all have.", examples=["Converting byte[] failed at offset #"]
    )
    records: int = Field(examples=[10])
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class DeadLetterGroups(Page[DeadLetterGroup]):
    """Groups by cause, the one with the newest record first."""


class Header(Answer):
    """A header of a record; long values are cut."""

    name: str = Field(examples=["__connect.errors.stage"])
    value: str | None = Field(examples=["VALUE_CONVERTER"])


class Sample(Answer):
    """One of the newest records of a group, without its payload: of key and value only the size is told."""

    dlq_topic: str = Field(examples=["dlq.filesink"])
    partition: int = Field(examples=[0])
    offset: int = Field(examples=[42])
    timestamp: datetime | None = Field(examples=[TIME])
    headers: list[Header]
    key_bytes: int | None = Field(description="null: the record has no key.", examples=[None])
    value_bytes: int | None = Field(description="null: the record has no value.", examples=[408])


class DeadLetterGroupDetail(DeadLetterGroup):
    """A group and its samples, newest first."""

    samples: list[Sample]


class TaskTimeouts(Answer):
    """What a Streams task suffered; elapsed time and message are the latest one's."""

    kafka_cluster: str = Field(examples=["default"])
    application: str = Field(examples=["wordcount"])
    task: str = Field(examples=["0_1"])
    timeouts: int = Field(examples=[1])
    elapsed_ms: int | None = Field(examples=[4006])
    message: str = Field(examples=["Task 0_1 did not make progress within 4006 ms."])
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class ConnectInstance(Answer):
    """A connector (``task`` null) or task, as the latest snapshot of its worker saw it."""

    kafka_cluster: str = Field(examples=["default"])
    worker: str = Field(examples=["127.0.0.1:8083"])
    connector: str = Field(examples=["pipe"])
    task: str | None = Field(examples=["0"])
    state: str = Field(description="REST's word; empty when REST does not know it.", examples=["RUNNING"])
    abandoned: int = Field(description="Threads that still run although let go of.", examples=[1])
    observed_at: datetime | None = Field(examples=[TIME])


class Tasks(Answer):
    """Tasks of Kafka Streams that timed out, latest first, and everything that Connect runs."""

    task_timeouts: list[TaskTimeouts]
    connect: list[ConnectInstance]


class AbandonedInstance(Answer):
    """How often a connector (``task`` null) or task was abandoned, and how many instances still run."""

    kind: Literal["connector", "task"] = Field(examples=["task"])
    kafka_cluster: str = Field(examples=["default"])
    worker: str = Field(examples=["127.0.0.1:8083"])
    connector: str = Field(examples=["pipe"])
    task: str | None = Field(examples=["0"])
    current: int = Field(examples=[1])
    total: int = Field(examples=[1])
    evidence: Literal["threads", "log"] = Field(
        description="What ``current`` stands on.", examples=["threads"]
    )
    message: str = Field(
        description="The latest log line.", examples=["Graceful stop of task pipe-0 failed."]
    )
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class AbandonedInstances(Answer):
    """Those that still run first, then the latest."""

    items: list[AbandonedInstance]


class DeliveryTimeout(Answer):
    """What a producer gave up for a topic; elapsed time and message are the latest batch's."""

    kafka_cluster: str = Field(examples=["default"])
    topic: str = Field(examples=["orders"])
    client_id: str = Field(examples=["checkout-1"])
    client: str = Field(description="The library: java, kafka-python or librdkafka.", examples=["java"])
    batches: int = Field(examples=[1])
    records: int = Field(examples=[3])
    elapsed_ms: int | None = Field(examples=[3004])
    message: str = Field(
        examples=["Expiring 3 record(s) for orders-0:3004 ms has passed since batch creation"]
    )
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class DeliveryTimeouts(Answer):
    """By topic and client, latest first."""

    items: list[DeliveryTimeout]


class Problem(Answer):
    """A failure, as RFC 9457 has it; ``type`` is stable."""

    type: str = Field(examples=["urn:deadwatch:problem:store-unavailable"])
    title: str = Field(examples=["The store cannot be read"])
    status: int = Field(examples=[503])
    detail: str = Field(examples=["there is no store yet: streaming makes it at its first start"])
