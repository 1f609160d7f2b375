"""Log records of OTLP as text: the body, then the exception that the record's attributes tell of.

A body that is a mapping speaks through its ``message``, else as JSON. ``resource`` and ``stream`` tell whose
record it is: records of one stream, which is a scope, file and thread of a resource, follow one another.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

MESSAGE: Final = ("message", "msg", "log")
THREAD: Final = ("thread.name", "thread_name", "thread")
STACK_TRACE: Final = ("exception.stacktrace", "stack_trace")
STREAM: Final = ("log.file.path", "log.file.name", "log.iostream", *THREAD)

_NANOS_PER_MS: Final = 1_000_000
_KEY_HEX_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One record; ``at_ms`` is None where it carries no time."""

    resource: str
    stream: str
    thread: str
    text: str
    at_ms: int | None


def records(request: ExportLogsServiceRequest) -> Iterator[LogRecord]:
    """The records in their order."""
    for resource_logs in request.resource_logs:
        resource = _resource_key(resource_logs.resource)
        for scope_logs in resource_logs.scope_logs:
            for record in scope_logs.log_records:
                yield _record(resource, scope_logs.scope.name, record)


def _record(resource: str, scope: str, record: logs_pb2.LogRecord) -> LogRecord:
    fields = _fields(record.body.kvlist_value.values) | _fields(record.attributes)
    at_ns = record.time_unix_nano or record.observed_time_unix_nano
    return LogRecord(
        resource,
        stream=_key(scope, *(fields.get(name, "") for name in STREAM)),
        thread=_first(fields, THREAD),
        text="\n".join(part for part in (_message(record.body), _exception(fields)) if part),
        at_ms=at_ns // _NANOS_PER_MS if at_ns else None,
    )


def _message(body: AnyValue) -> str:
    if body.WhichOneof("value") == "kvlist_value":
        message = _first(_fields(body.kvlist_value.values), MESSAGE)
        return message or _json(body)
    return _text(body).rstrip("\r\n")


def _exception(fields: Mapping[str, str]) -> str:
    """The stack trace, or the line it would begin with."""
    name, message = fields.get("exception.type", ""), fields.get("exception.message", "")
    return _first(fields, STACK_TRACE) or (f"{name}: {message}" if message else name)


def _fields(attributes: Iterable[KeyValue]) -> dict[str, str]:
    return {attribute.key: _text(attribute.value) for attribute in attributes}


def _first(fields: Mapping[str, str], names: Iterable[str]) -> str:
    """The first of the fields that says something."""
    return next((fields[name] for name in names if fields.get(name)), "")


def _text(value: AnyValue) -> str:
    match value.WhichOneof("value"):
        case None:
            return ""
        case "string_value":
            return value.string_value
        case "bytes_value":
            return value.bytes_value.decode(errors="replace")
    return _json(value)


def _json(value: AnyValue) -> str:
    rendered: str = MessageToJson(value, indent=None)
    return rendered


def _resource_key(resource: Resource) -> str:
    return _key(*sorted(f"{name}={value}" for name, value in _fields(resource.attributes).items()))


def _key(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:_KEY_HEX_DIGITS]
