"""Which offsets of one partition are still open, and how Kafka keeps that beside the committed offset.

An offset is open from the moment its record is read until the record has its outcome. What is committed is
the first open offset and, as the commit's metadata, which of the offsets behind it are open as well: whoever
resumes does exactly what is not done. Kafka takes 4 096 bytes of metadata (``offset.metadata.max.bytes``);
``room`` says whether one more record may be read so that every order of completion fits
(docs/decisions/0017).
"""

from base64 import b85decode, b85encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, Self

METADATA_BYTES: Final = 4_096
PAYLOAD_BYTES: Final = METADATA_BYTES * 4 // 5 - 19
"""Bytes before base 85, without the two numbers (nine bytes each) and the byte in front."""
MAX_SPAN: Final = PAYLOAD_BYTES * 8
"""From the first open offset to the last: a bit for each fits."""
MAX_OPEN: Final = PAYLOAD_BYTES // 11
"""Open offsets that fit whatever is between them: the distance (nine bytes), how many in a row (two)."""
BITMAP: Final = 0
RUNS: Final = 1
CONTINUED: Final = 128
"""This bit of a byte says that the number goes on."""


@dataclass(slots=True)
class OpenOffsets:
    """The progress of an order in one partition of its dead letter topic."""

    position: int
    """The next offset to read."""
    moved: int = 0
    """How many records of the partition this order has moved to a target."""
    open: set[int] = field(default_factory=set)
    done_to: int = 0
    """The offset behind the last one that is done."""
    first: int = 0
    """No offset before it is open."""

    def __post_init__(self) -> None:
        self.first = min(self.open, default=self.position)

    @classmethod
    def resumed(cls, offset: int, metadata: str) -> Self:
        """The progress as it was committed: an offset and its metadata."""
        if not metadata:
            return cls(offset)
        moved, gap, holes = decode(metadata)
        return cls(offset + gap, moved, {offset + hole for hole in holes}, offset + gap)

    @property
    def closed(self) -> int:
        """How many offsets are done, counted from 0: more with every commit, and as many for who resumes."""
        holes = sum(offset < self.done_to for offset in self.open)
        return self.done_to - holes if holes else min(self.open, default=self.position)

    def room(self, offset: int) -> bool:
        """Whether the record at ``offset`` may be read."""
        if len(self.open) < MAX_OPEN or offset < self.first + MAX_SPAN:
            return True
        self.first = min(self.open)
        return offset < self.first + MAX_SPAN

    def read(self, offset: int) -> None:
        """The record at ``offset`` is open from now on; no record is between it and the one read before."""
        self.open.add(offset)
        self.position = offset + 1

    def done(self, offset: int) -> None:
        """The record at ``offset`` has been moved, parked, skipped or is not selected."""
        self.open.discard(offset)
        if offset >= self.done_to:
            self.done_to = offset + 1

    def all_moved(self, offsets: list[int]) -> None:
        """The records at these offsets are done: they have been moved."""
        self.open.difference_update(offsets)
        self.done_to = max(self.done_to, max(offsets) + 1)
        self.moved += len(offsets)

    def expired(self, low: int) -> None:
        """Nothing before ``low`` is there to be read any more."""
        self.position = self.done_to = low

    def undone(self, offset: int) -> None:
        """The record is open again: the transaction that was to close it was aborted."""
        self.open.add(offset)
        self.first = min(self.first, offset)

    def none_moved(self, offsets: list[int]) -> None:
        """Undo ``all_moved``."""
        self.open.update(offsets)
        self.first = min(self.first, *offsets)
        self.moved -= len(offsets)

    def commit(self) -> tuple[int, str]:
        """Offset and metadata to commit."""
        first = self.first = min(self.open, default=self.position)
        holes = sorted(offset - first for offset in self.open if offset < self.done_to)
        gap = self.done_to - first if holes else 0
        return first, encode(self.moved, gap, holes) if self.moved or holes else ""


def encode(moved: int, gap: int, holes: list[int]) -> str:
    """The metadata of a commit: reading goes on at ``gap``, ``holes`` are the open offsets below it, sorted.

    Both count from the committed offset, so the holes begin with 0.
    """
    if len(holes) <= MAX_OPEN:
        body = bytes([RUNS]) + _encode_runs(holes)
    else:
        body = bytes([BITMAP]) + sum(1 << hole for hole in holes).to_bytes(holes[-1] // 8 + 1, "little")
    return b85encode(_encode_number(moved) + _encode_number(gap) + body).decode()


def decode(metadata: str) -> tuple[int, int, list[int]]:
    """The arguments that ``encode`` was given: moved, gap and holes."""
    data = iter(b85decode(metadata))
    moved, gap = _decode_number(data), _decode_number(data)
    if next(data) == RUNS:
        return moved, gap, list(_decode_runs(data))
    bits = int.from_bytes(bytes(data), "little")
    return moved, gap, [hole for hole, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"]


def _encode_runs(holes: list[int]) -> bytes:
    """For each run of neighbours: how far it is behind the run before, and how long it is."""
    parts, end = [], 0
    for _, run in groupby(enumerate(holes), lambda pair: pair[1] - pair[0]):
        offsets = [offset for _, offset in run]
        parts += [_encode_number(offsets[0] - end), _encode_number(len(offsets))]
        end = offsets[-1] + 1
    return b"".join(parts)


def _decode_runs(data: Iterator[int]) -> Iterable[int]:
    """The holes that ``_encode_runs`` was given."""
    end = 0
    while (behind := _decode_number(data, -1)) >= 0:
        start, end = end + behind, end + behind + _decode_number(data)
        yield from range(start, end)


def _encode_number(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the last byte is below 128 (LEB128)."""
    parts = []
    while value >= CONTINUED:
        parts.append(value % CONTINUED | CONTINUED)
        value >>= 7
    return bytes([*parts, value])


def _decode_number(data: Iterator[int], at_end: int | None = None) -> int:
    """The next number; ``at_end`` where there is none. Raises ``ValueError`` where it is cut off."""
    value = shift = 0
    for byte in data:
        value |= byte % CONTINUED << shift
        shift += 7
        if byte < CONTINUED:
            return value
    if at_end is None:
        raise ValueError("the metadata ends within a number")
    return at_end
