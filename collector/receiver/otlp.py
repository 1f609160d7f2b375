"""OTLP/HTTP logs: requests and answers in the encoding of the request, and the log records in a request as
text.

The text of a record is its body, then the exception in the record's attributes. A body that is a mapping
gives its ``message``, or else its JSON. ``resource`` and ``stream`` identify the writer of a record: the
records of one stream, which is a scope, file and thread of a resource, follow one another.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from google.protobuf.json_format import MessageToJson, ParseDict
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1 import logs_pb2

from collector.receiver.body import Reason, RefusedError
from collector.sources.logs.records import LogRecord, first_of
from deadwatch.runtime.clock import NANOS_PER_MS

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
INVALID_ARGUMENT: Final = 3
UNAVAILABLE: Final = 14
"""Codes of gRPC."""

MESSAGE: Final = ("message", "msg", "log")
THREAD: Final = ("thread.name", "thread_name", "thread")
STACK_TRACE: Final = ("exception.stacktrace", "stack_trace")
STREAM: Final = ("log.file.path", "log.file.name", "log.iostream", *THREAD)
_KEY_HEX_DIGITS: Final = 16


def media_type(content_type: str) -> str:
    """The type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def request_of(body: bytes, media: str) -> ExportLogsServiceRequest:
    """The request. Raises ``RefusedError``."""
    request = ExportLogsServiceRequest()
    if media == JSON:
        return _from_json(body, request)
    if media != PROTOBUF:
        raise RefusedError(Reason.CONTENT_TYPE, f"Content-Type must be {PROTOBUF} or {JSON}")
    try:
        request.ParseFromString(body)
    except DecodeError:
        raise RefusedError(
            Reason.NOT_PROTOBUF, "the body is not an ExportLogsServiceRequest in protobuf", excerpt=body
        ) from None
    return request


def json_of(body: bytes) -> object:
    """The JSON value. Raises ``RefusedError``."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedError(Reason.NOT_JSON, f"the body is not JSON: {error}", excerpt=body) from None
    return value


def _from_json(body: bytes, request: ExportLogsServiceRequest) -> ExportLogsServiceRequest:
    """Ids are hexadecimal in OTLP's JSON and misread here as base64; nothing looks at them."""
    value = json_of(body)
    if not isinstance(value, dict):
        raise RefusedError(Reason.NOT_JSON, "the body must be a JSON object", excerpt=body)
    try:
        ParseDict(value, request, ignore_unknown_fields=True)
    except Exception as error:  # noqa: BLE001 - besides ParseError what its parts raise: SystemError, OverflowError
        raise RefusedError(
            Reason.NOT_JSON, f"the body is not an ExportLogsServiceRequest in JSON: {error}", excerpt=body
        ) from None
    return request


def success(rejected: int, message: str) -> ExportLogsServiceResponse:
    """All was taken but the rejected records."""
    response = ExportLogsServiceResponse()
    if rejected:
        response.partial_success.rejected_log_records = rejected
        response.partial_success.error_message = message
    return response


def encoded(message: Message, media: str) -> tuple[bytes, str]:
    """The bytes and their type; JSON unless the request was protobuf."""
    if media == PROTOBUF:
        return message.SerializeToString(), PROTOBUF
    return MessageToJson(message, indent=None).encode(), JSON


def records(request: ExportLogsServiceRequest) -> Iterator[LogRecord]:
    """The records in their order."""
    for resource_logs in request.resource_logs:
        attributes = _fields(resource_logs.resource.attributes)
        resource = _key(*sorted(f"{name}={value}" for name, value in attributes.items()))
        for scope_logs in resource_logs.scope_logs:
            for record in scope_logs.log_records:
                yield _record(resource, scope_logs.scope.name, record)


def _record(resource: str, scope: str, record: logs_pb2.LogRecord) -> LogRecord:
    fields = _fields(record.body.kvlist_value.values) | _fields(record.attributes)
    at_ns = record.time_unix_nano or record.observed_time_unix_nano
    return LogRecord(
        resource,
        stream=_key(scope, *(fields.get(name, "") for name in STREAM)),
        thread=first_of(fields, THREAD),
        text="\n".join(part for part in (_message(record.body), _exception(fields)) if part),
        at_ms=at_ns // NANOS_PER_MS if at_ns else None,
    )


def _message(body: AnyValue) -> str:
    if body.WhichOneof("value") == "kvlist_value":
        message = first_of(_fields(body.kvlist_value.values), MESSAGE)
        return message or _json(body)
    return _text(body).rstrip("\r\n")


def _exception(fields: Mapping[str, str]) -> str:
    """The stack trace, or the line it would begin with."""
    name, message = fields.get("exception.type", ""), fields.get("exception.message", "")
    return first_of(fields, STACK_TRACE) or (f"{name}: {message}" if message else name)


def _fields(attributes: Iterable[KeyValue]) -> dict[str, str]:
    return {attribute.key: _text(attribute.value) for attribute in attributes}


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


def _key(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:_KEY_HEX_DIGITS]
