"""Kafka as the queries see it: which topics they read, where their partitions begin and end.

A dead letter topic that Kafka lists without the right to read it is left out until there is that right: it
would end every batch, and so hide the dead letters of all others.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import OffsetSpec
from kafka.protocol.consumer import IsolationLevel
from kafka.structs import OffsetAndTimestamp

from deadwatch.contract.topics import is_dead_letter_topic
from deadwatch.runtime.kafka_topics import NO_ID, Admin, create_queue, is_readable
from deadwatch.store.batch import Offsets, Place
from streaming.settings import StreamingSettings

FROM_BEGINNING: Final = -2
"""Spark's number for the earliest offset of a partition."""
NAMED: Final = 5
"""Topics that one line names; the others are counted."""

Described = Sequence[Mapping[str, Any]]
"""Topics as ``KafkaAdminClient.describe_topics`` gives them."""


def connect(settings: StreamingSettings) -> KafkaAdminClient:
    """A client of which every call returns in time. Raises ``KafkaError``."""
    return Admin(
        **settings.kafka.kafka_python(),
        request_timeout_ms=settings.request_timeout_ms,
        bootstrap_timeout_ms=settings.request_timeout_ms,
    )


def starting_offsets(stored: Offsets, settings: StreamingSettings) -> Offsets | None:
    """Where the query begins; None: at the beginning. Also creates our own dead letter topic."""
    with closing(connect(settings)) as admin:
        if settings.quarantine_auto_create_topics_enable:
            create_queue(admin, settings.quarantine_topic)
        return resumed(stored, partitions_of(read_topics(admin, settings))) if stored else None


def resumed(stored: Offsets, partitions: Iterable[Place]) -> Offsets:
    """Every partition that exists, from its stored offset; from its beginning where there is none."""
    return {partition: stored.get(partition, FROM_BEGINNING) for partition in partitions}


def has_quarantine(settings: StreamingSettings) -> bool:
    """Whether our own dead letter topic exists. Raises ``KafkaError``."""
    with closing(connect(settings)) as admin:
        return settings.quarantine_topic in admin.list_topics()


def read_topics(admin: KafkaAdminClient, settings: StreamingSettings) -> Described:
    """Every topic that the query reads, or would read with the right to. Raises ``KafkaError``."""
    return [topic for topic in admin.describe_topics() if is_read(topic["name"], settings)]


def partitions_of(described: Iterable[Mapping[str, Any]]) -> set[Place]:
    """All partitions of these topics."""
    return {
        (topic["name"], partition["partition_index"])
        for topic in described
        for partition in topic["partitions"]
    }


def ids_of(described: Described) -> dict[str, str]:
    """The id (KIP-516) of every topic that could be described; "" where its broker knows no ids."""
    ids = {topic["name"]: str(topic.get("topic_id") or "") for topic in described if not topic["error_code"]}
    return {topic: topic_id.replace(NO_ID, "") for topic, topic_id in ids.items()}


def offsets(admin: KafkaAdminClient, partitions: Iterable[Place], spec: OffsetSpec | int) -> dict[Place, int]:
    """The first or last offset of committed records, or the first since a time in ms (-1: there is none).

    Raises ``KafkaError``.
    """
    found = listed_offsets(admin, partitions, spec, IsolationLevel.READ_COMMITTED)
    return {partition: at.offset for partition, at in found.items()}


def listed_offsets(
    admin: KafkaAdminClient,
    partitions: Iterable[Place],
    spec: OffsetSpec | int,
    isolation: IsolationLevel,
) -> dict[Place, OffsetAndTimestamp]:
    """As ``offsets``, each with the epoch of the leader that says so."""
    specs = dict.fromkeys((TopicPartition(*partition) for partition in partitions), spec)
    if not specs:
        return {}
    found = admin.list_partition_offsets(specs, isolation)
    return {(partition.topic, partition.partition): at for partition, at in found.items()}


def unreadable(described: Described, settings: StreamingSettings) -> frozenset[str]:
    """Dead letter topics without the right to read them."""
    names = {topic["name"] for topic in described if not is_readable(topic)} - {settings.events_topic}
    return frozenset(name for name in names if is_read(name, settings))


def without(topics: Iterable[str], settings: StreamingSettings) -> StreamingSettings:
    """The settings of a query that leaves ``topics`` out."""
    denied = (*settings.dlq_topics_deny, *sorted(topics))
    return settings.model_copy(update={"dlq_topics_deny": denied})


def missing_rights(topics: Iterable[str], settings: StreamingSettings) -> str:
    """Which topics are not counted and what to do about it; "" for no topics."""
    names = listed(topics)
    if not names:
        return ""
    user = settings.kafka.sasl_username or "us"
    return f"not counted, allow {user} Read on them or add them to dlq_topics_deny: {names}"


def untimely_topics(records: Mapping[Place, int]) -> str:
    """Which topics are not counted because of these records, and what to do about it; "" for none."""
    if not records:
        return ""
    named = listed(f"{topic}, partition {partition}, {at}" for (topic, partition), at in records.items())
    return (
        "not counted, a record has a time that Spark cannot hold: let its producer give milliseconds, delete"
        " what is up to its offset (kafka-delete-records.sh), or add a dead letter topic to dlq_topics_deny:"
        f" {named}"
    )


def listed(topics: Iterable[str]) -> str:
    """Topics in one line that has an end."""
    names = sorted(topics)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def is_read(topic: str, settings: StreamingSettings) -> bool:
    """Whether the query reads ``topic``, for events or for dead letters."""
    is_dead_letter = is_dead_letter_topic(topic, settings.dlq_topics, settings.dlq_topics_deny)
    return topic == settings.events_topic or is_dead_letter
