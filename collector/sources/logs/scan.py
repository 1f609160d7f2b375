"""The log scanner: bytes in, causes with their positions out; it does no input or output.

What it finds depends on the bytes of the file alone, never on how they were split into reads: a cause
counts as soon as its line is complete, and the open entry is part of the memory, which is saved with the
position: a restart changes nothing. Blocks without any trigger are passed at the speed of a substring search.
Lines are parsed only where a trigger of a dialect is found, and unwrapped only then.

A line longer than ``max_line_bytes`` is skipped up to its end and reported once; the NUL bytes that cutting a
log leaves before what is written next, by a writer that does not append, are none of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import Final

from collector.sources.logs import formats
from collector.sources.logs.dialects import brokers, clients, connect, stream_drops, streams
from collector.sources.logs.dialects.cause import ALWAYS_NEW, Cause, Mention, key_of, mention, unread
from collector.sources.logs.dialects.connect import Worker
from collector.sources.logs.formats import Record, Text
from collector.sources.logs.layout import KNOWN, Layout
from collector.sources.logs.lines import candidates, complete, last_headers, line_end, parts_of

MAX_FOUND: Final = 1_000
"""A block is left early once it has yielded so many."""

EXCERPT_BYTES: Final = 200
MAX_LINE_BYTES: Final = 1 << 20
LINE_TOO_LONG: Final = "line_too_long"
MAX_IDENTITIES: Final = 256
"""How many causes of one entry, and how many recent ones of the file that may come again, are remembered."""

MAX_HEADER_CHARS: Final = 1_000
MAX_HELD_BYTES: Final = 1 << 17
MAX_HELD_PARTS: Final = 64
"""Of one line that was interrupted; a longer one is read as it is. It is saved with each position."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An open entry: later lines of its stream may still belong to it.

    ``start`` is its byte offset, ``at_ms`` the time in it (None: it has none), ``causes`` how many distinct
    ones it has named, ``seen`` the last of them. Positions only grow: an entry that goes on behind one of
    the other stream has the latter's ``start``, and goes on counting its ``causes``.
    """

    start: int
    header: str
    at_ms: int | None = None
    causes: int = 0
    seen: tuple[str, ...] = ()
    stream: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """The scanner's state; ``offset`` is the first byte that it has not passed.

    ``entry`` is None until the file has shown a header line: until then every line is an entry of its own,
    unless the first goes on with an entry of the file before. ``others`` are the open entries of other
    streams, or of the file before. ``overlong`` says that ``offset`` lies inside a line that is being passed
    over. ``format`` is that of the file, "" until its first line is known; ``plain`` says that a JSON log's
    last line was none of JSON. ``unwritten`` is the share group whose dead letters a broker has just failed
    to write. ``held`` are, by stream, the parts of a line that a line of the other stream has interrupted: it
    is read once it is whole.
    """

    offset: int = 0
    entry: Entry | None = None
    others: Mapping[str, Entry] = field(default_factory=dict)
    overlong: bool = False
    format: str = ""
    plain: bool = False
    worker: Worker = field(default_factory=Worker)
    unwritten: str = ""
    recent: Mapping[str, Mention] = field(default_factory=dict)
    held: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def next_file(self) -> "Memory":
        """What stays known when the same writer begins a new file; its last entries may go on there."""
        entries = (*self.others.values(), *filter(None, [self.entry]))
        others = {entry.stream: replace(entry, start=0, causes=0) for entry in entries}
        return Memory(others=others, worker=self.worker, unwritten=self.unwritten, recent=self.recent)

    def opened(self, entry: Entry) -> "Memory":
        """The memory once this entry has begun; that of another stream stays open."""
        others = {**self.others, self.entry.stream: self.entry} if self.entry else self.others
        others = {stream: other for stream, other in others.items() if stream != entry.stream}
        return replace(self, entry=entry, others=others)

    def of_stream(self, stream: str) -> "Memory":
        """The memory when a line of this stream comes: the stream's own entry goes on, if it has one."""
        other = self.others.get(stream)
        if self.entry is None or other is None:
            return self
        return self.opened(replace(other, start=self.entry.start, causes=self.entry.causes))


