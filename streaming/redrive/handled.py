"""Which dead letters of a topic redrives have moved or parked before: a bit for each offset, in blocks.

A block is 65 536 offsets of one partition, 8 KiB, kept compressed: what was moved in a row takes some ten
bytes, and no history takes more than its bits. Pure; ``streaming.store.handled`` keeps the blocks.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from streaming.redrive.batch import Result
from streaming.redrive.decision import SkipReason

BLOCK: Final = 65_536
BYTES: Final = BLOCK // 8
OPEN: Final = 512
"""Blocks that are unpacked at one time: 4 MiB."""
REASONS: Final = {Result.SENT: SkipReason.ALREADY_MOVED, Result.PARKED: SkipReason.ALREADY_PARKED}
"""Why a record is left out, by what became of it; the first one that applies."""

Run = tuple[int, int]


class Block(NamedTuple):
    """Where offsets of a partition with one outcome are kept."""

    partition: int
    number: int
    outcome: str


def blocks(partition: int, run: Run, outcome: str) -> Iterator[tuple[Block, Run]]:
    """The parts of a run of offsets by block, counted from the beginning of each."""
    first, end = run
    for number in range(first // BLOCK, (end - 1) // BLOCK + 1):
        start = number * BLOCK
        yield Block(partition, number, outcome), (max(first - start, 0), min(end - start, BLOCK))


def united(packed: bytes | None, runs: Iterable[Run] = (), other: bytes | None = None) -> bytes:
    """A block with these runs in it as well, and with all that another one has."""
    bits = _number(packed) | _number(other)
    for first, end in runs:
        bits |= ((1 << (end - first)) - 1) << first
    return zlib.compress(bits.to_bytes(BYTES, "little"))


class Handled:
    """What became of the records of a topic; made of the blocks that are kept."""

    def __init__(self, kept: Mapping[Block, bytes]) -> None:
        self._unpacked = lru_cache(OPEN)(lambda block: zlib.decompress(kept[block]))
        self._at: dict[tuple[int, int], list[tuple[SkipReason, Block]]] = {}
        for outcome, reason in REASONS.items():
            for block in kept:
                if block.outcome == outcome:
                    self._at.setdefault((block.partition, block.number), []).append((reason, block))

    def __bool__(self) -> bool:
        """Whether it knows of any record."""
        return bool(self._at)

    def reason(self, partition: int, offset: int) -> SkipReason | None:
        """Why an order leaves a record out; None where it does not."""
        at = offset % BLOCK
        for reason, block in self._at.get((partition, offset // BLOCK), ()):
            if self._unpacked(block)[at >> 3] >> (at & 7) & 1:
                return reason
        return None


NOTHING: Final = Handled({})


def _number(packed: bytes | None) -> int:
    return 0 if packed is None else int.from_bytes(zlib.decompress(packed), "little")
