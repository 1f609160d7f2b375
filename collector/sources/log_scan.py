"""The log scanner: bytes in, causes with their positions out; no input or output of its own.

What it finds depends on the bytes of the file alone, never on how they were split into reads: a cause counts
as soon as its line is complete, and the open entry is part of the memory. Blocks without any trigger are
passed at the speed of a substring search; lines are looked at only around a hit.

A line longer than ``max_line_bytes`` is passed over up to its end and reported once.
"""

from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from functools import partial
from typing import Final

from collector.contract.events import Quarantined
from collector.dialects import brokers, clients, connect, layout, streams
from collector.dialects.cause import Cause
from collector.sources.log_lines import candidates, line_end
from collector.sources.log_memory import MAX_HEADER_CHARS, Entry, Memory, admit

MAX_LINE_BYTES: Final = 1 << 20
MAX_FOUND: Final = 1_000
"""A block is left early once it has yielded so many."""

LINE_TOO_LONG: Final = "line_too_long"
EXCERPT_BYTES: Final = 200

_NEEDS_NEXT_LINE: Final = tuple(text.encode() for text in brokers.TRIGGERS)


@dataclass(frozen=True, slots=True)
class Found:
    """A cause, the offset of its entry, its ordinal in it, and the entry's time (None: it has none)."""

    cause: Cause
    offset: int
    ordinal: int
    at_ms: int | None


@dataclass(frozen=True, slots=True)
class Scanner:
    """Reads blocks that begin at the memory's offset and are at most ``max_line_bytes`` long."""

    zone: tzinfo = UTC
    max_line_bytes: int = MAX_LINE_BYTES

    def scan(self, memory: Memory, block: bytes, *, final: bool = False) -> tuple[Memory, list[Found]]:
        """The memory after the block's complete lines and what they say.

        The same memory comes back when more bytes are needed; ``final`` says that no more will come.
        """
        if memory.overlong:
            return _pass_over(memory, block), []
        end = len(block) if final else block.rfind(b"\n") + 1
        if end:
            return self._lines(memory, block, end, final=final)
        if len(block) < self.max_line_bytes:
            return memory, []
        return self._overlong(memory, block)

    def _lines(self, memory: Memory, block: bytes, end: int, *, final: bool) -> tuple[Memory, list[Found]]:
        base, cursor, found = memory.offset, 0, list[Found]()
        for start, stop in candidates(block, end):
            if self._must_wait(block, start, stop, end) and not final:
                end = start
                break
            memory = self._advance(memory, block, cursor, stop, base)
            memory, causes = _read(memory, block, start, stop, base)
            found += causes
            cursor = stop
            if len(found) >= MAX_FOUND:
                end = stop
                break
        memory = self._advance(memory, block, cursor, end, base)
        return replace(memory, offset=base + end), found

    def _must_wait(self, block: bytes, start: int, stop: int, end: int) -> bool:
        """Whether the line speaks only together with the next one, and that is not complete yet."""
        if stop < end or not any(text in block[start:stop] for text in _NEEDS_NEXT_LINE):
            return False
        return start > 0 or len(block) < self.max_line_bytes

    def _advance(self, memory: Memory, block: bytes, start: int, end: int, base: int) -> Memory:
        """The memory with the last entry that begins in ``[start, end)`` as the open one."""
        header = layout.last_header(block, start, end)
        if header < 0:
            return memory
        text = _text(block[header : line_end(block, header, end)])
        entry = Entry(base + header, text[:MAX_HEADER_CHARS], layout.time_ms(text, self.zone))
        return replace(memory, entry=entry)

    def _overlong(self, memory: Memory, block: bytes) -> tuple[Memory, list[Found]]:
        base, excerpt = memory.offset, _text(block[:EXCERPT_BYTES])
        memory = self._advance(memory, block, 0, len(block), base)
        event = partial(Quarantined, reason=LINE_TOO_LONG, excerpt=excerpt)
        cause = Cause(event, identity=(LINE_TOO_LONG, str(base)))
        memory, found = _admit(memory, [cause], Entry(base, excerpt))
        return replace(memory, offset=base + len(block), overlong=True), found


def _read(memory: Memory, block: bytes, start: int, stop: int, base: int) -> tuple[Memory, list[Found]]:
    """What one line says, in the light of its entry."""
    line = _text(block[start:stop])
    alone = Entry(base + start, line[:MAX_HEADER_CHARS])
    header = (memory.entry or alone).header
    worker, causes = connect.read(line, memory.worker)
    causes += [*streams.read(line, header), *clients.read(line, header)]
    causes += brokers.read(line, _text(block[stop : line_end(block, stop, len(block))]))
    return _admit(replace(memory, worker=worker), causes, alone)


def _admit(memory: Memory, causes: list[Cause], alone: Entry) -> tuple[Memory, list[Found]]:
    """The causes that are new; ``alone`` is their entry when the file has not shown a header yet."""
    entry, recent, found = memory.entry or alone, memory.recent, []
    for cause in causes:
        ordinal = entry.causes
        entry, recent, new = admit(cause, entry, recent)
        if new:
            found.append(Found(cause, entry.start, ordinal, entry.at_ms))
    return replace(memory, entry=entry if memory.entry else None, recent=recent), found


def _pass_over(memory: Memory, block: bytes) -> Memory:
    end = block.find(b"\n") + 1
    return replace(memory, offset=memory.offset + (end or len(block)), overlong=not end)


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace").rstrip("\r\n")
