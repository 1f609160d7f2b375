"""Signing in with a token, and out again."""

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from api.console import sessions
from api.console.forms import Filled
from api.console.pages import page, see
from api.console.visitor import BROWSER, secure
from api.errors import STATUS, ApiError
from api.service import Serving

router = APIRouter()

UNAUTHORIZED = 401


class SignInQuery(BaseModel):
    """Where to go afterwards, and whether a session has ended."""

    model_config = ConfigDict(extra="forbid")

    next: str = Field("/", max_length=8_000)
    ended: bool = False


@router.get("/sign-in")
def sign_in_page(request: Request, service: Serving, query: Annotated[SignInQuery, Query()]) -> HTMLResponse:
    """The form; the place that was asked for is kept."""
    problem = "the session has ended: sign in again, the page is kept" if query.ended else ""
    return sign_in_form(request, service, query.next, problem, 200)


@router.post("/sign-in")
def sign_in(request: Request, service: Serving, form: Filled) -> Response:
    """Let the gate judge the token."""
    place, token = form.get("next", "/"), form.get("token", "")
    try:
        who = service.gate.caller(_with(request, token))
    except ApiError as error:
        return sign_in_form(request, service, place, str(error), STATUS[type(error)])
    request.state.caller = who
    sealed = sessions.of(request).seal(token)
    if not sealed:
        return sign_in_form(request, service, place, "the token is too long for a session", UNAUTHORIZED)
    answer = see(request, here(place))
    sessions.begin(answer, sealed, secure=secure(request))
    return answer


@router.post("/sign-out")
def sign_out(request: Request, form: Filled) -> Response:
    """Forget the session; the token stays what it is."""
    del form
    answer = see(request, "/")
    sessions.end(answer)
    answer.delete_cookie(BROWSER, path="/")
    return answer


def sign_in_form(request: Request, service: Serving, place: str, problem: str, status: int) -> HTMLResponse:
    """The page to sign in on, with what was wrong before."""
    settings = service.settings
    return page(
        request,
        "sign_in.html",
        status,
        next=here(place),
        problem=problem,
        local=settings.local_token_file or "",
        provider=urlsplit(settings.oidc.issuer).hostname if settings.oidc.signs_in else "",
    )


def here(place: str) -> str:
    """A page of the console: nobody is sent anywhere else."""
    plain = place.startswith("/") and not place.startswith("//") and "\\" not in place
    return place if plain and place.isprintable() else "/"


def _with(request: Request, token: str) -> Request:
    """The same request as a script would send it with the token."""
    kept = [(name, value) for name, value in request.scope["headers"] if name != b"authorization"]
    sent = f"Bearer {token}".encode("latin-1", errors="replace")
    return Request({**request.scope, "headers": [*kept, (b"authorization", sent)]})
