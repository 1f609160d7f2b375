"""A record of a Kafka topic as a record of a log: what a shipper has put around the line is taken off.

Filebeat, Fluent Bit and Vector send an object a line: the line is its ``message`` or ``log``, and the object
also names the file, stream or container it comes from. An object that names none of these is an entry of an
application's own JSON layout and is read as it is, with every text in it. Anything else is the line itself.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from collector.sources.log_json import encodable, parsed, text_of
from collector.sources.log_text import NOT_JSON
from collector.sources.otlp import LogRecord
from collector.sources.otlp_scan import MAX_RECORD_CHARS

NO_VALUE: Final = "no_value"
RECORD_TOO_LONG: Final = "record_too_long"

MESSAGE: Final = ("message", "log", "msg")
STACK_TRACE: Final = ("error.stack_trace", "stack_trace")
THREAD: Final = ("process.thread.name", "thread_name", "thread")
HOST: Final = ("host.name", "host.hostname", "hostname", "host", "kubernetes.pod_name", "kubernetes.pod.name")
PLACE: Final = ("log.file.path", "file", "filename", "source", "stream", "container.id", "container_name")


MAX_DEPTH: Final = 3


class RawRecord(NamedTuple):
    """A record as Kafka has it; ``at_ms`` is None where it carries no time."""

    partition: int
    offset: int
    at_ms: int | None
    key: bytes | None
    value: bytes | None


class Line(NamedTuple):
    """What there is to scan, None where that is nothing, and what was wrong with it."""

    record: LogRecord | None
    trouble: str = ""


def line_of(raw: RawRecord, *, json_only: bool, as_it_is: bool) -> Line:
    """The line in a record; ``json_only``: what is no object is said, ``as_it_is``: objects are lines."""
    if raw.value is None:
        return Line(None, NO_VALUE)
    text = text_of(raw.value)
    if len(text) > MAX_RECORD_CHARS:
        return Line(None, RECORD_TOO_LONG)
    found = None if as_it_is or not text.startswith("{") else parsed(text)
    if found is None:
        return Line(_record(raw, {}, text), NOT_JSON if json_only else "")
    fields = dict(_fields(found))
    message = _first(fields, MESSAGE)
    if not message or not _is_shipped(found, fields):
        return Line(_record(raw, fields, text))
    return Line(
        _record(raw, fields, "\n".join(part for part in (message, _first(fields, STACK_TRACE)) if part))
    )


def _record(raw: RawRecord, fields: Mapping[str, str], text: str) -> LogRecord:
    host = "\x1f".join(fields.get(name, "") for name in HOST).strip("\x1f")
    return LogRecord(
        resource=host or text_of(raw.key or b""),
        stream="\x1f".join(fields.get(name, "") for name in PLACE).strip("\x1f"),
        thread=_first(fields, THREAD),
        text=text.rstrip("\r\n"),
        at_ms=raw.at_ms,
    )


def _is_shipped(found: Mapping[str, Any], fields: Mapping[str, str]) -> bool:
    return isinstance(found.get("log"), str) or any(fields.get(name) for name in PLACE)


def _fields(found: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The texts in the object and the objects in it, their names joined by dots."""
    for name, value in found.items():
        if isinstance(value, str):
            yield f"{prefix}{name}", encodable(value)
        elif isinstance(value, dict) and depth < MAX_DEPTH:
            yield from _fields(value, f"{prefix}{name}.", depth + 1)


def _first(fields: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((fields[name] for name in names if fields.get(name)), "")
