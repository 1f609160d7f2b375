"""What the query must know of the cluster before it starts: that it answers, and where to begin.

Kafka's offsets that the store keeps count for more than Spark's checkpoint: a query without checkpoint goes
on from them.
"""

from typing import Final

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import OffsetSpec

from collector import own_topics
from collector.sources.kafka_topics import Admin
from streaming import source
from streaming.settings import StreamingSettings
from streaming.source import Offsets

FROM_BEGINNING: Final = -2
"""Spark's number for the earliest offset of a partition."""


def starting_offsets(stored: Offsets, settings: StreamingSettings) -> Offsets | None:
    """Where a query begins that has no checkpoint; None: at the beginning. Also makes our own DLQ."""
    admin = connect(settings)
    try:
        if settings.quarantine_auto_create_topics_enable:
            own_topics.create_queue(admin, settings.quarantine_topic)
        return going_on(stored, _end_offsets(admin, settings)) if stored else None
    finally:
        admin.close()


def going_on(stored: Offsets, ends: Offsets) -> Offsets:
    """Every partition that exists, from its stored offset; from its beginning where there is none.

    An offset above the end belongs to a topic that was made anew under its old name.
    """
    known = {place: stored.get(place, FROM_BEGINNING) for place in ends}
    return {place: offset if offset <= ends[place] else FROM_BEGINNING for place, offset in known.items()}


def has_quarantine(settings: StreamingSettings) -> bool:
    """Whether our own dead letter queue exists. Raises ``KafkaError``."""
    admin = connect(settings)
    try:
        return settings.quarantine_topic in admin.list_topics()
    finally:
        admin.close()


def connect(settings: StreamingSettings) -> KafkaAdminClient:
    """A client whose calls all come back in time. Raises ``KafkaError``."""
    return Admin(
        **settings.kafka.kafka_python(),
        request_timeout_ms=settings.request_timeout_ms,
        bootstrap_timeout_ms=settings.request_timeout_ms,
    )


def _end_offsets(admin: KafkaAdminClient, settings: StreamingSettings) -> dict[tuple[str, int], int]:
    partitions = [
        TopicPartition(topic["name"], partition["partition_index"])
        for topic in admin.describe_topics()
        if source.is_read(topic["name"], settings)
        for partition in topic["partitions"]
    ]
    ends = admin.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
    return {(partition.topic, partition.partition): end.offset for partition, end in ends.items()}
