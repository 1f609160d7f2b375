"""What a page says when something fails: what happened, and what to do."""

import logging
import uuid
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from api.console.errors import ConsoleError
from api.console.pages import page
from api.errors import REDRIVE_STATUS, STATUS, ApiError
from streaming.redrive.errors import RedriveError

logger = logging.getLogger(__name__)


def install(console: FastAPI) -> None:
    """Answer every failure of the console with a page."""
    console.exception_handler(ApiError)(_known)
    console.exception_handler(RedriveError)(_redrive)
    console.exception_handler(ConsoleError)(_ours)
    console.exception_handler(RequestValidationError)(_invalid)
    console.exception_handler(HTTPException)(_http)
    console.exception_handler(Exception)(_unexpected)


def told(request: Request, status: int, title: str, detail: str) -> HTMLResponse:
    """The page of a problem."""
    return page(request, "problem.html", status, title=title, detail=detail, code=status)


def _known(request: Request, error: ApiError) -> HTMLResponse:
    return told(request, STATUS[type(error)], error.title, str(error))


def _redrive(request: Request, error: RedriveError) -> HTMLResponse:
    return told(request, REDRIVE_STATUS[type(error)], error.title, str(error))


def _ours(request: Request, error: ConsoleError) -> HTMLResponse:
    return told(request, error.status, error.title, str(error))


def _invalid(request: Request, error: RequestValidationError) -> HTMLResponse:
    detail = "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors())
    return told(request, 422, "The address is not valid", detail)


def _http(request: Request, error: HTTPException) -> HTMLResponse:
    status = HTTPStatus(error.status_code)
    return told(request, status, status.phrase, status.description or status.phrase)


def _unexpected(request: Request, error: Exception) -> HTMLResponse:
    request_id = uuid.uuid4().hex
    error.add_note(f"request id {request_id}")
    logger.error(
        "%s %r failed, request id %s: %s", request.method, request.url.path, request_id, type(error).__name__
    )
    detail = f"this was not foreseen; the log of the api tells more under the request id {request_id}"
    return told(request, 500, "The server failed", detail)
