"""The source of a Kafka topic of log lines, as log shippers fill it: every partition, from its beginning.

No group is joined: the place in each partition and what is known there are saved once the events are
committed. The events of a partition are a source of their own, with positions (incarnation of the topic,
offset of the record, ordinal in it): a restart changes nothing. A topic that is created anew begins its
next incarnation, as a partition does that has lost its last records (an unclean election): other records get
their offsets.

Records that were deleted before they were read (retention, a deleted topic) are a gap: it is published
and counted once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import CorruptRecordError, KafkaError, OffsetOutOfRangeError
from kafka.protocol.consumer import IsolationLevel
from pydantic import TypeAdapter

from collector.sources.logs.dialects.cause import Cause, unread
from collector.sources.logs.dialects.connect import Worker
from collector.sources.logs.files import Following
from collector.sources.logs.formats import text_of
from collector.sources.logs.records import RawRecord, Resource, line_of, scan
from collector.sources.logs.scan import EXCERPT_BYTES, Found, Memory
from collector.sources.source import Chunk, Consumer, SourceDownError, down
from deadwatch.contract.events import Event, Position
from deadwatch.contract.topics import LOG_TOPIC, log_partition
from deadwatch.runtime import kafka_topics
from deadwatch.runtime.kafka import KafkaConnection

GAP: Final = "records_deleted_unread"
RECREATED: Final = "topic_recreated"
TRUNCATED: Final = "topic_truncated"
BEFORE_THE_RECORD: Final = -1
"""The ordinal of what was found before a record was read."""

LOOKUP_INTERVAL_MS: Final = 10_000
"""How often partitions are looked up: new ones are found, and a topic that was made anew."""

MAX_RECORDS: Final = 500
"""The most records of one read."""

POLL_MS: Final = 100
UNREADABLE: Final = (
    "the next record of a partition ({places}) cannot be read (CorruptRecordError):"
    " if the name of a header is no UTF-8, delete the record with kafka-delete-records.sh"
)
_READING: Final = ("reading the topic", "Kafka does not let us read")


@dataclass(frozen=True, slots=True)
class PartitionPlace:
    """Where reading a partition goes on, and what is known there.

    ``topic_id`` identifies the topic; ``epoch`` counts the incarnations of the partition.
    """

    topic_id: str
    epoch: int = 0
    offset: int = 0
    resources: Mapping[str, Resource] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Extent:
    """What a topic is now: its id, and the first and the next offset of each partition that has a leader."""

    topic_id: str
    bounds: Mapping[int, tuple[int, int]]


class KafkaLogReader:
    """One topic; the connections are made when they are needed, and anew after a failure."""

    def __init__(self, topic: str, connection: KafkaConnection) -> None:
        self._topic = topic
        self._connection = connection
        self._admin: KafkaAdminClient | None = None
        self._consumer: Consumer | None = None

    def describe(self) -> Extent:
        """The topic as it is now; raises ``SourceDownError`` if it does not exist."""
        try:
            if self._admin is None:
                self._admin = kafka_topics.connect(self._connection)
            (topic,) = self._admin.describe_topics([self._topic])
            if not topic["partitions"]:
                self.close()
                raise SourceDownError(
                    "the topic does not exist, or we may not describe it; "
                    "it will be read from its beginning when it appears"
                )
            led = [one["partition_index"] for one in topic["partitions"] if one["leader_id"] >= 0]
            places = [TopicPartition(self._topic, number) for number in led]
            first, end = (
                self._admin.list_partition_offsets(dict.fromkeys(places, spec), IsolationLevel.READ_COMMITTED)
                for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST)
            )
            bounds = {place.partition: (first[place].offset, end[place].offset) for place in places}
            return Extent(str(topic["topic_id"]), bounds)
        except KafkaError as error:
            raise self._failed("looking up the topic", "Kafka does not describe the topic", error) from None

    def seek(self, offsets: Mapping[int, int]) -> None:
        """Read on from these offsets, one for each partition to read."""
        try:
            if self._consumer is None:
                self._consumer = Consumer(self._connection, auto_offset_reset="none")
            places = {TopicPartition(self._topic, number): offset for number, offset in offsets.items()}
            if self._consumer.assignment() != set(places):
                self._consumer.assign(list(places))
            for place, offset in places.items():
                self._consumer.seek(place, offset)
        except KafkaError as error:
            raise self._failed(*_READING, error) from None

    def read(self) -> list[RawRecord] | None:
        """Some records, in the order of each partition; None if an offset no longer exists."""
        if self._consumer is None:
            return None
        try:
            found = self._consumer.poll(timeout_ms=POLL_MS, max_records=MAX_RECORDS)
        except OffsetOutOfRangeError:
            return None
        except CorruptRecordError:
            raise SourceDownError(UNREADABLE.format(places=self._next(self._consumer))) from None
        except KafkaError as error:
            raise self._failed(*_READING, error) from None
        return [
            RawRecord(record.partition, record.offset, _time(record.timestamp), record.key, record.value)
            for records in found.values()
            for record in records
        ]

    def close(self) -> None:
        """Close all connections that are open."""
        admin, self._admin = self._admin, None
        consumer, self._consumer = self._consumer, None
        if admin is not None:
            admin.close()
        if consumer is not None:
            consumer.close(autocommit=False)

    def _next(self, consumer: Consumer) -> str:
        """Where reading goes on in each partition that has something to read."""
        places = ((place, consumer.position(place)) for place in sorted(consumer.assignment()))
        behind = ((place, offset) for place, offset in places if offset < (consumer.highwater(place) or 0))
        return ", ".join(f"{place.partition}/{offset}" for place, offset in behind)

    def _failed(self, call: str, what: str, error: KafkaError) -> SourceDownError:
        self.close()
        return down(call, f"{what} ({type(error).__name__}); check the brokers and our permissions", error)


_PLACES = TypeAdapter(dict[int, PartitionPlace])


class LogTopicSource:
    """Follows one topic of log lines."""

    kind = "log"

    def __init__(self, topic: str, reader: KafkaLogReader, following: Following) -> None:
        self.name = f"{LOG_TOPIC}{topic}"
        self.poll_interval_ms = following.poll_interval_ms
        self._topic = topic
        self._reader = reader
        scanner, worker = following.scanner, following.worker
        self._json_only = scanner.format == "json"
        self._as_it_is = scanner.format not in {"", "json"}
        self._scanner = replace(scanner, format="") if self._json_only else scanner
        self._new = Resource(Memory(worker=Worker(name=worker, named_by_setting=bool(worker))))
        self._following = following
        self._places = following.restored(_PLACES, self.name, following.publishing.saved(self.name), {})
        self._described_ms: int | None = None

    def poll(self) -> Chunk | None:
        """The next records, None when there are none now. After a failure all is looked up anew."""
        now_ms = self._following.publishing.clock()
        described_ms, self._described_ms = self._described_ms, None
        places, events = dict(self._places), list[Event]()
        if described_ms is None or not 0 <= now_ms - described_ms < LOOKUP_INTERVAL_MS:
            described_ms = now_ms
            events += self._align(places)
        records = self._reader.read()
        for record in records or ():
            events += self._read(places, record, now_ms)
        self._described_ms = None if records is None else described_ms
        if not records and places == self._places:
            return None
        self._places = places
        return Chunk(tuple(events), _PLACES.dump_python(places, mode="json"), more=bool(records))

    def close(self) -> None:
        """Close all connections that are open."""
        self._reader.close()

    def _align(self, places: dict[int, PartitionPlace]) -> Iterator[Event]:
        """Move the places and the reader to where reading goes on, and yield the gaps that were found.

        A gap's position depends on where reading before, not on when it was found.
        """
        extent = self._reader.describe()
        for number, (first, end) in extent.bounds.items():
            before = places.get(number, PartitionPlace(extent.topic_id, offset=first))
            places[number], trouble = _placed(before, extent.topic_id, first, end)
            if trouble is not None:
                epoch = places[number].epoch
                offset = before.offset if epoch == before.epoch else 0
                yield self._event(trouble, number, Position(epoch, offset, BEFORE_THE_RECORD), None)
        self._reader.seek({number: places[number].offset for number in extent.bounds})

    def _read(self, places: dict[int, PartitionPlace], raw: RawRecord, now_ms: int) -> Iterator[Event]:
        """The events of a record; the place of its partition moves behind it."""
        place = places[raw.partition]
        record, trouble = line_of(raw, json_only=self._json_only, as_it_is=self._as_it_is)
        resources, found = place.resources, list[Found]()
        if record is not None:
            resources, found = scan(resources, record, now_ms, scanner=self._scanner, new=self._new)
        places[raw.partition] = replace(place, offset=raw.offset + 1, resources=resources)
        causes = [(hit.cause, hit.at_ms) for hit in found]
        if trouble:
            excerpt = text_of((raw.value or b"")[:EXCERPT_BYTES])
            causes.append((unread(trouble, excerpt), raw.at_ms))
        for ordinal, (cause, at_ms) in enumerate(causes):
            position = Position(place.epoch, raw.offset, ordinal)
            yield self._event(cause, raw.partition, position, at_ms)

    def _event(self, cause: Cause, partition: int, position: Position, at_ms: int | None) -> Event:
        return self._following.event(cause, log_partition(self._topic, partition), position, at_ms)


def _placed(
    place: PartitionPlace, topic_id: str, first: int, end: int
) -> tuple[PartitionPlace, Cause | None]:
    """Where to read on in a partition that holds ``[first, end)``, and what was missed before that."""
    if place.topic_id == topic_id and topic_id != kafka_topics.NO_ID and place.offset > end:
        cut = f"read up to offset {place.offset}, where its records end at {end}; read on from there"
        return replace(place, epoch=place.epoch + 1, offset=end), unread(TRUNCATED, cut)
    if place.topic_id != topic_id or place.offset > end:
        begun = PartitionPlace(topic_id, place.epoch + 1, first)
        return begun, unread(RECREATED, f"read up to offset {place.offset}; begun anew at {first}")
    if place.offset < first:
        gone = f"{first - place.offset} offsets from {place.offset} were gone before they were read"
        return replace(place, offset=first), unread(GAP, gone)
    return place, None


def _time(timestamp_ms: int) -> int | None:
    return timestamp_ms if timestamp_ms >= 0 else None
