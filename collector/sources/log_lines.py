"""The lines of a block that may say something: those that hold a trigger of any dialect."""

from collections.abc import Iterator
from typing import Final

from collector.dialects import brokers, clients, connect, streams

TRIGGERS: Final = tuple(
    text.encode() for text in (*connect.TRIGGERS, *streams.TRIGGERS, *clients.TRIGGERS, *brokers.TRIGGERS)
)


def candidates(block: bytes, end: int) -> Iterator[tuple[int, int]]:
    """Start and end (behind its newline) of each line that holds a trigger, in their order."""
    starts = {block.rfind(b"\n", 0, hit) + 1 for trigger in TRIGGERS for hit in _hits(block, trigger, end)}
    for start in sorted(starts):
        yield start, line_end(block, start, end)


def _hits(block: bytes, trigger: bytes, end: int) -> Iterator[int]:
    """Where the trigger stands: the first place in each line."""
    at = block.find(trigger, 0, end)
    while at >= 0:
        yield at
        at = block.find(trigger, line_end(block, at, end), end)


def line_end(block: bytes, start: int, end: int) -> int:
    """Where the line around ``start`` ends, behind its newline; ``end`` at the latest."""
    newline = block.find(b"\n", start, end)
    return end if newline < 0 else newline + 1
