"""OTLP/HTTP on the wire: requests and answers, each in the encoding of the request."""

import json
from typing import Final

from google.protobuf.json_format import MessageToJson, ParseDict, ParseError
from google.protobuf.message import DecodeError, Message
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)

from collector.receiver_body import Reason, RefusedError

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
INVALID_ARGUMENT: Final = 3
UNAVAILABLE: Final = 14
"""Codes of gRPC."""


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
    except (ParseError, ValueError, RecursionError) as error:
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


def failure(code: int, message: str) -> Message:
    """What OTLP answers to a request that was not taken."""
    return Status(code=code, message=message)


def encoded(message: Message, media: str) -> tuple[bytes, str]:
    """The bytes and their type; JSON unless the request was protobuf."""
    if media == PROTOBUF:
        return message.SerializeToString(), PROTOBUF
    return MessageToJson(message, indent=None).encode(), JSON
