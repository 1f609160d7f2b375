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
_CONTINUES: Final = re.compile(r"\s|at |Caused by: |Suppressed: |\.\.\. \d+ ")


@dataclass(frozen=True, slots=True)
class Stream:
    """``held`` is a line that speaks only together with the next one; ``lines``: its records are lines."""

    entry: Entry | None = None
    lines: bool = False
    held: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """What is known of one writer of logs: the scanner's memory, and the open entry of each stream."""

    memory: Memory = field(default_factory=Memory)
    streams: Mapping[str, Stream] = field(default_factory=dict)


Resources = Mapping[str, Resource]


def scan(resources: Resources, record: LogRecord, now_ms: int) -> tuple[Resources, list[Found]]:
    """What is known after the record, and what it says; ``now_ms`` is for a record without a time."""
    resource = resources.get(record.resource, Resource())
    known = resource.streams.get(record.stream, Stream())
    text, stream = _placed(record, known, now_ms)
    memory = replace(resource.memory, entry=stream.entry)
    memory, rest, found = _scan(memory, text, whole=not stream.lines)
    stream = replace(stream, entry=memory.entry, held=rest)
    streams = _latest(resource.streams, record.stream, stream, MAX_STREAMS)
    resource = Resource(memory.next_file(), streams)
    return _latest(resources, record.resource, resource, MAX_RESOURCES), found


def _placed(record: LogRecord, stream: Stream, now_ms: int) -> tuple[str, Stream]:
    """The lines to scan, and the stream they belong to."""
    text = f"{record.text}\n"
    if _begins_entry(text):
        return stream.held + text, replace(stream, lines=True)
    if stream.lines or (stream.entry and _CONTINUES.match(text)):
        return stream.held + text, stream
    at_ms = now_ms if record.at_ms is None else record.at_ms
    at = datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="milliseconds")
    return f"{at} [{record.thread}] {text}", stream


def _begins_entry(text: str) -> bool:
    first = text[: text.index("\n") + 1].encode()
    return _SCANNER.scan(Memory(), first, final=True)[0].entry is not None


def _scan(memory: Memory, text: str, *, whole: bool) -> tuple[Memory, str, list[Found]]:
    """The memory after the text, the line that waits for the next one, and what was found.

    A ``whole`` text is an entry to its end; so is one of several lines.
    """
    block, causes = text.encode(), list[Found]()
    final = whole or block.count(b"\n") > 1
    while block:
        memory, found = _SCANNER.scan(replace(memory, offset=0), block, final=final)
        if not memory.offset:
            break
        causes += found
        block = block[memory.offset :]
    return memory, block.decode(), causes


def _latest(known: Mapping[str, V], key: str, value: V, most: int) -> dict[str, V]:
    """The mapping with ``key`` as its last; the first goes when there are too many."""
    kept = {name: one for name, one in known.items() if name != key} | {key: value}
    for name in list(kept)[:-most]:
        del kept[name]
    return kept
