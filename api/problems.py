"""What a client gets when something fails: ``application/problem+json`` (RFC 9457).

``type`` is stable: ``urn:deadwatch:problem:`` and the error's kind. An unexpected error is answered by the
request's id alone; the same id stands in the log beside the stack trace.
"""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import Field
from starlette.exceptions import HTTPException

from api.answers import Answer
from api.auth.roles import admit, caller_of
from api.errors import STATUSES, ApiError
from api.telemetry import HEADER as REQUEST_ID
from api.telemetry import request_id, trace_id
from api.validation import reason
from deadwatch.contract.errors import RequestError

TYPE_PREFIX: Final = "urn:deadwatch:problem:"
MOST_ERRORS: Final = 20
"""What one answer names of a request that is not valid; the rest is counted."""
log = logging.getLogger(__name__)


class ProblemResponse(JSONResponse):
    """A response with a problem as its body."""

    media_type = "application/problem+json"


def install(app: FastAPI) -> None:
    """Answer every failure of ``app`` with a problem."""
    for known in (ApiError, RequestError):
        app.exception_handler(known)(_known)
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(HTTPException)(_http)
    app.exception_handler(Exception)(_unexpected)


def problem(
    request: Request,
    kind: str,
    title: str,
    status: int,
    detail: str,
    *,
    headers: Mapping[str, str] = MappingProxyType({}),
    **more: object,
) -> ProblemResponse:
    """The response for one problem."""
    request.state.problem = kind
    name = request_id()
    body = {"type": TYPE_PREFIX + kind, "title": title, "status": status, "detail": detail, **more}
    traced = {"trace_id": trace_id()} if trace_id() else {}
    return ProblemResponse(
        {**body, "request_id": name, **traced}, status, {**SECURITY, REQUEST_ID: name, **headers}
    )


def _known(request: Request, error: ApiError | RequestError) -> ProblemResponse:
    facts = error.facts if isinstance(error, RequestError) else {}
    headers = error.headers if isinstance(error, ApiError) else {}
    status = STATUSES[type(error)]
    return problem(request, error.kind, error.title, status, str(error), headers=headers, **facts)


def _unauthenticated(request: Request) -> ProblemResponse | None:
    """The refusal of a caller who may not send a body: FastAPI parses the body before it asks who calls."""
    if hasattr(request.state, "caller"):
        return None
    try:
        admit(request, caller_of(request))
    except ApiError as error:
        return _known(request, error)
    return None


def _invalid(request: Request, error: RequestValidationError) -> ProblemResponse:
    if refused := _unauthenticated(request):
        return refused
    every = error.errors()
    errors = [
        {"in": str(found["loc"][0]), "name": _field(found), "detail": reason(found)}
        for found in every[:MOST_ERRORS]
    ]
    detail = "; ".join(f"{found['name'] or found['in']}: {found['detail']}" for found in errors)
    detail += f"; and {len(every) - MOST_ERRORS} more" if len(every) > MOST_ERRORS else ""
    return problem(request, "invalid-request", "The request is not valid", 422, detail, errors=errors)


def _field(found: Mapping[str, Any]) -> str:
    """The field or parameter of an error; "" where the whole body is meant."""
    return "" if found["type"] == "json_invalid" else ".".join(map(str, found["loc"][1:]))


def _http(request: Request, error: HTTPException) -> ProblemResponse:
    status = HTTPStatus(error.status_code)
    if status == HTTPStatus.BAD_REQUEST and (refused := _unauthenticated(request)):
        return refused
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return too_large(request)
    kind = status.phrase.lower().replace(" ", "-")
    text = error.detail if status == HTTPStatus.BAD_REQUEST else status.description or status.phrase
    detail = f"{request.method} {request.url.path}: {text}; /docs lists the routes"
    return problem(request, kind, status.phrase, status, detail, headers=error.headers or {})


def too_large(request: Request) -> ProblemResponse:
    """The response to a body that is too long."""
    detail = "the body is longer than max_body_bytes allows: send less at once"
    return problem(request, "content-too-large", "The body is too large", 413, detail)


def broken_host(request: Request) -> ProblemResponse:
    """The response to a malformed header Host, or to several of them."""
    detail = "send one header Host, with a name or an address and a port"
    return problem(request, "broken-host", "The header Host cannot be read", 400, detail)


def log_unexpected(request: Request, error: Exception) -> None:
    """A line of the log; the server logs the stack, with the same id, when the request has been answered.

    An error of the console comes here twice: from there, and from the api around it.
    """
    note = f"request id {request_id()}"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
        path, kind = request.url.path, type(error).__name__
        log.error("%s %r failed, %s: %s", request.method, path, note, kind)


def _unexpected(request: Request, error: Exception) -> ProblemResponse:
    log_unexpected(request, error)
    detail = f"this was not foreseen; the log tells more under the request id {request_id()}"
    return problem(request, "unexpected", "The server failed", 500, detail)


class Problem(Answer):
    """A failure, as RFC 9457 has it; ``type`` is stable."""

    type: str = Field(examples=["urn:deadwatch:problem:store-unavailable"])
    title: str = Field(examples=["The store cannot be read"])
    status: int = Field(examples=[503])
    detail: str = Field(examples=["there is no store yet: streaming makes it at its first start"])
    request_id: str = Field(description="As in X-Request-Id, in the log and in the audit.", examples=["f3c1"])
    trace_id: str | None = Field(None, description="Where the request is traced.", examples=[None])


SECURITY: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Browsers must not guess the type of an answer, nobody caches it, and nothing in it runs as a page."""
