"""Letters of records, decoded once for all that differ in their offset at the origin alone.

Records that failed for one cause carry the same headers but for that number; reading them is most of the work
of moving a record.
"""

from typing import Final, TypeGuard

from streaming.dialects import reading
from streaming.letter import Cause, Letter, letter_of
from streaming.redrive.received import Received

MOST_KNOWN: Final = 1_000
LONGEST: Final = 18
"""Digits that surely fit into Kafka's offsets."""

Pairs = list[tuple[str, bytes | None]]
Key = tuple[tuple[str, bytes | None], ...]


class Letters:
    """Remembers the causes that it has met lately."""

    def __init__(self) -> None:
        self._known: dict[Key, Cause] = {}
        self._dialect_of = {
            one.source_offset: one.name
            for one in reading().dialects
            if one.source_offset and not one.binary_numbers
        }
        """By the header that holds the offset at the origin, where it is text."""
        self._at = 0
        """Where the last one had the offset among its headers."""

    def letter(self, message: Received) -> Letter:
        """What the record says, as ``letter_of`` reads it."""
        pairs = message.headers() or []
        known = self.cause(pairs)
        if known is None:
            return self._decoded(message, pairs)
        cause, raw = known
        return Letter(
            message.topic(),
            message.partition(),
            message.offset(),
            message.timestamp()[1],
            message.key(),
            message.value(),
            tuple(pairs),
            int(raw),
            cause,
        )

    def cause(self, pairs: Pairs) -> tuple[Cause, bytes] | None:
        """The cause that these headers tell, and the digits of the offset, where both are known."""
        at = self._at
        if at >= len(pairs):
            return None
        name, raw = pairs[at]
        cause = self._known.get(tuple(pairs[:at] + pairs[at + 1 :]))
        if cause is None or cause.dialect != self._dialect_of.get(name) or not _is_plain(raw):
            return None
        return cause, raw

    def _decoded(self, message: Received, pairs: Pairs) -> Letter:
        """Read it, and remember its cause if others may have it."""
        letter = letter_of(
            message.topic(),
            message.partition(),
            message.offset(),
            message.timestamp()[1],
            message.key(),
            message.value(),
            pairs,
        )
        places = [at for at, (name, _) in enumerate(pairs) if name in self._dialect_of]
        if len(places) != 1 or not _is_plain(pairs[places[0]][1]):
            return letter
        self._at = places[0]
        key = tuple(pairs[: self._at] + pairs[self._at + 1 :])
        known = self._known.get(key)
        if known == letter.cause:
            return letter._replace(cause=known)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[key] = letter.cause
        return letter


def _is_plain(raw: bytes | None) -> TypeGuard[bytes]:
    """Whether it is a number as everyone writes it."""
    return raw is not None and raw.isdigit() and len(raw) <= LONGEST
