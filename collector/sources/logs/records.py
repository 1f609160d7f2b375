"""Log records, from OTLP or from a topic, into causes, by the scanner that reads files; no input or output.

``line_of`` removes the envelope that a shipper has put around a line on its way into a topic. Filebeat,
Fluent Bit and Vector send one object for each line: the line is its ``message`` or ``log``, and the object
also names the file, stream or container of the line. An object that names none of these is an entry of an
application's own JSON layout and is read as it is, with every text in it. Anything else is the line itself.

A shipper may send entries or single lines. A record that begins with a time begins an entry, and from
then on its stream is one of lines: a record without a time continues the entry. In any other stream each
record is an entry, with its own time and thread in front, unless it begins like a line of a stack trace.
What one resource mentions twice is counted once, as in a file.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeVar

from collector.sources.logs.formats import CONTINUES, CRI, NOT_JSON, encodable, parsed, text_of
from collector.sources.logs.lines import MESSAGES, TRIGGERS
from collector.sources.logs.scan import Entry, Found, Memory, Scanner

MAX_RESOURCES: Final = 256
MAX_STREAMS: Final = 64
"""Of each resource; the least recently used one is forgotten first."""

MAX_NAME_CHARS: Final = 1_000
"""Of what tells a resource or a stream apart: it is saved with each position."""

MAX_RECORD_CHARS: Final = 1 << 18
"""Four bytes each at most: within a block of the scanner."""

MAX_TIME_MS: Final = 253_402_300_799_999
"""The end of the year 9999."""

NO_VALUE: Final = "no_value"
RECORD_TOO_LONG: Final = "record_too_long"

MESSAGE: Final = ("message", "log", "msg")
STACK_TRACE: Final = ("error.stack_trace", "stack_trace")
THREAD: Final = ("process.thread.name", "thread_name", "thread")
HOST: Final = ("host.name", "host.hostname", "hostname", "host", "kubernetes.pod_name", "kubernetes.pod.name")
PLACE: Final = ("log.file.path", "file", "filename", "source", "stream", "container.id", "container_name")
MAX_DEPTH: Final = 3

T = TypeVar("T")

_SCANNER: Final = Scanner(UTC)
_TRIGGER: Final = re.compile("|".join(re.escape(text.decode()) for text in TRIGGERS))
_WRAPPED: Final = ("{", "\r", "\0")


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One record; ``at_ms`` is None where it carries no time."""

    resource: str
    stream: str
    thread: str
    text: str
    at_ms: int | None


