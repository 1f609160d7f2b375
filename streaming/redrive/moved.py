"""What is written for a dead letter: its own key, value, time and headers, and ours beside them.

Of our headers there is one each, whatever came before; no other header is touched, those of the writer of the
dead letter included. A share group's dead letter has none of its record's headers and perhaps no payload:
there the record at its origin is what is written (``original``).
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from collector.contract import headers as names
from streaming.letter import OURS, Headers, Letter, letter_of

BY_KEY: Final = -1
"""librdkafka's word for: the partitioner decides."""


DeadLetter = tuple[int, int]
"""Partition and offset of a dead letter, on its topic."""


class Record(NamedTuple):
    """One record to write; without ``partition`` its key decides."""

    topic: str
    partition: int | None
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    def __repr__(self) -> str:
        """Without what it holds."""
        return f"Record({self.topic}, {self.partition}, {self.timestamp_ms})"

    @property
    def size(self) -> int:
        """Bytes of key and value."""
        return len(self.key or b"") + len(self.value or b"")

    @property
    def target(self) -> tuple[str, int]:
        """Topic and partition, in librdkafka's words."""
        return self.topic, BY_KEY if self.partition is None else self.partition


def wire_size(key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]) -> int:
    """Bytes of a record that is alone in its batch, without the batch's own: of two, the one that Kafka takes
    for the larger has more.
    """
    pairs = [(name.encode(), content) for name, content in headers]
    parts = [key, value, *(part for pair in pairs for part in pair)]
    size = 3 + _varint(len(pairs)) + sum(_varint(-1 if one is None else len(one)) for one in parts)
    size += sum(len(one or b"") for one in parts)
    return size + _varint(size)


def _varint(number: int) -> int:
    """Bytes of it in Kafka's zigzag encoding."""
    return max(((number * 2 if number >= 0 else -number * 2 - 1).bit_length() + 6) // 7, 1)


class Subject(NamedTuple):
    """A dead letter and the record that it stands for: itself, or the one at its origin."""

    letter: Letter
    original: Letter

    @property
    def moved_at_ms(self) -> int:
        """When a redrive moved it last; 0 when none did or nobody can tell."""
        if not self.original.cause.attempts:
            return 0
        raw = dict(self.original.headers).get(names.REDRIVE_MOVED_AT_MS) or b""
        return int(raw) if raw.isascii() and raw.isdigit() else 0

    def dead_since_ms(self, now_ms: int) -> int:
        """When it came to the dead letter topic, as far as can be told: Connect keeps the original's time.

        A time that is still to come tells nothing.
        """
        dead_ms, moved_ms = self.letter.timestamp_ms, self.moved_at_ms
        return max(dead_ms if dead_ms <= now_ms else 0, moved_ms if moved_ms <= now_ms else 0)

    @property
    def origin(self) -> str:
        """Where it was read first."""
        letter, cause = self.letter, self.letter.cause
        if self.original.cause.origin:
            return self.original.cause.origin
        if cause.source_topic and cause.source_partition is not None and letter.source_offset is not None:
            return f"{cause.source_topic}/{cause.source_partition}/{letter.source_offset}"
        return f"{letter.topic}/{letter.partition}/{letter.offset}"


def rehydrated(letter: Letter, found: tuple[int, bytes | None, bytes | None, Headers]) -> Subject:
    """With the record at the letter's origin: its time, key, value and headers."""
    source = letter_of(letter.source_topic, letter.source_partition or 0, letter.source_offset or 0, *found)
    return Subject(letter, source)


@lru_cache(256)
def marks(order: str, attempt: int, fingerprint: str, now_ms: int) -> Headers:
    """Ours that all records of a transaction share which failed alike."""
    return (
        (names.REDRIVE_ID, order.encode()),
        (names.REDRIVE_ATTEMPTS, b"%d" % attempt),
        (names.REDRIVE_GROUP, fingerprint.encode()),
        (names.REDRIVE_MOVED_AT_MS, b"%d" % now_ms),
    )


def sent(
    subject: Subject, place: tuple[str, int | None], order: str, attempt: int, times_ms: tuple[int, int]
) -> Record:
    """For its target; ``times_ms``: what it has waited for (0: nothing), and now."""
    waited_ms, now_ms = times_ms
    original = subject.original
    by, attempts, group, moved_at = marks(order, attempt, subject.letter.cause.fingerprint, now_ms)
    ours: Headers = (by, attempts, group, (names.REDRIVE_ORIGIN, subject.origin.encode()), moved_at)
    if waited_ms:
        ours += ((names.REDRIVE_NOT_BEFORE_MS, b"%d" % waited_ms),)
    return Record(*place, original.timestamp_ms, original.key, original.value, _kept(original) + ours)


def parked(subject: Subject, place: tuple[str, int | None], order: str, reason: str, now_ms: int) -> Record:
    """For the topic of parked records; what failed last is in the headers of the dead letter's writer."""
    original = subject.original
    ours: Headers = (
        (names.REDRIVE_ID, order.encode()),
        (names.REDRIVE_ATTEMPTS, b"%d" % original.attempts),
        (names.REDRIVE_ORIGIN, subject.origin.encode()),
        (names.REDRIVE_PARKED_REASON, reason.encode()),
        (names.REDRIVE_PARKED_AT_MS, b"%d" % now_ms),
    )
    story = () if original is subject.letter else _kept(subject.letter)
    headers = _kept(original) + ours + story
    return Record(*place, original.timestamp_ms, original.key, original.value, headers)


def _kept(letter: Letter) -> Headers:
    """Without ours."""
    if not letter.cause.marked:
        return letter.headers
    return tuple(pair for pair in letter.headers if pair[0] not in OURS)
