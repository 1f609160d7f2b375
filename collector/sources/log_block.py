"""One block of a log: its lines that may say something, in the light of the entries they belong to."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from collector.contract.events import Quarantined
from collector.dialects import brokers, clients, connect, librdkafka, streams, task_timers
from collector.dialects.cause import Cause
from collector.sources.log_formats import is_plain
from collector.sources.log_json import Record
from collector.sources.log_lines import candidates, last_header, parts_of
from collector.sources.log_memory import MAX_HEADER_CHARS, Entry, Memory, admit
from collector.sources.log_text import NOT_JSON, Format

MAX_FOUND: Final = 1_000
"""A block is left early once it has yielded so many."""

EXCERPT_BYTES: Final = 200


@dataclass(frozen=True, slots=True)
class Found:
    """A cause, the offset of its entry, its ordinal in it, and the entry's time (None: it has none)."""

    cause: Cause
    offset: int
    ordinal: int
    at_ms: int | None


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes that begin at ``base``: ``full`` says that they cannot become more in one read, ``final`` that
    nothing comes after them.
    """

    form: Format
    block: bytes
    base: int
    final: bool
    full: bool

    def read(self, memory: Memory, end: int) -> tuple[Memory, list[Found]]:
        """The memory after the lines before ``end`` and what they say."""
        cursor, found, plain = 0, list[Found](), memory.plain
        for parts in candidates(self.form, self.block, end, plain=plain):
            stop = parts[-1][1]
            if self._must_wait(parts, end):
                end = parts[0][0]
                break
            memory = self.advance(memory, cursor, stop)
            memory, causes = self._say(memory, parts)
            found += causes
            cursor = stop
            if len(found) >= MAX_FOUND:
                end = stop
                break
        memory = self.advance(memory, cursor, end)
        plain = self.form.whole and is_plain(self.block, end) if end else plain
        return replace(memory, offset=self.base + end, plain=plain), found

    def advance(self, memory: Memory, start: int, end: int) -> Memory:
        """The memory with the last entry that begins in ``[start, end)`` as the open one."""
        header = last_header(self.form, self.block, start, end, plain=memory.plain)
        if header < 0:
            return memory
        record = self._record(parts_of(self.form, self.block, header, end))
        return replace(memory, entry=_entry(record, self.base + header))

    def _record(self, parts: list[tuple[int, int]]) -> Record:
        return self.form.read([self.block[start:stop] for start, stop in parts])

    def _must_wait(self, parts: list[tuple[int, int]], end: int) -> bool:
        """Whether the line speaks only together with the next one, and that is not complete yet."""
        if self.final or self.form.whole or parts[-1][1] < end or (parts[0][0] == 0 and self.full):
            return False
        line = self._record(parts).lines[0]
        return brokers.LOST in line

    def _say(self, memory: Memory, parts: list[tuple[int, int]]) -> tuple[Memory, list[Found]]:
        """What one line says, in the light of its entry."""
        record = self._record(parts)
        alone = _entry(record, self.base + parts[0][0])
        header, worker, unwritten = (memory.entry or alone).header, memory.worker, memory.unwritten
        causes = [quarantined(record.trouble, record.header, alone.start)] if record.trouble else []
        for line, following in zip(record.lines, (*record.lines[1:], self._after(parts[-1][1])), strict=True):
            worker, told = connect.read(line, worker)
            unwritten, lost = brokers.read(line, following, unwritten)
            causes += [*told, *lost, *streams.read(line, header), *task_timers.read(line)]
            causes += [*clients.read(line, header), *librdkafka.read(line)]
        return admitted(replace(memory, worker=worker, unwritten=unwritten), causes, alone)

    def _after(self, stop: int) -> str:
        if self.form.whole or stop >= len(self.block):
            return ""
        return self._record(parts_of(self.form, self.block, stop, len(self.block))).lines[0]


def _entry(record: Record, start: int) -> Entry:
    return Entry(start, record.header[:MAX_HEADER_CHARS], record.at_ms)


def quarantined(reason: str, excerpt: str, offset: int) -> Cause:
    """Trouble with the line at ``offset``; lines of an entry that are not JSON are one trouble."""
    event = partial(Quarantined, reason=reason, excerpt=excerpt[:EXCERPT_BYTES])
    identity = (reason,) if reason == NOT_JSON else (reason, str(offset))
    return Cause(event, identity)


def admitted(memory: Memory, causes: list[Cause], alone: Entry) -> tuple[Memory, list[Found]]:
    """The causes that are new; ``alone`` is their entry when the file has not shown a header yet."""
    entry, recent, found = memory.entry or alone, memory.recent, []
    for cause in causes:
        ordinal = entry.causes
        entry, recent, new = admit(cause, entry, recent)
        if new:
            found.append(Found(cause, entry.start, ordinal, entry.at_ms))
    return replace(memory, entry=entry if memory.entry else None, recent=recent), found
