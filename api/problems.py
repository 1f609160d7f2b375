"""What a client is told when something fails: ``application/problem+json`` (RFC 9457).

``type`` is stable: ``urn:deadwatch:problem:`` and the error's kind. What was not expected is told by an id
only, which stands in the log beside the stack.
"""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from api.auth import admit, known
from api.errors import REDRIVE_STATUS, STATUS, TOKEN_STATUS, ApiError
from api.headers import SECURITY
from api.request_id import HEADER as REQUEST_ID
from api.request_id import request_id
from api.telemetry import trace_id
from streaming.redrive.errors import RedriveError
from streaming.store.tokens import TokenError

TYPE_PREFIX: Final = "urn:deadwatch:problem:"
TOO_LARGE: Final = "the body is longer than max_body_bytes allows: send less at once"

logger = logging.getLogger(__name__)


class ProblemResponse(JSONResponse):
    """A problem."""

    media_type = "application/problem+json"


def install(app: FastAPI) -> None:
    """Answer every failure of ``app`` with a problem."""
    app.exception_handler(ApiError)(_known)
    app.exception_handler(RedriveError)(_redrive)
    app.exception_handler(TokenError)(_token)
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
    headers: Mapping[str, str] | None = None,
    **more: object,
) -> ProblemResponse:
    """The response that tells of one problem."""
    request.state.problem = kind
    named = request_id()
    body = {"type": TYPE_PREFIX + kind, "title": title, "status": status, "detail": detail, **more}
    traced = {"trace_id": trace_id()} if trace_id() else {}
    return ProblemResponse(
        {**body, "request_id": named, **traced}, status, {**SECURITY, REQUEST_ID: named, **(headers or {})}
    )


def _known(request: Request, error: ApiError) -> ProblemResponse:
    return problem(request, error.kind, error.title, STATUS[type(error)], str(error), headers=error.headers)


def _token(request: Request, error: TokenError) -> ProblemResponse:
    return problem(request, error.kind, error.title, TOKEN_STATUS[type(error)], str(error))


def _redrive(request: Request, error: RedriveError) -> ProblemResponse:
    return problem(request, error.kind, error.title, REDRIVE_STATUS[type(error)], str(error), **error.facts)


def _unread(request: Request) -> ProblemResponse | None:
    """What is told in place of a body that cannot be read to who may not send one: FastAPI reads it first."""
    if hasattr(request.state, "caller"):
        return None
    try:
        admit(request, known(request))
    except ApiError as error:
        return _known(request, error)
    return None


def _invalid(request: Request, error: RequestValidationError) -> ProblemResponse:
    if refused := _unread(request):
        return refused
    errors = [
        {"in": str(found["loc"][0]), "name": ".".join(map(str, found["loc"][1:])), "detail": found["msg"]}
        for found in error.errors()
    ]
    detail = "; ".join(f"{one['name'] or one['in']}: {one['detail']}" for one in errors)
    return problem(request, "invalid-request", "The request is not valid", 422, detail, errors=errors)


def _http(request: Request, error: HTTPException) -> ProblemResponse:
    status = HTTPStatus(error.status_code)
    if status == HTTPStatus.BAD_REQUEST and (refused := _unread(request)):
        return refused
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return too_large(request)
    kind = status.phrase.lower().replace(" ", "-")
    detail = (
        f"{request.method} {request.url.path}: {status.description or status.phrase}; /docs lists the routes"
    )
    return problem(request, kind, status.phrase, status, detail, headers=error.headers)


def too_large(request: Request) -> ProblemResponse:
    """Of a body that is longer than is read."""
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    return problem(request, "content-too-large", "The body is too large", status, TOO_LARGE)


def _unexpected(request: Request, error: Exception) -> ProblemResponse:
    error.add_note(f"request id {request_id()}")  # the server logs the stack when this handler has answered
    logger.error(
        "%s %r failed, request id %s: %s",
        request.method,
        request.url.path,
        request_id(),
        type(error).__name__,
    )
    return problem(
        request,
        "unexpected",
        "The server failed",
        500,
        f"this was not foreseen; the log tells more under the request id {request_id()}",
    )
