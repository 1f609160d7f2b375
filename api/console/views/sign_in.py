"""Signing in with a token or at an identity provider, and signing out.

The provider sends the browser back by a request from another site, with which the browser sends no cookie
that is ``SameSite=Strict``. So the cookie of the attempt is ``Lax``, and the answer is a page that loads the
next one by itself: that request comes from our own site and carries the session's cookie.
"""

from contextlib import suppress
from typing import Annotated, Final
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import Field

from api.answers import Question
from api.audit import Action
from api.auth.sign_in import Attempt, Person, Session, SignIn, SignInError
from api.auth.tokens import SIGN_OUT
from api.console import sessions
from api.console.rendering import MAX_ADDRESS_CHARS, SEE_OTHER, UNAUTHORIZED, redirect, render, root
from api.console.visitor import BROWSER_COOKIE, CSRF_CHECKED, ConsoleError, SubmittedForm, secure, visitor
from api.errors import STATUSES, ApiError
from api.service import Service, Serving


class NoProviderError(ConsoleError):
    """Somebody asked to sign in at an identity provider, but none is configured."""

    status = 404
    kind = "no-identity-provider"
    title = "There is no identity provider"

    def __init__(self) -> None:
        super().__init__("set api.oidc.issuer and api.oidc.client_id, or sign in with a token")


router = APIRouter()

ATTEMPT_COOKIE: Final = "deadwatch_sign_in"
ATTEMPT_MAX_AGE_S: Final = 600
MAX_PLACE_CHARS: Final = 1_000
"""A longer ``next`` is not kept at the provider: the cookie of the attempt would become too long."""
AUDIT_ACTION: Final = "sign-in.oidc"
FORBIDDEN: Final = 403
UNQUOTED: Final = "/?&=%#+,;:@!$'()*~"
"""Characters that stay as they are in the address of the next page."""


class SignInQuery(Question):
    """The page to show afterwards, and whether a session has ended."""

    next: str = Field("/", max_length=MAX_ADDRESS_CHARS)
    ended: bool = False


@router.get("/sign-in")
def sign_in_page(request: Request, service: Serving, query: Annotated[SignInQuery, Query()]) -> HTMLResponse:
    """The form to sign in; it keeps the page that was asked for."""
    problem = "the session has ended: sign in again to return to the page" if query.ended else ""
    return _form(request, service, query.next, problem, 200)


@router.post("/sign-in")
def sign_in(request: Request, service: Serving, form: SubmittedForm) -> Response:
    """Sign in with a token."""
    place, token = form.get("next", "/"), form.get("token", "")
    try:
        request.state.caller = service.authenticator.caller(_with_token(request, token))
    except ApiError as error:
        return _refused(request, service, place, error)
    answer = redirect(request, _local(place))
    if not sessions.begin(answer, sessions.cipher(request), token, secure=secure(request)):
        return _form(request, service, place, "the token is too long for a session", UNAUTHORIZED)
    return answer


@router.post("/sign-out", dependencies=CSRF_CHECKED)
def sign_out(request: Request, service: Serving) -> Response:
    """End the session, for a copy of its cookie as well; the token stays valid.

    Where the store cannot be written, only this api knows that the session has ended.
    """
    session = getattr(request.state, "session", None)
    if isinstance(session, Session):
        service.authenticator.sessions.add(session.id)
        with suppress(ApiError):
            Action(request, service, visitor(request).caller).record(SIGN_OUT, session.id)
    answer = redirect(request, "/")
    sessions.end(answer)
    answer.delete_cookie(BROWSER_COOKIE, path="/")
    return answer


@router.get("/sign-in/oidc")
def begin_oidc(request: Request, service: Serving, next: str = "/") -> Response:  # noqa: A002 -- the parameter's name in the address
    """Redirect the browser to the identity provider."""
    place = _local(next if len(next) <= MAX_PLACE_CHARS else "/")
    back = f"{request.url.scheme}://{request.url.netloc}{root(request)}/sign-in/oidc/back"
    try:
        address, attempt = _provider(service).begin(back, place)
    except ApiError as error:
        return _refused(request, service, place, error)
    answer = RedirectResponse(address, SEE_OTHER)
    answer.set_cookie(
        ATTEMPT_COOKIE,
        sessions.cipher(request).encrypt(attempt.text),
        max_age=ATTEMPT_MAX_AGE_S,
        httponly=True,
        samesite="lax",
        secure=secure(request),
        path="/",
    )
    return answer


@router.get("/sign-in/oidc/back")
def finish_oidc(request: Request, service: Serving) -> Response:
    """Exchange the provider's code, begin the session and load the next page."""
    cookie = request.cookies.get(ATTEMPT_COOKIE, "")
    attempt = Attempt.read(sessions.cipher(request).decrypt(cookie, ATTEMPT_MAX_AGE_S))
    place = attempt.place if attempt else "/"
    try:
        answer = _signed_in(request, service, attempt)
    except SignInError as error:
        answer = _form(request, service, place, str(error), UNAUTHORIZED)
    except ApiError as error:
        answer = _refused(request, service, place, error)
    if attempt and attempt.is_answered(request.query_params):  # else another window's attempt goes on
        answer.delete_cookie(ATTEMPT_COOKIE, path="/", httponly=True, samesite="lax")
    return answer


def _signed_in(request: Request, service: Service, attempt: Attempt | None) -> Response:
    if attempt is None:
        raise SignInError("the sign-in took too long, or began in another browser: begin again")
    caller = _provider(service).finish(attempt, request.query_params)
    settings = service.settings.oidc
    if caller.role is None:
        problem = (
            f"{caller.name} is known to the identity provider, but has no role here: "
            f"the claim {settings.role_claim} names no role of the settings"
        )
        return _form(request, service, attempt.place, problem, FORBIDDEN)
    Action(request, service, caller).record(AUDIT_ACTION, caller.role.value)
    until_ms = service.now_ms() + settings.session_ms
    person = Person(caller.name, caller.role.value, caller.token, settings.issuer, until_ms)
    request.state.caller = caller
    answer = render(request, "signed_in.html", name=caller.name, to=quote(attempt.place, safe=UNQUOTED))
    sessions.begin(answer, sessions.cipher(request), person.text, secure=secure(request))
    return answer


def _form(request: Request, service: Service, place: str, problem: str, status: int) -> HTMLResponse:
    settings = service.settings
    return render(
        request,
        "sign_in.html",
        status,
        next=_local(place),
        problem=problem,
        local_token_file=settings.local_token_file or "",
        provider=urlsplit(settings.oidc.issuer).hostname if settings.oidc.signs_in else "",
    )


def _refused(request: Request, service: Service, place: str, error: ApiError) -> HTMLResponse:
    answer = _form(request, service, place, str(error), STATUSES[type(error)])
    answer.headers.update(error.headers)
    return answer


def _local(place: str) -> str:
    """The path of a page of the console, or "/": nobody is redirected to another site."""
    plain = place.startswith("/") and not place.startswith("//") and "\\" not in place
    return place if plain and place.isprintable() else "/"


def _with_token(request: Request, token: str) -> Request:
    """The same request as a script would send it with the token; a session that it had is no part of it."""
    for name in ("session", "person"):
        request.scope.get("state", {}).pop(name, None)
    others = [(name, value) for name, value in request.scope["headers"] if name != b"authorization"]
    sent = f"Bearer {token}".encode("latin-1", errors="replace")
    return Request({**request.scope, "headers": [*others, (b"authorization", sent)]})


def _provider(service: Service) -> SignIn:
    if service.authenticator.sign_in is None:
        raise NoProviderError
    return service.authenticator.sign_in
