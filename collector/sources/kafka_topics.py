"""What Kafka's admin interface tells of dead letter topics; nothing is consumed, no group is joined.

``records`` is the distance from the first offset to the last stable one. It counts the markers of
transactions and what a compaction has taken away too: on a topic with either it is an upper bound.

The time of the oldest record is that of the first record whose time is not negative, as its producer set it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResourceType, OffsetSpec
from kafka.errors import KafkaError, UnsupportedVersionError
from kafka.protocol.consumer import IsolationLevel

from collector.kafka import KafkaConnection
from collector.sources import kafka_settings
from collector.sources.findings_picture import DLQ

TIMEOUT_MS: Final = 5_000
"""Of one request, and of reaching the cluster."""

_FIRST_RECORD: Final = 0
_NO_LEADER: Final = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """A topic's partitions, whether all have leaders and may be read, and on which brokers each is."""

    partitions: list[TopicPartition]
    led: bool
    replicas: tuple[tuple[int, ...], ...]
    readable: bool = True


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


def topics(admin: KafkaAdminClient) -> dict[str, Layout]:
    """Every topic that we may see. Raises ``KafkaError``."""
    return {topic["name"]: _layout(topic) for topic in admin.describe_topics()}


def is_readable(topic: Mapping[str, Any]) -> bool:
    """Whether we may read a topic that was described; one whose rights are not told is taken for open."""
    return "READ" in (topic.get("authorized_operations") or ("READ",))


def _layout(topic: Mapping[str, Any]) -> Layout:
    name, partitions = topic["name"], topic["partitions"]
    return Layout(
        partitions=[TopicPartition(name, one["partition_index"]) for one in partitions],
        led=all(one["leader_id"] >= _NO_LEADER for one in partitions),
        replicas=tuple(
            tuple(one["replica_nodes"]) for one in sorted(partitions, key=itemgetter("partition_index"))
        ),
        readable=is_readable(topic),
    )


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


def share_group_queues(admin: KafkaAdminClient) -> dict[str, str | None]:
    """The dead letter queue of each share group: "" for none, None where we may not read it.

    A group that has settings but no queue may be of another type; it is left out unless Kafka lists it as a
    share group. There are none on a broker too old to have any. Raises ``KafkaError``.
    """
    try:
        shares = {group["group_id"] for group in admin.list_groups(types_filter=["share"])}
        configured = admin.list_config_resources([ConfigResourceType.GROUP]).get("group", [])
    except UnsupportedVersionError:
        return {}
    queues = kafka_settings.of_groups(admin, sorted(shares.union(configured)), DLQ)
    return {group: queue for group, queue in queues.items() if queue != "" or group in shares}
