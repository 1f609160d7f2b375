"""Single records of any topic by their offsets, and the originals of share groups' dead letters.

Only committed records are read, of many partitions at a time. For a record that is not there a reason says
why: the topic or the offset was never there, retention has removed it, compaction (or an aborted transaction)
has. None instead is to be asked for again: a transaction before it is still open, or the partition has just
got another leader, which does not know yet that all have it.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from deadwatch.deadletter.dialects import SHARE_GROUP
from deadwatch.deadletter.record import DeadLetter
from deadwatch.orders.reasons import SkipReason
from deadwatch.runtime.kafka import Options, is_topic_name
from redrive.cluster import written_end
from redrive.librdkafka import (
    PARTITION_EOF,
    READ_COMMITTED,
    SEEK_BEYOND,
    TIMED_OUT,
    UNKNOWN_PARTITION,
    ConsumerRecord,
    consume,
    headers_of,
)
from redrive.move.rewrite import AHEAD_MS, PendingRecord, Place, origin_of, rehydrated

Partition = tuple[str, int]
OffsetsByPartition = Mapping[Partition, Collection[int]]

RECORDS_PER_POLL: Final = 1_000
TIMEOUT_S: Final = 10.0
POLL_S: Final = 0.02
POLLS: Final = round(TIMEOUT_S / POLL_S)


Found = dict[Place, ConsumerRecord | SkipReason | None]
"""The record of each place, or why it is not there; None where it cannot be read yet."""


@dataclass(slots=True)
class _Search:
    """Offsets still wanted of one partition, the lowest last; ``end`` is where the partition ended."""

    wanted: list[int]
    end: int


class Fetcher:
    """A consumer that is assigned what is wanted and commits nothing."""

    def __init__(self, connection: Options, admin: AdminClient) -> None:
        self._admin = admin
        self._consumer = Consumer(connection | READ_COMMITTED | {"group.id": "deadwatch-redrive-fetch"})

    def fetch(self, wanted: OffsetsByPartition) -> Found:
        """The record of every place that was asked for, or why it is not there.

        Raises ``KafkaException`` when the brokers do not answer.
        """
        found: Found = {}
        searches = {}
        for partition, offsets in wanted.items():
            if not is_topic_name(partition[0]):  # librdkafka would wait for its answer in vain
                found.update({(*partition, offset): SkipReason.ORIGIN_MISSING for offset in offsets})
                continue
            search = self._begin(partition, sorted(offsets, reverse=True), found)
            if search is not None:
                searches[partition] = search
        self._consumer.assign([TopicPartition(*one, each.wanted[-1]) for one, each in searches.items()])
        try:
            while searches:
                self._read(searches, found)
        finally:
            self._consumer.unassign()
        return found

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def _begin(self, partition: Partition, offsets: list[int], found: Found) -> _Search | None:
        """Put into ``found`` what cannot be there; the rest is searched."""
        try:
            low, end = self._consumer.get_watermark_offsets(TopicPartition(*partition), timeout=TIMEOUT_S)
            written = end if offsets[0] < end else written_end(self._admin, *partition)
        except KafkaException as error:
            if error.args[0].code() not in UNKNOWN_PARTITION:
                raise
            low = end = written = 0
        for offset in offsets:
            if offset >= end:  # of committed records
                found[*partition, offset] = None if offset < written else SkipReason.ORIGIN_MISSING
            elif offset < low:
                found[*partition, offset] = SkipReason.PAYLOAD_EXPIRED
        present = [offset for offset in offsets if low <= offset < end]
        return _Search(present, end) if present else None

    def _read(self, searches: dict[Partition, _Search], found: Found) -> None:
        """One round; a partition leaves ``searches`` when nothing is wanted of it any more."""
        for message in self._messages():
            partition = (message.topic(), message.partition())
            search = searches.get(partition)
            if search is None:
                continue
            self._take(partition, search, message, found)
            if not search.wanted:
                del searches[partition]
                self._consumer.incremental_unassign([TopicPartition(*partition)])

    def _messages(self) -> list[ConsumerRecord]:
        for _ in range(POLLS):
            messages = consume(self._consumer, RECORDS_PER_POLL, POLL_S)
            if messages:
                return messages
        raise KafkaException(KafkaError(TIMED_OUT, "the brokers gave no records in time"))

    def _take(self, partition: Partition, search: _Search, message: ConsumerRecord, found: Found) -> None:
        error, offset = message.error(), message.offset()
        ended = error is not None and error.code() == PARTITION_EOF
        if error is not None and not ended:
            raise KafkaException(error)
        while search.wanted and search.wanted[-1] < offset:
            found[*partition, search.wanted.pop()] = SkipReason.ORIGIN_COMPACTED
        if ended:
            gone = None if offset < search.end else SkipReason.ORIGIN_COMPACTED
            found.update({(*partition, one): gone for one in search.wanted})
            search.wanted.clear()
        elif search.wanted and search.wanted[-1] == offset:
            found[*partition, search.wanted.pop()] = message
        if search.wanted and search.wanted[-1] - offset > SEEK_BEYOND:
            self._consumer.seek(TopicPartition(*partition, search.wanted[-1]))


def rehydrate(
    fetcher: Fetcher, dead_letters: list[DeadLetter]
) -> tuple[list[PendingRecord], list[DeadLetter]]:
    """The records that dead letters stand for, in their order, and those whose origin cannot be read yet.

    The record of a share group's dead letter is read at its origin, with its key, value, headers and
    timestamp. Where it is gone, or another one is there, a dead letter with a payload of its own stands for
    itself; one without is refused, and never becomes a tombstone.
    """
    shared = [one for one in dead_letters if one.cause.dialect == SHARE_GROUP.name]
    if not shared:
        return [PendingRecord(one, one) for one in dead_letters], []
    wanted: dict[Partition, set[int]] = defaultdict(set)
    for topic, partition, offset in map(origin_of, shared):
        if partition >= 0:
            wanted[topic, partition].add(offset)
    found = fetcher.fetch(wanted) if wanted else {}
    pending, later = [], []
    for dead_letter in dead_letters:
        if dead_letter.dialect != SHARE_GROUP.name:
            pending.append(PendingRecord(dead_letter, dead_letter))
            continue
        original = found.get(origin_of(dead_letter), SkipReason.NO_ORIGIN)
        if original is None:
            later.append(dead_letter)
        else:
            pending.append(_pending(dead_letter, original))
    return pending, later


def _pending(dead_letter: DeadLetter, original: ConsumerRecord | SkipReason) -> PendingRecord:
    if not isinstance(original, SkipReason) and _is_another(dead_letter, original):
        original = SkipReason.ORIGIN_MISSING
    if not isinstance(original, SkipReason):
        headers = headers_of(original)
        if headers is None:
            return PendingRecord(dead_letter, dead_letter, SkipReason.HEADERS_UNREADABLE)
        found = (original.timestamp()[1], original.key(), original.value(), tuple(headers))
        return rehydrated(dead_letter, found)
    if dead_letter.value is not None or dead_letter.key is not None:
        return PendingRecord(dead_letter, dead_letter)
    return PendingRecord(dead_letter, dead_letter, original)


def _is_another(dead_letter: DeadLetter, found: ConsumerRecord) -> bool:
    """Whether the record cannot be the one that failed: its topic was made anew since."""
    copied = dead_letter.key, dead_letter.value
    if copied != (None, None):
        return copied != (found.key(), found.value())
    return found.timestamp()[1] - dead_letter.timestamp_ms > AHEAD_MS
