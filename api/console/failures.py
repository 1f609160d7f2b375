"""What a page says when something fails: what happened, and what to do."""

import logging
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode, urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from api.auth import READING
from api.console import sessions
from api.console.errors import ConsoleError
from api.console.pages import page, see
from api.errors import REDRIVE_STATUS, STATUS, TOKEN_STATUS, ApiError, UnauthenticatedError
from api.request_id import request_id
from streaming.redrive.errors import RedriveError
from streaming.store.tokens import TokenError

EVENTS: Final = "text/event-stream"

logger = logging.getLogger(__name__)


def install(console: FastAPI) -> None:
    """Answer every failure of the console with a page."""
    console.exception_handler(UnauthenticatedError)(_unauthenticated)
    console.exception_handler(ApiError)(_known)
    console.exception_handler(TokenError)(_token)
    console.exception_handler(RedriveError)(_redrive)
    console.exception_handler(ConsoleError)(_ours)
    console.exception_handler(RequestValidationError)(_invalid)
    console.exception_handler(HTTPException)(_http)
    console.exception_handler(Exception)(_unexpected)


def told(
    request: Request, kind: str, status: int, title: str, detail: str, *, sign_in: str = ""
) -> HTMLResponse:
    """The page of a problem; ``sign_in`` is where to go first, if anywhere."""
    request.state.problem = kind
    return page(request, "problem.html", status, title=title, detail=detail, code=status, sign_in=sign_in)


def _unauthenticated(request: Request, error: UnauthenticatedError) -> Response:
    """To the sign-in, with the place kept. A part of a page is told so and its script opens the page anew:
    that ends the session, not the part, else the page would go on as nobody's.
    """
    if "hx-request" in request.headers or EVENTS in request.headers.get("accept", ""):
        return told(request, error.kind, 401, error.title, "sign in, then do it again")
    said = {"next": _place(request)} | ({"ended": "1"} if error.invalid else {})
    if request.method in READING:
        answer: Response = see(request, f"/sign-in?{urlencode(said)}")
    else:
        detail = "nothing was changed: sign in, then do it again"
        address = f"/sign-in?{urlencode(said)}"
        answer = told(request, error.kind, 401, error.title, detail, sign_in=address)
    if error.invalid:
        sessions.end(answer)
    return answer


def _place(request: Request) -> str:
    """The page to come back to: the one that was asked for, or the one whose form was sent."""
    root = str(request.scope.get("root_path", ""))
    if request.method in READING:
        asked = urlsplit(str(request.url))
    else:
        asked = urlsplit(request.headers.get("referer", ""))
        if asked.netloc != request.headers.get("host") or not asked.path.startswith(f"{root}/"):
            return "/"
    query = f"?{asked.query}" if asked.query else ""
    return (asked.path.removeprefix(root) or "/") + query


def _token(request: Request, error: TokenError) -> HTMLResponse:
    return told(request, error.kind, TOKEN_STATUS[type(error)], error.title, str(error))


def _known(request: Request, error: ApiError) -> HTMLResponse:
    return told(request, error.kind, STATUS[type(error)], error.title, str(error))


def _redrive(request: Request, error: RedriveError) -> HTMLResponse:
    return told(request, error.kind, REDRIVE_STATUS[type(error)], error.title, str(error))


def _ours(request: Request, error: ConsoleError) -> HTMLResponse:
    return told(request, error.kind, error.status, error.title, str(error))


def _invalid(request: Request, error: RequestValidationError) -> HTMLResponse:
    detail = "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors())
    return told(request, "invalid-request", 422, "The address is not valid", detail)


def _http(request: Request, error: HTTPException) -> HTMLResponse:
    status = HTTPStatus(error.status_code)
    kind = status.phrase.lower().replace(" ", "-")
    if status == HTTPStatus.NOT_FOUND:
        return told(request, kind, status, "There is no such page", "what it was about may be gone")
    return told(request, kind, status, status.phrase, status.description or status.phrase)


def _unexpected(request: Request, error: Exception) -> HTMLResponse:
    named = request_id()
    error.add_note(f"request id {named}")
    logger.error(
        "%s %r failed, request id %s: %s", request.method, request.url.path, named, type(error).__name__
    )
    detail = f"this was not foreseen; the log of the api tells more under the request id {named}"
    return told(request, "unexpected", 500, "The server failed", detail)
