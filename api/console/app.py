"""The console put together: an application below ``/console`` with its own error pages.

A page may load files of the console and send forms to it, no more: the headers of every answer say so.
The page for a failure says what happened, and what to do.
"""

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from api.auth.roles import READING, admitted
from api.checks.api_checks import Doctor
from api.console import sessions
from api.console.rendering import page_to_return_to, redirect, render, validation_text
from api.console.sessions import CookieCipher, SessionMiddleware
from api.console.views import administration, groups, lists, overview, policies, records, redrives, sign_in
from api.console.visitor import ConsoleError
from api.errors import STATUSES, ApiError, UnauthenticatedError
from api.problems import log_unexpected
from api.routes import live
from api.settings import ApiSettings
from api.telemetry import request_id
from deadwatch.contract.errors import RequestError

PATH: Final = "/console"
STATIC: Final = Path(__file__).parent / "static"
COMPRESSED_FROM_BYTES: Final = 1_000
VIEWS: Final = (overview, groups, records, redrives, policies, lists, administration, live)
"""Modules whose routes need at least the role viewer; the sign-in needs none, a look its own."""
STATIC_CACHE_CONTROL: Final = "public, max-age=31536000, immutable"
"""For files below ``/static``, whose addresses change with every version."""


def create_console(state: State, settings: ApiSettings) -> FastAPI:
    """The console of the api with this ``state``, to be mounted at ``PATH``."""
    console = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, routes=[*_routes()])
    console.state = state
    state.console_cipher = CookieCipher(settings.token_pepper.get_secret_value())
    state.console_doctor = Doctor(settings, state.service.now_ms)
    console.add_middleware(SessionMiddleware, cipher=state.console_cipher, idle_ms=settings.session_idle_ms)
    console.add_middleware(GZipMiddleware, minimum_size=COMPRESSED_FROM_BYTES)
    console.exception_handler(UnauthenticatedError)(_unauthenticated)
    for error in (ApiError, RequestError, ConsoleError):
        console.exception_handler(error)(_known)
    console.exception_handler(RequestValidationError)(_invalid)
    console.exception_handler(HTTPException)(_http)
    console.exception_handler(Exception)(_unexpected)
    console.mount("/static", CachedFiles(directory=STATIC), name="static")
    return console


@cache  # what FastAPI works out of its routes is most of what a console costs
def _routes() -> tuple[BaseRoute, ...]:
    console = APIRouter()
    for view in VIEWS:
        console.include_router(view.router, dependencies=[Depends(admitted)])
    console.include_router(records.looks)
    console.include_router(sign_in.router)
    return tuple(console.routes)


class CachedFiles(StaticFiles):
    """The console's files, which browsers keep for ever."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file."""
        answer = await super().get_response(path, scope)
        answer.headers["Cache-Control"] = STATIC_CACHE_CONTROL
        return answer


def _error_page(
    request: Request,
    kind: str,
    status: int,
    title: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    sign_in: str = "",
) -> HTMLResponse:
    """``sign_in`` is the address of the sign-in page; "" shows no link to it."""
    request.state.problem = kind
    page = render(request, "problem.html", status, title=title, detail=detail, code=status, sign_in=sign_in)
    page.headers.update(headers or {})
    return page


def _unauthenticated(request: Request, error: UnauthenticatedError) -> Response:
    """Redirect a page to the sign-in and a form to an error page; both lead back to where the person was.

    A fragment (htmx, server-sent events) gets 401 and keeps the session cookie: its script loads the whole
    page again, and that request ends the session. If the fragment ended it, the page would go on as an
    anonymous one where anonymous reading is allowed.
    """
    request.state.problem = error.kind
    if sessions.is_part(request.headers):
        detail = "sign in, then do it again"
        return _error_page(request, error.kind, 401, error.title, detail, headers=error.headers)
    query = {"next": page_to_return_to(request)} | ({"ended": "1"} if error.invalid else {})
    address = f"/sign-in?{urlencode(query)}"
    if request.method in READING:
        answer: Response = redirect(request, address)
    else:
        detail = "nothing was changed: sign in, then do it again"
        answer = _error_page(
            request, error.kind, 401, error.title, detail, headers=error.headers, sign_in=address
        )
    if error.invalid:
        sessions.end(answer)
    return answer


def _known(request: Request, error: ApiError | RequestError | ConsoleError) -> HTMLResponse:
    status = error.status if isinstance(error, ConsoleError) else STATUSES[type(error)]
    headers = error.headers if isinstance(error, ApiError) else None
    return _error_page(request, error.kind, status, error.title, str(error), headers=headers)


def _invalid(request: Request, error: RequestValidationError) -> HTMLResponse:
    detail = validation_text(error.errors(), "parameter", depth=1)
    return _error_page(request, "invalid-request", 422, "The address is not valid", detail)


def _http(request: Request, error: HTTPException) -> HTMLResponse:
    status = HTTPStatus(error.status_code)
    kind = status.phrase.lower().replace(" ", "-")
    if status == HTTPStatus.NOT_FOUND:
        detail = "the address is wrong, or what it showed has been deleted"
        return _error_page(request, kind, status, "There is no such page", detail)
    detail = status.description or status.phrase
    return _error_page(request, kind, status, status.phrase, detail, headers=error.headers)


def _unexpected(request: Request, error: Exception) -> HTMLResponse:
    log_unexpected(request, error)
    detail = f"this is a defect; look for the request id {request_id()} in the log of the api"
    return _error_page(request, "unexpected", 500, "The server failed", detail)
