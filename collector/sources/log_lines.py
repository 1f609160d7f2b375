"""The lines of a block that may say something: those with a trigger of any dialect, and lines in parts."""

from collections.abc import Iterator
from typing import Final

from collector.dialects import brokers, clients, connect, librdkafka, streams, task_timers
from collector.sources.log_text import Format

TRIGGERS: Final = tuple(
    text.encode() for dialect in (connect, streams, clients, librdkafka, brokers) for text in dialect.TRIGGERS
)
MESSAGES: Final = task_timers.MESSAGES
"""Many triggers that all stand behind one prefix: together they cost what three others do."""


def candidates(form: Format, block: bytes, end: int, *, plain: bool) -> Iterator[list[tuple[int, int]]]:
    """Start and end (behind its newline) of each line to look at, or of all its parts, in their order."""
    hits = [hit for trigger in TRIGGERS for hit in _hits(block, trigger, end)]
    hits += [match.start() for match in MESSAGES.finditer(block, 0, end)]
    hits += form.also(block, end, plain=plain)
    passed = 0
    for start in sorted({line_start(block, hit) for hit in hits}):
        if start >= passed:
            parts = parts_of(form, block, first_part(form, block, start, passed), end)
            passed = parts[-1][1]
            yield parts


def complete(form: Format, block: bytes, end: int) -> int:
    """Where the last line ends of which every part is there; 0 when that is none."""
    last = line_start(block, end - 1)
    return first_part(form, block, last, 0) if form.continues(block[last:end]) else end


def first_part(form: Format, block: bytes, start: int, lowest: int) -> int:
    """Where the line begins of which a part begins at ``start``."""
    while start > lowest:
        before = line_start(block, start - 1)
        if not form.continues(block[before:start]):
            break
        start = before
    return start


def parts_of(form: Format, block: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """The line that begins at ``start``: start and end of each part."""
    parts = [(start, line_end(block, start, end))]
    while parts[-1][1] < end and form.continues(block[slice(*parts[-1])]):
        parts.append((parts[-1][1], line_end(block, parts[-1][1], end)))
    return parts


def last_header(form: Format, block: bytes, start: int, end: int, *, plain: bool) -> int:
    """Offset of the last line in ``[start, end)`` that begins an entry; -1 for none. ``start`` begins a
    line.
    """
    while start < end:
        line = max(line_start(block, end - 1), start)
        if form.begins(block, line, plain=plain):
            return line
        end = line
    return -1


def _hits(block: bytes, trigger: bytes, end: int) -> Iterator[int]:
    """Where the trigger stands: the first place in each line."""
    at = block.find(trigger, 0, end)
    while at >= 0:
        yield at
        at = block.find(trigger, line_end(block, at, end), end)


def line_start(block: bytes, at: int) -> int:
    """Where the line around ``at`` begins; a newline belongs to the line that it ends."""
    return block.rfind(b"\n", 0, at) + 1


def line_end(block: bytes, start: int, end: int) -> int:
    """Where the line around ``start`` ends, behind its newline; ``end`` at the latest."""
    newline = block.find(b"\n", start, end)
    return end if newline < 0 else newline + 1
