"""Single records of any topic by their offsets, committed ones only, many partitions at a time.

What is not there says why: the topic or the offset was never there, retention has removed it, compaction (or
an aborted transaction) has. ``Unstable`` is to be asked for again: a transaction before it is still open.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from collector.kafka import Options
from streaming.redrive.received import PARTITION_EOF, TIMED_OUT, UNKNOWN_PLACE, Received, consume

Partition = tuple[str, int]
Wanted = Mapping[Partition, Collection[int]]
Place = tuple[str, int, int]

SEEK_BEYOND: Final = 1_000
"""Offsets that are read through; wider gaps are jumped over."""
AT_ONCE: Final = 1_000
TIMEOUT_S: Final = 10.0
POLL_S: Final = 0.02
POLLS: Final = round(TIMEOUT_S / POLL_S)


class Absence(StrEnum):
    """Why a record is not there."""

    MISSING = "origin_missing"
    EXPIRED = "payload_expired"
    COMPACTED = "origin_compacted"
    UNSTABLE = "unstable"


@dataclass(slots=True)
class _Search:
    """What is still wanted of one partition, the lowest last; ``end`` is where the partition ended."""

    wanted: list[int]
    end: int


class Fetcher:
    """Reads beside the order: assigns what is asked for, commits nothing."""

    def __init__(self, connection: Options) -> None:
        self._consumer = Consumer(
            connection
            | {
                "group.id": "deadwatch-redrive-fetch",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )

    def fetch(self, wanted: Wanted) -> dict[Place, Received | Absence]:
        """Every place that was asked for; raises ``KafkaException`` when the brokers do not answer."""
        found: dict[Place, Received | Absence] = {}
        searches = {}
        for partition, offsets in wanted.items():
            search = self._begin(partition, sorted(offsets, reverse=True), found)
            if search is not None:
                searches[partition] = search
        places = [TopicPartition(*one, search.wanted[-1]) for one, search in searches.items()]
        self._consumer.assign(places)
        self._consumer.resume(places)  # librdkafka keeps a partition paused that was so when it was let go of
        try:
            while searches:
                self._read(searches, found)
        finally:
            self._consumer.unassign()
        return found

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()

    def _begin(
        self, partition: Partition, offsets: list[int], found: dict[Place, Received | Absence]
    ) -> _Search | None:
        """Tell what cannot be there; the rest is searched."""
        try:
            low, end = self._consumer.get_watermark_offsets(TopicPartition(*partition), timeout=TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() not in UNKNOWN_PLACE:
                raise
            low = end = 0
            found.update({(*partition, offset): Absence.MISSING for offset in offsets})
        for offset in offsets:
            if not low <= offset < end:
                gone = Absence.EXPIRED if offset < low else Absence.MISSING
                found.setdefault((*partition, offset), gone)
        present = [offset for offset in offsets if low <= offset < end]
        return _Search(present, end) if present else None

    def _read(self, searches: dict[Partition, _Search], found: dict[Place, Received | Absence]) -> None:
        """One round; a partition leaves ``searches`` when nothing is wanted of it any more."""
        messages = self._messages()
        for message in messages:
            partition = (message.topic(), message.partition())
            search = searches.get(partition)
            if search is None:
                continue
            self._take(partition, search, message, found)
            if not search.wanted:
                del searches[partition]
                self._consumer.pause([TopicPartition(*partition)])

    def _messages(self) -> list[Received]:
        for _ in range(POLLS):
            messages = consume(self._consumer, AT_ONCE, POLL_S)
            if messages:
                return messages
        raise KafkaException(KafkaError(TIMED_OUT, "the brokers gave no records in time"))

    def _take(
        self, partition: Partition, search: _Search, message: Received, found: dict[Place, Received | Absence]
    ) -> None:
        error, offset = message.error(), message.offset()
        ended = error is not None and error.code() == PARTITION_EOF
        if error is not None and not ended:
            raise KafkaException(error)
        while search.wanted and search.wanted[-1] < offset:
            found[*partition, search.wanted.pop()] = Absence.COMPACTED
        if ended:
            gone = Absence.UNSTABLE if offset < search.end else Absence.COMPACTED
            found.update({(*partition, one): gone for one in search.wanted})
            search.wanted.clear()
        elif search.wanted and search.wanted[-1] == offset:
            found[*partition, search.wanted.pop()] = message
        if search.wanted and search.wanted[-1] - offset > SEEK_BEYOND:
            self._consumer.seek(TopicPartition(*partition, search.wanted[-1]))