@dataclass(frozen=True, slots=True)
class Found:
    """A cause, the offset of its entry, its ordinal in it, and the entry's time (None: it has none)."""

    cause: Cause
    offset: int
    ordinal: int
    at_ms: int | None


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes from ``base`` on; ``full``: one read gives no more, ``final``: nothing comes after them."""

    form: Text
    block: bytes
    base: int
    final: bool
    full: bool

    def read(self, memory: Memory, end: int) -> tuple[Memory, list[Found]]:
        """The memory after the lines before ``end``, and what was found in them."""
        cursor, found, plain = 0, list[Found](), memory.plain
        for parts in candidates(self.form, self.block, end, plain=plain, held=memory.held):
            stop = parts[-1][1]
            if self._must_wait(parts, end):
                end = parts[0][0]
                break
            memory = self.advance(memory, cursor, stop)
            memory, causes = self._read_parts(memory, parts)
            found += causes
            cursor = stop
            if len(found) >= MAX_FOUND:
                end = stop
                break
        memory = self.advance(memory, cursor, end)
        if self.final:
            for stream, lines in memory.held.items():
                memory, causes = self._read_line(memory.of_stream(stream), _bytes(lines), end, end)
                found += causes
            memory = replace(memory, held={})
        plain = self.form.whole and formats.is_plain(self.block, end) if end else plain
        return replace(memory, offset=self.base + end, plain=plain), found

    def advance(self, memory: Memory, start: int, end: int) -> Memory:
        """The memory with each stream's last entry that begins in ``[start, end)`` as an open one."""
        for header, stream in last_headers(self.form, self.block, start, end, plain=memory.plain):
            record = self._record(parts_of(self.form, self.block, header, end))
            memory = memory.opened(_entry(record, self.base + header, stream))
        return memory

    def _record(self, parts: list[tuple[int, int]]) -> Record:
        return self.form.read([self.block[start:stop] for start, stop in parts])

    def _must_wait(self, parts: list[tuple[int, int]], end: int) -> bool:
        """Whether the line has a meaning only together with the next one, which is not complete yet."""
        if self.final or self.form.whole or parts[-1][1] < end or (parts[0][0] == 0 and self.full):
            return False
        return brokers.LOST in self._record(parts).lines[0]

    def _read_parts(self, memory: Memory, parts: list[tuple[int, int]]) -> tuple[Memory, list[Found]]:
        """What a line means in its entry, with what is held of it; nothing while more of it is to come."""
        start, stop = parts[0][0], parts[-1][1]
        lines = [self.block[slice(*part)] for part in parts]
        stream = self.form.stream(lines[0])
        before = _bytes(memory.held.get(stream, ()))
        lines = [*before, *lines]
        others = {one: held for one, held in memory.held.items() if one != stream}
        is_cut = stop < len(self.block) and self.form.continues(lines[-1])
        if is_cut and len(lines) <= MAX_HELD_PARTS and sum(map(len, lines)) <= MAX_HELD_BYTES:
            cut = tuple(line.decode("latin-1") for line in lines)
            return replace(memory, held={**others, stream: cut}), []
        memory = replace(memory, held=others).of_stream(stream)
        if before and self.form.begins(lines[0], 0, plain=False):
            memory = memory.opened(_entry(self.form.read(lines), self.base + start, stream))
        return self._read_line(memory, lines, start, stop)

    def _read_line(
        self, memory: Memory, lines: list[bytes], start: int, stop: int
    ) -> tuple[Memory, list[Found]]:
        """What one line, in these parts, means in its entry; the memory after it."""
        record = self.form.read(lines)
        alone = _entry(record, self.base + start)
        header, worker, unwritten = (memory.entry or alone).header, memory.worker, memory.unwritten
        causes = [quarantined(record.trouble, record.header, alone.start)] if record.trouble else []
        for line, following in zip(record.lines, (*record.lines[1:], self._after(stop)), strict=True):
            worker, abandoned = connect.read(line, worker)
            unwritten, lost = brokers.read(line, following, unwritten)
            causes += [*abandoned, *lost, *streams.read(line, header), *streams.read_timers(line)]
            causes += [*stream_drops.read(line, header), *clients.read(line, header)]
        return admitted(replace(memory, worker=worker, unwritten=unwritten), causes, alone)

    def _after(self, stop: int) -> str:
        """The line after this one in the same entry."""
        if self.form.whole or stop >= len(self.block) or self.form.begins(self.block, stop, plain=False):
            return ""
        return self._record(parts_of(self.form, self.block, stop, len(self.block))).lines[0]


