"""What Kafka has of the topics that are read, asked before anything is counted."""

from collections.abc import Iterable, Mapping

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import OffsetSpec
from kafka.protocol.consumer import IsolationLevel

from streaming import source
from streaming.backfill.span import Extent
from streaming.continuity import ids
from streaming.plans import Place
from streaming.settings import StreamingSettings


def extent(admin: KafkaAdminClient, settings: StreamingSettings, since_ms: int) -> Extent:
    """Of every topic that is read, since a time. Raises ``KafkaError``."""
    described = [one for one in admin.describe_topics() if source.is_read(one["name"], settings)]
    places = [
        (one["name"], partition["partition_index"]) for one in described for partition in one["partitions"]
    ]
    begin, end = offsets(admin, places, OffsetSpec.EARLIEST), offsets(admin, places, OffsetSpec.LATEST)
    since = offsets(admin, places, since_ms) if since_ms else begin
    return Extent(
        begin,
        {place: end[place] if since[place] < 0 else min(since[place], end[place]) for place in end},
        end,
        ids(described),
    )


def offsets(admin: KafkaAdminClient, places: Iterable[Place], spec: int) -> Mapping[Place, int]:
    """Of the committed records of partitions; -1 where there is none. Raises ``KafkaError``."""
    wanted = dict.fromkeys((TopicPartition(*place) for place in places), spec)
    if not wanted:
        return {}
    found = admin.list_partition_offsets(wanted, IsolationLevel.READ_COMMITTED)
    return {(place.topic, place.partition): one.offset for place, one in found.items()}
