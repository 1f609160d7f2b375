"""Which dead letters of a topic redrives have moved or parked before: a bit for each offset, in blocks.

A block is 65 536 offsets of one partition, 8 KiB, kept compressed: what was moved in a row takes some ten
bytes, and no history takes more than its bits. Pure; ``deadwatch.store.write.handled`` keeps the blocks.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from deadwatch.orders.decision import Result
from deadwatch.orders.reasons import SkipReason
from deadwatch.orders.selection import Run

BLOCK: Final = 65_536
BYTES: Final = BLOCK // 8
OPEN: Final = 512
"""How many blocks are kept unpacked: 4 MiB."""
REASONS: Final = {Result.SENT: SkipReason.ALREADY_MOVED, Result.PARKED: SkipReason.ALREADY_PARKED}
"""Why a record is skipped, by its outcome; the first one that applies."""


class Block(NamedTuple):
    """The key of a block: 65 536 offsets of a partition, and one outcome."""

    partition: int
    number: int
    outcome: str


def blocks(partition: int, run: Run, outcome: str) -> Iterator[tuple[Block, Run]]:
    """A run of offsets cut into blocks; each part counts from the beginning of its block."""
    first, end = run
    for number in range(first // BLOCK, (end - 1) // BLOCK + 1):
        start = number * BLOCK
        yield Block(partition, number, outcome), (max(first - start, 0), min(end - start, BLOCK))


def united(packed: bytes | None, runs: Iterable[Run] = (), other: bytes | None = None) -> bytes:
    """A packed block with the offsets of these runs and of another block added."""
    bits = _number(packed) | _number(other)
    for first, end in runs:
        bits |= ((1 << (end - first)) - 1) << first
    return _packed(bits)


def below(packed: bytes, end: int) -> bytes:
    """A packed block with its first ``end`` offsets alone."""
    return _packed(_number(packed) & ((1 << end) - 1))


class Handled:
    """The records of a topic that were moved or parked before, from stored blocks."""

    def __init__(self, kept: Mapping[Block, bytes]) -> None:
        self._unpacked = lru_cache(OPEN)(lambda block: zlib.decompress(kept[block]))
        self._at: dict[tuple[int, int], list[tuple[SkipReason, Block]]] = {}
        for outcome, reason in REASONS.items():
            for block in kept:
                if block.outcome == outcome:
                    self._at.setdefault((block.partition, block.number), []).append((reason, block))

    def __bool__(self) -> bool:
        """Whether any record was moved or parked."""
        return bool(self._at)

    def reason(self, partition: int, offset: int) -> SkipReason | None:
        """Why an order skips a record; None if it does not."""
        at = offset % BLOCK
        for reason, block in self._at.get((partition, offset // BLOCK), ()):
            if self._unpacked(block)[at >> 3] >> (at & 7) & 1:
                return reason
        return None


NOTHING: Final = Handled({})


def _packed(bits: int) -> bytes:
    return zlib.compress(bits.to_bytes(BYTES, "little"))


def _number(packed: bytes | None) -> int:
    return 0 if packed is None else int.from_bytes(zlib.decompress(packed), "little")