def _bytes(parts: tuple[str, ...]) -> list[bytes]:
    return [part.encode("latin-1") for part in parts]


def _entry(record: Record, start: int, stream: str = "") -> Entry:
    return Entry(start, record.header[:MAX_HEADER_CHARS], record.at_ms, stream=stream)


def quarantined(reason: str, excerpt: str, offset: int) -> Cause:
    """The cause that the line at ``offset`` was not read; lines of an entry that are not JSON count once."""
    return unread(reason, excerpt[:EXCERPT_BYTES], *([] if reason == formats.NOT_JSON else [str(offset)]))


def admitted(memory: Memory, causes: list[Cause], alone: Entry) -> tuple[Memory, list[Found]]:
    """The causes that are new; ``alone`` is their entry while the file has had no header line."""
    entry, recent, found = memory.entry or alone, dict(memory.recent), []
    for cause in causes:
        identity, ordinal, new = key_of(cause.identity), entry.causes, True
        if identity in entry.seen:
            continue
        entry = replace(entry, causes=ordinal + 1, seen=(*entry.seen, identity)[-MAX_IDENTITIES:])
        if cause.window_ms != ALWAYS_NEW or cause.also:
            latest, new = mention(cause, recent.get(identity), entry.at_ms or 0)
            for known in map(key_of, filter(None, (cause.identity, cause.also))):
                recent.pop(known, None)
                recent[known] = latest
        if new:
            found.append(Found(cause, entry.start, ordinal, entry.at_ms))
    for known in list(recent)[:-MAX_IDENTITIES]:
        del recent[known]
    return replace(memory, entry=entry if memory.entry else None, recent=recent), found


@dataclass(frozen=True, slots=True)
class Scanner:
    """Reads blocks that begin at the memory's offset and are at most ``max_line_bytes`` long.

    ``format`` is one of ``FORMATS``, or "" to detect it by each file's first line.
    """

    zone: tzinfo = UTC
    max_line_bytes: int = MAX_LINE_BYTES
    format: str = ""
    layout: Layout = KNOWN

    def scan(self, memory: Memory, block: bytes, *, final: bool = False) -> tuple[Memory, list[Found]]:
        """The memory after the complete lines of the block, and what was found in them.

        The same memory comes back when more bytes are needed; ``final`` says that no more will come.
        """
        if memory.overlong:
            end = block.find(b"\n") + 1
            return replace(memory, offset=memory.offset + (end or len(block)), overlong=not end), []
        full = len(block) >= self.max_line_bytes
        end = len(block) if final else block.rfind(b"\n") + 1
        if not end and not full and not (final and memory.held):
            return memory, []
        if not end and (hole := len(block) - len(block.lstrip(b"\0"))):
            return replace(memory, offset=memory.offset + hole), []
        name = self.format or memory.format or formats.detect(block[: end or None])
        memory, form = replace(memory, format=name), formats.FORMATS[name or "text"](self.layout, self.zone)
        if memory.others and memory.entry is None:  # of the file before
            stream = form.stream(block[: line_end(block, 0, len(block))])
            entry = memory.others.get(stream) if formats.CONTINUES.match(block) else None
            memory = replace(memory, entry=entry, others={})
        if not end and full:
            return self._overlong(memory, block, form)
        if not final:
            end = complete(form, block, end) or (end if full else 0)
        return Block(form, block, memory.offset, final=final, full=full).read(memory, end)

    def _overlong(self, memory: Memory, block: bytes, form: Text) -> tuple[Memory, list[Found]]:
        base, excerpt = memory.offset, formats.text_of(block[:EXCERPT_BYTES])
        memory = Block(form, block, base, final=False, full=True).advance(memory, 0, len(block))
        cause = quarantined(LINE_TOO_LONG, excerpt, base)
        memory, found = admitted(memory, [cause], Entry(base, excerpt))
        return replace(memory, offset=base + len(block), overlong=True, plain=False), found
