"""The record that is written for a dead letter: its own key, value, timestamp and headers, and ours.

Each header of ours is written once, whatever the dead letter carried. Of the others those are left out that
the order's rule names (``deadletter.dropped``); no other one is touched. A parked record keeps all. A share
group's dead letter has none of its record's headers and perhaps no payload: the record at its origin is
written instead (``PendingRecord.original``).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from deadwatch.contract import headers as names
from deadwatch.deadletter.dropped import Patterns, without
from deadwatch.deadletter.record import OURS, DeadLetter, Headers, own_number, parse_record

BY_KEY: Final = -1
"""librdkafka's partition number for: the partitioner decides by the key."""

DeadLetterId = tuple[int, int]
"""Partition and offset of a dead letter on its topic."""
Place = tuple[str, int, int]
"""Topic, partition and offset."""
NOWHERE: Final = ("", -1, -1)
AHEAD_MS: Final = 3_600_000
"""Kafka takes no record that is further ahead of its clock (``message.timestamp.after.max.ms``)."""


class ProducerRecord(NamedTuple):
    """One record to write; where ``partition`` is None its key decides."""

    topic: str
    partition: int | None
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    def __repr__(self) -> str:
        """Its place and time, without its content."""
        return f"ProducerRecord({self.topic}, {self.partition}, {self.timestamp_ms})"

    @property
    def size(self) -> int:
        """Bytes of key and value."""
        return len(self.key or b"") + len(self.value or b"")


@dataclass(slots=True)
class PendingRecord:
    """A dead letter that waits for its decision, and the record that is written for it.

    ``original`` is the dead letter itself, or the record at its origin. ``refused`` says why it cannot be
    moved, ``failed`` that Kafka refused it. ``waited_ms`` is when it was due, 0 where it did not wait;
    ``reserved`` says that its share of the target's rate is taken already.
    """

    dead_letter: DeadLetter
    original: DeadLetter
    refused: str = ""
    failed: bool = False
    waited_ms: int = 0
    reserved: bool = False

    @property
    def id(self) -> DeadLetterId:
        """Where the dead letter is on its topic."""
        return self.dead_letter.partition, self.dead_letter.offset

    def dead_since_ms(self, now_ms: int) -> int:
        """When it came to the dead letter topic, or a redrive moved it last, as far as is known.

        A time in the future counts as now, for its clock may be ahead of ours; as 0 where no clock is so far.
        """
        headers = dict(self.original.headers) if self.original.cause.attempts else {}
        moved_ms = own_number(headers, names.REDRIVE_MOVED_AT_MS)
        times_ms = (self.dead_letter.timestamp_ms, moved_ms, 0)
        return min(max(one for one in times_ms if one <= now_ms + AHEAD_MS), now_ms)

    @property
    def origin(self) -> str:
        """Where the record was read first, ``<topic>/<partition>/<offset>``."""
        if self.original.cause.origin:
            return self.original.cause.origin
        known = origin_of(self.dead_letter)
        topic, partition, offset = place_of(self.dead_letter) if known == NOWHERE else known
        return f"{topic}/{partition}/{offset}"


def place_of(dead_letter: DeadLetter) -> Place:
    """Where the dead letter itself is."""
    return dead_letter.topic, dead_letter.partition, dead_letter.offset


def origin_of(dead_letter: DeadLetter) -> Place:
    """Where the dead letter says that its record is; ``NOWHERE`` unless it says all of it."""
    topic, partition = dead_letter.source_topic, dead_letter.source_partition
    offset = dead_letter.source_offset
    return NOWHERE if not topic or partition is None or offset is None else (topic, partition, offset)


def rehydrated(
    dead_letter: DeadLetter, found: tuple[int, bytes | None, bytes | None, Headers]
) -> PendingRecord:
    """The dead letter with the timestamp, key, value and headers that were ``found`` at its origin."""
    source = parse_record(
        dead_letter.source_topic, dead_letter.source_partition or 0, dead_letter.source_offset or 0, *found
    )
    return PendingRecord(dead_letter, source)


@lru_cache(256)
def shared_headers(order: str, attempt: int, fingerprint: str, now_ms: int) -> Headers:
    """Our headers that all records of a transaction share which failed alike."""
    return (
        (names.REDRIVE_ID, order.encode()),
        (names.REDRIVE_ATTEMPTS, b"%d" % attempt),
        (names.REDRIVE_GROUP, fingerprint.encode()),
        (names.REDRIVE_MOVED_AT_MS, b"%d" % now_ms),
    )


def for_target(  # noqa: PLR0917 -- what is written, in its order
    pending: PendingRecord,
    place: tuple[str, int | None],
    order: str,
    attempt: int,
    times_ms: tuple[int, int],
    dropped: Patterns = (),
) -> ProducerRecord:
    """The record for its target; ``times_ms`` are the time that it had to wait for (0: none), and now.

    Headers that a pattern of ``dropped`` matches are left out.
    """
    (waited_ms, now_ms), original = times_ms, pending.original
    fingerprint = pending.dead_letter.cause.fingerprint
    by, attempts, group, moved_at = shared_headers(order, attempt, fingerprint, now_ms)
    ours: Headers = (by, attempts, group, (names.REDRIVE_ORIGIN, pending.origin.encode()), moved_at)
    if waited_ms:
        ours += ((names.REDRIVE_NOT_BEFORE_MS, b"%d" % waited_ms),)
    headers = without(_without_ours(original), dropped) + ours
    return ProducerRecord(*place, original.timestamp_ms, original.key, original.value, headers)


def for_parking(
    pending: PendingRecord, place: tuple[str, int | None], order: str, reason: str, now_ms: int
) -> ProducerRecord:
    """The record for the parked topic; what failed last is in the headers of the dead letter's writer."""
    original = pending.original
    ours: Headers = (
        (names.REDRIVE_ID, order.encode()),
        (names.REDRIVE_ATTEMPTS, b"%d" % original.attempts),
        (names.REDRIVE_ORIGIN, pending.origin.encode()),
        (names.REDRIVE_PARKED_REASON, reason.encode()),
        (names.REDRIVE_PARKED_AT_MS, b"%d" % now_ms),
    )
    failure = () if original is pending.dead_letter else _without_ours(pending.dead_letter)
    headers = _without_ours(original) + ours + failure
    return ProducerRecord(*place, original.timestamp_ms, original.key, original.value, headers)


def _without_ours(dead_letter: DeadLetter) -> Headers:
    if not dead_letter.cause.marked:
        return dead_letter.headers
    return tuple(pair for pair in dead_letter.headers if pair[0] not in OURS)


def wire_size(key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]) -> int:
    """Bytes of a record that is alone in its batch; of two records Kafka counts the same one as larger."""
    pairs = [(name.encode(), content) for name, content in headers]
    parts = [key, value, *(part for pair in pairs for part in pair)]
    size = 3 + _varint_size(len(pairs)) + sum(_varint_size(-1 if one is None else len(one)) for one in parts)
    size += sum(len(one or b"") for one in parts)
    return size + _varint_size(size)


def _varint_size(number: int) -> int:
    """Bytes of a number in Kafka's zigzag encoding."""
    return max(((number * 2 if number >= 0 else -number * 2 - 1).bit_length() + 6) // 7, 1)
