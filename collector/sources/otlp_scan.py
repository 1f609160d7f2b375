"""Log records into causes, by the scanner that reads files; no input or output of its own.

A shipper may send entries or single lines. A record that begins with a time begins an entry, and from then on
its stream is one of lines: what has no time continues the entry. In any other stream each record is an entry,
with its own time and thread in front, unless it begins like a line of a stack trace. What one resource says
twice is counted once, as in a file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, TypeVar

from collector.sources.log_block import Found
from collector.sources.log_containers import CRI
from collector.sources.log_lines import MESSAGES, TRIGGERS
from collector.sources.log_memory import Entry, Memory
from collector.sources.log_scan import Scanner
from collector.sources.otlp import LogRecord

MAX_RESOURCES: Final = 256
MAX_STREAMS: Final = 64
"""Of each resource; the one heard least lately is forgotten first."""

MAX_RECORD_CHARS: Final = 1 << 18
"""Four bytes each at most: within a block of the scanner."""

V = TypeVar("V")

_SCANNER: Final = Scanner(UTC)
_TRIGGER: Final = re.compile("|".join(re.escape(text.decode()) for text in TRIGGERS))
_WRAPPED: Final = ("{", "\r", "\0")
_CONTINUES: Final = re.compile(r"\s|at |Caused by: |Suppressed: |\.\.\. \d+ ")


@dataclass(frozen=True, slots=True)
class Stream:
    """``held`` is a line that speaks only together with the next one; ``lines``: its records are lines.

    ``header`` is the line that began the open entry while nobody has asked yet what it says.
    """

    entry: Entry | None = None
    lines: bool = False
    held: str = ""
    header: str = ""

    @property
    def is_open(self) -> bool:
        """Whether an entry has begun."""
        return self.entry is not None or self.header != ""


@dataclass(frozen=True, slots=True)
class Resource:
    """What is known of one writer of logs: the scanner's memory, and the open entry of each stream."""

    memory: Memory = field(default_factory=Memory)
    streams: Mapping[str, Stream] = field(default_factory=dict)


Resources = Mapping[str, Resource]

_NEW: Final = Resource()


def scan(
    resources: Resources,
    record: LogRecord,
    now_ms: int,
    *,
    scanner: Scanner = _SCANNER,
    new: Resource = _NEW,
) -> tuple[Resources, list[Found]]:
    """What is known after the record, and what it says; ``now_ms`` is for a record without a time.

    ``new`` is a resource that was not heard of before.
    """
    resource = resources.get(record.resource, new)
    known = resource.streams.get(record.stream, Stream())
    if not known.held and _says_nothing(scanner, record.text):
        memory, stream, found = resource.memory, _passed(scanner, record, known, now_ms), list[Found]()
    else:
        text, stream = _placed(scanner, record, known, now_ms)
        memory = replace(resource.memory, entry=stream.entry)
        if stream.header:
            memory, _, _ = _scan(scanner, replace(memory, entry=None), stream.header, whole=True)
        memory, rest, found = _scan(scanner, memory, text, whole=not stream.lines)
        stream = replace(stream, entry=memory.entry, held=rest, header="")
        memory = memory.next_file()
    streams = _latest(resource.streams, record.stream, stream, MAX_STREAMS)
    return _latest(resources, record.resource, Resource(memory, streams), MAX_RESOURCES), found


def _says_nothing(scanner: Scanner, text: str) -> bool:
    """Whether it is one line of plain text without any trigger: of such only the beginnings matter."""
    if scanner.format not in {"", "text"} or text.startswith(_WRAPPED) or "\n" in text:
        return False
    if _TRIGGER.search(text) or MESSAGES.search(text.encode()):
        return False
    return not CRI.match(text[:64].encode())


def _passed(scanner: Scanner, record: LogRecord, stream: Stream, now_ms: int) -> Stream:
    """The stream after a line that says nothing."""
    if scanner.layout.header.match(f"{record.text}\n".encode()):
        return Stream(lines=True, header=f"{record.text}\n")
    if stream.lines or (stream.is_open and _CONTINUES.match(record.text)):
        return stream
    return replace(stream, entry=None, header=_stamped(record, now_ms))


def _placed(scanner: Scanner, record: LogRecord, stream: Stream, now_ms: int) -> tuple[str, Stream]:
    """The lines to scan, and the stream they belong to."""
    text = f"{record.text}\n"
    if _begins_entry(scanner, text):
        return stream.held + text, replace(stream, lines=True)
    if stream.lines or (stream.is_open and _CONTINUES.match(text)):
        return stream.held + text, stream
    return _stamped(record, now_ms), replace(stream, header="")


def _stamped(record: LogRecord, now_ms: int) -> str:
    """The record as an entry with its own time and thread in front."""
    at_ms = now_ms if record.at_ms is None else record.at_ms
    at = datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="milliseconds")
    return f"{at} [{record.thread}] {record.text}\n"


def _begins_entry(scanner: Scanner, text: str) -> bool:
    first = text[: text.index("\n") + 1].encode()
    return scanner.scan(Memory(), first, final=True)[0].entry is not None


def _scan(scanner: Scanner, memory: Memory, text: str, *, whole: bool) -> tuple[Memory, str, list[Found]]:
    """The memory after the text, the line that waits for the next one, and what was found.

    A ``whole`` text is an entry to its end; so is one of several lines.
    """
    block, causes = text.encode(), list[Found]()
    final = whole or block.count(b"\n") > 1
    while block:
        memory, found = scanner.scan(replace(memory, offset=0), block, final=final)
        if not memory.offset:
            break
        causes += found
        block = block[memory.offset :]
    return memory, block.decode(), causes


def _latest(known: Mapping[str, V], key: str, value: V, most: int) -> Mapping[str, V]:
    """The mapping with ``key`` as its last; the first goes when there are too many."""
    if isinstance(known, dict) and known and next(reversed(known)) == key and known[key] is value:
        return known
    kept = {name: one for name, one in known.items() if name != key} | {key: value}
    for name in list(kept)[:-most]:
        del kept[name]
    return kept