@dataclass(frozen=True, slots=True)
class Stream:
    """``held`` is a line that has a meaning only with the next one; ``lines``: its records are lines.

    ``header`` is the line that began the open entry, as long as it has not been scanned.
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
    resources: Resources, record: LogRecord, now_ms: int, *, scanner: Scanner = _SCANNER, new: Resource = _NEW
) -> tuple[Resources, list[Found]]:
    """The state after the record, and what was found in it; ``now_ms`` is for a record without a time.

    ``new`` is the state of an unknown resource.
    """
    resource = resources.get(record.resource, new)
    known = resource.streams.get(record.stream, Stream())
    if not known.held and _is_insignificant(scanner, record.text):
        memory, stream, found = resource.memory, _passed(scanner, record, known, now_ms), list[Found]()
    else:
        text, stream = _placed(scanner, record, known, now_ms)
        memory = replace(resource.memory, entry=stream.entry)
        if stream.header:
            memory, _, _ = _scan(scanner, replace(memory, entry=None), stream.header, whole=True)
        memory, rest, found = _scan(scanner, memory, text, whole=not stream.lines)
        stream = replace(stream, entry=memory.entry, held=rest, header="")
        memory = replace(memory.next_file(), others={})
    streams = _latest(resource.streams, record.stream, stream, MAX_STREAMS)
    return _latest(resources, record.resource, Resource(memory, streams), MAX_RESOURCES), found


def _is_insignificant(scanner: Scanner, text: str) -> bool:
    """Whether the text is one plain line without any trigger: of such lines only the beginning matters."""
    if scanner.format not in {"", "text"} or text.startswith(_WRAPPED) or "\n" in text:
        return False
    if _TRIGGER.search(text) or MESSAGES.search(text.encode()):
        return False
    return not CRI.match(text[:64].encode())


def _passed(scanner: Scanner, record: LogRecord, stream: Stream, now_ms: int) -> Stream:
    """The stream after an insignificant line."""
    if scanner.layout.header.match(f"{record.text}\n".encode()):
        return Stream(lines=True, header=f"{record.text}\n")
    if _goes_on(stream, record.text):
        return stream
    return replace(stream, entry=None, header=_stamped(record, now_ms))


def _placed(scanner: Scanner, record: LogRecord, stream: Stream, now_ms: int) -> tuple[str, Stream]:
    """The lines to scan, and the stream they belong to."""
    text = f"{record.text}\n"
    first_line = text[: text.index("\n") + 1].encode()
    if scanner.scan(Memory(), first_line, final=True)[0].entry is not None:
        return stream.held + text, replace(stream, lines=True)
    if _goes_on(stream, text):
        return stream.held + text, stream
    return _stamped(record, now_ms), replace(stream, header="")


def _goes_on(stream: Stream, text: str) -> bool:
    return stream.lines or (stream.is_open and CONTINUES.match(text.encode()) is not None)


def _stamped(record: LogRecord, now_ms: int) -> str:
    """The record as an entry with its own time and thread in front; a time beyond the calendar is none."""
    at_ms = now_ms if record.at_ms is None or record.at_ms > MAX_TIME_MS else record.at_ms
    at = datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="milliseconds")
    return f"{at} [{record.thread}] {record.text}\n"


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


def _latest(known: Mapping[str, T], key: str, value: T, most: int) -> Mapping[str, T]:
    """The mapping with ``key`` as its last; the first goes when there are too many."""
    if isinstance(known, dict) and known and next(reversed(known)) == key and known[key] is value:
        return known
    kept = {name: held for name, held in known.items() if name != key} | {key: value}
    for name in list(kept)[:-most]:
        del kept[name]
    return kept


class RawRecord(NamedTuple):
    """A record as Kafka has it; ``at_ms`` is None if it has no time."""

    partition: int
    offset: int
    at_ms: int | None
    key: bytes | None
    value: bytes | None


def line_of(raw: RawRecord, *, json_only: bool, as_it_is: bool) -> tuple[LogRecord | None, str]:
    """The line in a record, None for none, and what is wrong with it.

    ``json_only``: what is no object is wrong, ``as_it_is``: objects are lines.
    """
    if raw.value is None:
        return None, NO_VALUE
    text = text_of(raw.value)
    if len(text) > MAX_RECORD_CHARS:
        return None, RECORD_TOO_LONG
    found = None if as_it_is or not text.startswith("{") else parsed(text)
    if found is None:
        return _record(raw, {}, text), NOT_JSON if json_only else ""
    fields = dict(_fields(found))
    message, trace = first_of(fields, MESSAGE), first_of(fields, STACK_TRACE)
    if message and (isinstance(found.get("log"), str) or any(fields.get(name) for name in PLACE)):
        text = f"{message}\n{trace}" if trace else message
    return _record(raw, fields, text), ""


def _record(raw: RawRecord, fields: Mapping[str, str], text: str) -> LogRecord:
    return LogRecord(
        resource=(_joined(fields, HOST) or text_of(raw.key or b""))[:MAX_NAME_CHARS],
        stream=_joined(fields, PLACE)[:MAX_NAME_CHARS],
        thread=first_of(fields, THREAD),
        text=text.rstrip("\r\n"),
        at_ms=raw.at_ms,
    )


def _joined(fields: Mapping[str, str], names: tuple[str, ...]) -> str:
    return "\x1f".join(fields.get(name, "") for name in names).strip("\x1f")


def _fields(found: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The texts in the object and the objects in it, their names joined by dots."""
    for name, value in found.items():
        if isinstance(value, str):
            yield f"{prefix}{name}", encodable(value)
        elif isinstance(value, dict) and depth < MAX_DEPTH:
            yield from _fields(value, f"{prefix}{name}.", depth + 1)


def first_of(fields: Mapping[str, str], names: tuple[str, ...]) -> str:
    """The first of the fields that says something, "" for none."""
    return next((fields[name] for name in names if fields.get(name)), "")
