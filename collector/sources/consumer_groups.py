"""How far the consumer groups of sink connectors have come, and whether a record really waits for them.

Ends are last stable offsets: what an open transaction still hides waits for nobody. The distance to the end
is no proof of records, since a transaction's marker takes an offset too: ``a_record_waits`` reads one.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import GroupIdNotFoundError
from kafka.protocol.consumer import IsolationLevel

from collector.kafka import KafkaConnection, create_no_topics
from collector.sources.kafka_topics import TIMEOUT_MS
from collector.sources.stalled import Extent

_STEADY: Final = frozenset({"Stable", "Empty", "Dead"})
_POLLS: Final = 10
_NO_GROUP: Final = GroupIdNotFoundError.__name__

Extents = Mapping[TopicPartition, Extent]


@dataclass(frozen=True, slots=True)
class Group:
    """A group: what each client id holds, and the extent of every partition that has a committed offset.

    ``steady`` is false while it rebalances.
    """

    steady: bool
    held: Mapping[str, frozenset[TopicPartition]]
    extents: Extents


def read(admin: KafkaAdminClient, names: Collection[str]) -> dict[str, Group | None]:
    """The groups of these names, None for one that we may not see. Raises ``KafkaError``.

    A partition without leader, or of a topic that is no more, has no extent.
    """
    if not names:
        return {}
    told = admin.describe_groups([*names])
    committed = {name: _committed(admin, name) for name, group in told.items() if not group["error"]}
    led = _led(admin, {place.topic for offsets in committed.values() for place in offsets})
    every = {place for offsets in committed.values() for place in offsets if place in led}
    ends = admin.list_partition_offsets(
        dict.fromkeys(every, OffsetSpec.LATEST), IsolationLevel.READ_COMMITTED
    )
    groups: dict[str, Group | None] = {name: _unseen(group["error"]) for name, group in told.items()}
    for name, offsets in committed.items():
        extents = {
            place: Extent(offset, ends[place].offset) for place, offset in offsets.items() if place in ends
        }
        groups[name] = Group(told[name]["group_state"] in _STEADY, _held(told[name]["members"]), extents)
    return groups


def a_record_waits(connection: KafkaConnection, place: TopicPartition, extent: Extent) -> bool:
    """Whether there is a record in ``extent``; it is read and forgotten. Raises ``KafkaError``."""
    consumer = KafkaConsumer(
        **connection.kafka_python(),
        group_id=None,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        max_poll_records=1,
    )
    create_no_topics(consumer)
    try:
        consumer.assign([place])
        consumer.seek(place, extent.committed)
        for _ in range(_POLLS):
            if consumer.poll(timeout_ms=TIMEOUT_MS // _POLLS):
                return True
            if consumer.position(place) >= extent.end:
                break
        return False
    finally:
        consumer.close()


def _committed(admin: KafkaAdminClient, name: str) -> dict[TopicPartition, int]:
    offsets = admin.list_group_offsets(name)[name]
    return {place: one.offset for place, one in offsets.items() if one.offset >= 0}


def _led(admin: KafkaAdminClient, topics: Collection[str]) -> set[TopicPartition]:
    return {
        TopicPartition(topic["name"], one["partition_index"])
        for topic in (admin.describe_topics([*topics]) if topics else ())
        for one in topic["partitions"]
        if one["leader_id"] >= 0
    }


def _unseen(error: str) -> Group | None:
    """A group that does not exist is known to hold nothing."""
    return Group(steady=True, held={}, extents={}) if _NO_GROUP in (error or "") else None


def _held(members: Collection[Mapping[str, Any]]) -> dict[str, frozenset[TopicPartition]]:
    held: dict[str, frozenset[TopicPartition]] = {}
    for member in members:
        assignment = member["member_assignment"] or {"assigned_partitions": ()}
        places = {
            TopicPartition(one["topic"], number)
            for one in assignment["assigned_partitions"]
            for number in one["partitions"]
        }
        held[member["client_id"]] = held.get(member["client_id"], frozenset()) | places
    return held
