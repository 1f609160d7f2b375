"""The consumer groups of sinks: how far they have come, and whether a record really waits for them.

End offsets are last stable offsets: what an open transaction still hides waits for nobody. The distance
to the end does not prove records, since the marker of a transaction takes an offset too:
``a_record_waits`` reads one.

Connect names the consumer of a task ``connector-consumer-<connector>-<task>``: so the partitions of a
member are those of a task. A RUNNING task that is no member has been removed (``max.poll.interval.ms``):
the partitions that nobody holds wait for it. With other client ids (``consumer.override.client.id``)
partitions can only be attributed to a task if its connector has no other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kafka import KafkaAdminClient, TopicPartition, errors
from kafka.admin import OffsetSpec
from kafka.protocol.consumer import IsolationLevel

from collector.sources.connect.interfaces import Key
from collector.sources.connect.stalled import Extent
from collector.sources.source import Consumer
from deadwatch.runtime import kafka_topics
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.runtime.kafka_topics import TIMEOUT_MS

_STEADY: Final = frozenset({"Stable", "Empty"})
_DEAD: Final = "Dead"
_UNKNOWN: Final = ""
"""The state in an answer that is an error."""

_OF_A_GROUP: Final = (
    errors.CoordinatorLoadInProgressError,
    errors.CoordinatorNotAvailableError,
    errors.GroupAuthorizationFailedError,
)
"""What keeps some groups from being described, and not others."""

_POLLS: Final = 10
_MOST_SILENT: Final = 2
"""So many partitions may give nothing in time; then a round reads nothing more, so that it ends."""

Extents = Mapping[TopicPartition, Extent]


@dataclass(frozen=True, slots=True)
class Group:
    """A group: what each client id holds, and the extent of every partition that has a committed offset.

    ``steady`` is false while it rebalances.
    """

    steady: bool
    held: Mapping[str, frozenset[TopicPartition]]
    extents: Extents


def read_groups(admin: KafkaAdminClient, names: Collection[str]) -> dict[str, Group | None]:
    """The groups of these names that exist, None for one that is not described. Raises ``KafkaError``.

    Offsets are asked first: that fails wherever a coordinator has moved, which kafka-python 3.0.12 does not
    notice by itself. A group of KIP-848 is called dead and has offsets. A partition without leader, or of a
    topic that is no more, has no extent.
    """
    committed = _committed(admin, [*names])
    described = admin.describe_groups([*committed])
    led = _led(admin, {place.topic for offsets in committed.values() for place in offsets})
    every = {place for offsets in committed.values() for place in offsets if place in led}
    ends = admin.list_partition_offsets(
        dict.fromkeys(every, OffsetSpec.LATEST), IsolationLevel.READ_COMMITTED
    )
    groups: dict[str, Group | None] = dict.fromkeys(names)
    for name, offsets in committed.items():
        state, members = described[name]["group_state"], described[name]["members"]
        extents = {place: Extent(offsets[place], ends[place].offset) for place in offsets if place in ends}
        if state == _DEAD and not offsets:
            del groups[name]
        elif state not in {_DEAD, _UNKNOWN}:
            groups[name] = Group(state in _STEADY, _held(members), extents)
    return groups


def a_record_waits(connection: KafkaConnection, place: TopicPartition, extent: Extent) -> bool | None:
    """Whether there is a record in ``extent``; one is read to know. Raises ``KafkaError``.

    None: Kafka gave nothing in time.
    """
    consumer = Consumer(connection, auto_offset_reset="earliest", max_poll_records=1)
    try:
        consumer.assign([place])
        consumer.seek(place, extent.committed)
        for _ in range(_POLLS):
            if consumer.poll(timeout_ms=TIMEOUT_MS // _POLLS):
                return True
            if consumer.position(place) >= extent.end:
                return False
        return None
    finally:
        consumer.close()


def _committed(admin: KafkaAdminClient, names: Sequence[str]) -> dict[str, dict[TopicPartition, int]]:
    """What each group has committed; those that keep an answer for all from coming are found by halving."""
    try:
        every = admin.list_group_offsets([*names])
    except _OF_A_GROUP:
        middle = len(names) // 2
        halves = (names[:middle], names[middle:]) if middle else ()
        return {name: offsets for half in halves for name, offsets in _committed(admin, half).items()}
    return {
        name: {place: committed.offset for place, committed in offsets.items() if committed.offset >= 0}
        for name, offsets in every.items()
    }


def _led(admin: KafkaAdminClient, topics: Collection[str]) -> set[TopicPartition]:
    return {
        TopicPartition(topic["name"], partition["partition_index"])
        for topic in (admin.describe_topics([*topics]) if topics else ())
        for partition in topic["partitions"]
        if partition["leader_id"] >= 0
    }


def _held(members: Collection[Mapping[str, Any]]) -> dict[str, frozenset[TopicPartition]]:
    held: dict[str, frozenset[TopicPartition]] = {}
    for member in members:
        assignment = member["member_assignment"] or {"assigned_partitions": ()}
        places = {
            TopicPartition(assigned["topic"], number)
            for assigned in assignment["assigned_partitions"]
            for number in assigned["partitions"]
        }
        held[member["client_id"]] = held.get(member["client_id"], frozenset()) | places
    return held


@dataclass(slots=True)
class _Round:
    """What a round has ``found``, why it did not read a partition (``unread``), or a group (``undescribed``).

    What the round ``before`` has found is not read again. The partitions that were ``silent`` rest in the
    following rounds until one of these is asked for some and is not ``cut_short``: so each partition has its
    turn, whichever are silent.
    """

    before: Mapping[tuple[TopicPartition, Extent], bool] = field(default_factory=dict)
    resting: Mapping[TopicPartition, str] = field(default_factory=dict)
    found: dict[tuple[TopicPartition, Extent], bool] = field(default_factory=dict)
    unread: dict[TopicPartition, str] = field(default_factory=dict)
    silent: dict[TopicPartition, str] = field(default_factory=dict)
    undescribed: str = ""
    cut_short: bool = False

    def following(self) -> "_Round":
        """The round after this one."""
        over = (self.found or self.unread) and not self.cut_short
        return _Round(self.found, {} if over else {**self.resting, **self.silent})

    def known(self, connection: KafkaConnection, place: TopicPartition, extent: Extent) -> bool | None:
        """Whether a record is in an extent, None if it is not known.

        A partition is read once, unless it rests or the round has waited enough.
        """
        what = (place, extent)
        if what in self.before:
            self.found[what] = self.before[what]
        if what in self.found or place in self.unread:
            return self.found.get(what)
        if place in self.resting:
            self.unread[place] = self.resting[place]
        elif len(self.silent) >= _MOST_SILENT:
            self.cut_short = True
        else:
            self._read(connection, place, extent)
        return self.found.get(what)

    def _read(self, connection: KafkaConnection, place: TopicPartition, extent: Extent) -> None:
        try:
            known = a_record_waits(connection, place, extent)
        except errors.TopicAuthorizationFailedError:
            self.unread[place] = f"{place.topic} may not be read; allow us to Read it"
            return
        except errors.KafkaError as error:
            silent = f"{place.topic} cannot be read ({type(error).__name__})"
        else:
            if known is not None:
                self.found[place, extent] = known
                return
            silent = f"{place.topic} gave neither a record nor its end within {TIMEOUT_MS} ms"
        self.unread[place] = self.silent[place] = silent


class SinkGroups:
    """Asks a Kafka cluster, over a connection made at first use."""

    def __init__(self, connection: KafkaConnection) -> None:
        self._connection = connection
        self._admin: KafkaAdminClient | None = None
        self._round = _Round()

    @property
    def troubles(self) -> list[str]:
        """Why it is not known in this round whether records wait for some sinks."""
        reasons = dict.fromkeys(filter(None, (self._round.undescribed, *self._round.unread.values())))
        return [f"{reason}: whether records wait for sinks is not known" for reason in reasons]

    def ask(self, names: Collection[str]) -> dict[str, Group | None]:
        """Begin a new round: the groups by name, none if Kafka cannot be asked."""
        self._round = self._round.following()
        if not names:
            return {}
        try:
            if self._admin is None:
                self._admin = kafka_topics.connect(self._connection)
            groups = read_groups(self._admin, names)
        except errors.KafkaError as error:
            self.close()
            self._round.undescribed = f"Kafka does not describe the groups of sinks ({type(error).__name__})"
            return {}
        if unknown := sorted(name for name, group in groups.items() if group is None):
            self._round.undescribed = (
                f"Kafka does not describe group {unknown[0]}; unless its coordinator is still loading, allow "
                "us to Describe it, and leave its group.protocol at classic"
            )
        return groups

    def a_record_waits(self, extents: Extents, beyond: int) -> bool | None:
        """Whether one of the partitions has a record further than ``beyond`` from its committed offset.

        None: none of those that could be read has one, and some could not be read.
        """
        unknown = False
        for place, extent in extents.items():
            further = extent._replace(committed=extent.committed + beyond)
            if further.committed >= further.end:
                continue
            known = self._round.known(self._connection, place, further)
            if known:
                return True
            unknown |= known is None
        return None if unknown else False

    def close(self) -> None:
        """Close the connection if it is open."""
        if self._admin is not None:
            self._admin.close()
            self._admin = None


def of_task(key: Key, group: Group, *, only: bool) -> Extents:
    """The part of its group that waits for a task; ``only``: its connector has no other."""
    prefix = f"connector-consumer-{key.connector}-"
    taken = frozenset[TopicPartition]().union(*group.held.values())
    places = group.held.get(prefix + key.task)
    if places is None and all(client_id.startswith(prefix) for client_id in group.held):
        places = frozenset(group.extents) - taken
    elif places is None:
        places = taken if only else frozenset()
    return {place: group.extents[place] for place in sorted(places) if place in group.extents}
