"""Reads a topic of log lines with kafka-python: partitions are assigned, no group is joined."""

from collections.abc import Mapping
from typing import Final

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import KafkaError, OffsetOutOfRangeError
from kafka.protocol.consumer import IsolationLevel

from collector.kafka import KafkaConnection, create_no_topics
from collector.sources import kafka_topics
from collector.sources.kafka_timeouts import down
from collector.sources.log_envelope import RawRecord
from collector.sources.log_topic import Extent
from collector.sources.source import SourceDownError

MAX_RECORDS: Final = 500
"""Of one read."""

POLL_MS: Final = 100


class KafkaLogReader:
    """One topic; the connections are made when they are needed, and anew after a failure."""

    def __init__(self, topic: str, connection: KafkaConnection) -> None:
        self._topic = topic
        self._connection = connection
        self._admin: KafkaAdminClient | None = None
        self._consumer: KafkaConsumer | None = None

    def look(self) -> Extent:
        """The topic as it is; ``SourceDownError`` when it is not there."""
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
            return Extent(str(topic["topic_id"]), self._bounds(self._admin, topic["partitions"]))
        except KafkaError as error:
            self.close()
            raise down(
                "looking up the topic", _why("Kafka does not tell of the topic", error), error
            ) from None

    def seek(self, offsets: Mapping[int, int]) -> None:
        """Go on at these offsets."""
        try:
            if self._consumer is None:
                self._consumer = self._consume()
            places = {TopicPartition(self._topic, number): offset for number, offset in offsets.items()}
            if self._consumer.assignment() != set(places):
                self._consumer.assign(list(places))
            for place, offset in places.items():
                self._consumer.seek(place, offset)
        except KafkaError as error:
            self.close()
            raise down("reading the topic", _why("Kafka does not let us read", error), error) from None

    def read(self) -> list[RawRecord] | None:
        """Some records; None when an offset is no longer there."""
        if self._consumer is None:
            return None
        try:
            found = self._consumer.poll(timeout_ms=POLL_MS, max_records=MAX_RECORDS)
        except OffsetOutOfRangeError:
            return None
        except KafkaError as error:
            self.close()
            raise down("reading the topic", _why("Kafka does not let us read", error), error) from None
        return [
            RawRecord(record.partition, record.offset, _time(record.timestamp), record.key, record.value)
            for records in found.values()
            for record in records
        ]

    def close(self) -> None:
        """Let go of the connections."""
        admin, self._admin = self._admin, None
        consumer, self._consumer = self._consumer, None
        if admin is not None:
            admin.close()
        if consumer is not None:
            consumer.close(autocommit=False)

    def _bounds(
        self, admin: KafkaAdminClient, partitions: list[dict[str, int]]
    ) -> dict[int, tuple[int, int]]:
        """Those of partitions that have a leader."""
        places = [
            TopicPartition(self._topic, one["partition_index"]) for one in partitions if one["leader_id"] >= 0
        ]
        first, end = (
            admin.list_partition_offsets(dict.fromkeys(places, spec), IsolationLevel.READ_COMMITTED)
            for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST)
        )
        return {place.partition: (first[place].offset, end[place].offset) for place in places}

    def _consume(self) -> KafkaConsumer:
        consumer = KafkaConsumer(
            **self._connection.kafka_python(),
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level="read_committed",
            bootstrap_timeout_ms=kafka_topics.TIMEOUT_MS,
            request_timeout_ms=kafka_topics.TIMEOUT_MS,
        )
        create_no_topics(consumer)
        return consumer


def _why(what: str, error: KafkaError) -> str:
    return f"{what} ({type(error).__name__}); check the brokers and our permissions"


def _time(timestamp_ms: int) -> int | None:
    return timestamp_ms if timestamp_ms >= 0 else None
