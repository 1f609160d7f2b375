"""What Kafka's admin interface tells of dead letter topics; nothing is consumed, no group is joined.

``records`` is the distance from the first offset to the last stable one. It counts the markers of
transactions and what a compaction has taken away too: on a topic with either it is an upper bound.

The time of the oldest record is that of the first record whose time is not negative, as its producer set it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
from kafka.errors import KafkaError, UnsupportedVersionError
from kafka.protocol.consumer import IsolationLevel

from collector.kafka import KafkaConnection

TIMEOUT_MS: Final = 5_000
"""Of one request, and of reaching the cluster."""

DLQ: Final = "errors.deadletterqueue.topic.name"
"""The setting of a share group (KIP-1191), and also of a connector (KIP-298)."""

_FIRST_RECORD: Final = 0
_NO_LEADER: Final = 0

Named = dict[str, list[str]]
"""Who sends to a topic, by topic."""


@dataclass(frozen=True, slots=True)
class Extent:
    """What a topic holds; ``oldest_at_ms`` is 0 when it is empty."""

    partitions: int = 0
    records: int = 0
    oldest_at_ms: int = 0


class Admin(KafkaAdminClient):  # type: ignore[misc]  # kafka-python has no types
    """A client that ends its thread when it cannot reach the cluster; that of kafka-python 3.0.12 stays."""

    def __init__(self, **options: object) -> None:
        try:
            super().__init__(**options)
        except KafkaError:
            self._closed = not hasattr(self, "_net")
            self.close()
            raise


def connect(connection: KafkaConnection) -> Admin:
    """A client whose calls all come back in time. Raises ``KafkaError``."""
    return Admin(**connection.kafka_python(), bootstrap_timeout_ms=TIMEOUT_MS, request_timeout_ms=TIMEOUT_MS)


def topics(admin: KafkaAdminClient) -> dict[str, list[TopicPartition] | None]:
    """The partitions of every topic; None where one has no leader now. Raises ``KafkaError``."""
    return {
        topic["name"]: [TopicPartition(topic["name"], one["partition_index"]) for one in topic["partitions"]]
        if all(one["leader_id"] >= _NO_LEADER for one in topic["partitions"])
        else None
        for topic in admin.describe_topics()
    }


def extents(admin: KafkaAdminClient, wanted: Mapping[str, list[TopicPartition]]) -> dict[str, Extent]:
    """What each of these topics holds. Raises ``KafkaError``."""
    every = [partition for partitions in wanted.values() for partition in partitions]
    first, end, oldest = (
        admin.list_partition_offsets(dict.fromkeys(every, spec), IsolationLevel.READ_COMMITTED)
        for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST, _FIRST_RECORD)
    )
    found = {}
    for topic, partitions in wanted.items():
        times_ms = [oldest[one].timestamp for one in partitions if end[one].offset > first[one].offset]
        found[topic] = Extent(
            partitions=len(partitions),
            records=sum(max(0, end[one].offset - first[one].offset) for one in partitions),
            oldest_at_ms=min((time_ms for time_ms in times_ms if time_ms > 0), default=0),
        )
    return found


def named_by_share_groups(admin: KafkaAdminClient) -> Named:
    """The dead letter queues of share groups; none on a broker too old to have any. Raises ``KafkaError``."""
    try:
        groups = admin.list_config_resources([ConfigResourceType.GROUP]).get("group", [])
    except UnsupportedVersionError:
        return {}
    named: Named = {}
    resources = [ConfigResource(ConfigResourceType.GROUP, group) for group in groups]
    settings = admin.describe_configs(resources).get("group", {}) if resources else {}
    for group, values in settings.items():
        if topic := values.get(DLQ, {}).get("value"):
            named.setdefault(topic, []).append(f"share group {group}")
    return named
