"""Signing in at the identity provider: away to it, and back from it.

Back comes a request of another site, with which the browser sends no strict cookie. So the cookie of the
attempt is a lax one, and who is back sees a page that leads on by itself: what that asks for is of our site.
"""

import json
from dataclasses import asdict
from typing import Final
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from api.audit import Audit
from api.console import sessions
from api.console.errors import NoProviderError
from api.console.pages import SEE_OTHER, page, root
from api.console.views.sign_in import UNAUTHORIZED, here, sign_in_form
from api.console.visitor import secure
from api.errors import STATUS, ApiError
from api.oidc_sign_in import Attempt, SignIn, SignInError
from api.person import Person
from api.service import Service, Serving

router = APIRouter(prefix="/sign-in/oidc")

ATTEMPT: Final = "deadwatch_sign_in"
MAX_AGE_S: Final = 600
MAX_PLACE_CHARS: Final = 1_000
"""Beyond, the place is not kept: the cookie of the attempt would be too long."""
ACTION: Final = "sign-in.oidc"
FORBIDDEN: Final = 403
OF_ADDRESSES: Final = "/?&=%#+,;:@!$'()*~"
"""What stays as it is in an address."""
MARK: Final = "attempt:"
"""Begins the text of one: no other cookie of ours passes for it."""


@router.get("")
def away(request: Request, service: Serving, next: str = "/") -> Response:  # noqa: A002 -- the address says so
    """Send the browser to the provider."""
    place = here(next if len(next) <= MAX_PLACE_CHARS else "/")
    back = f"{request.url.scheme}://{request.url.netloc}{root(request)}{router.prefix}/back"
    try:
        address, attempt = _provider(service).begin(back, place)
    except ApiError as error:
        return sign_in_form(request, service, place, str(error), STATUS[type(error)])
    answer = RedirectResponse(address, SEE_OTHER)
    sealed = sessions.of(request).seal(MARK + json.dumps(asdict(attempt)))
    answer.set_cookie(
        ATTEMPT,
        sealed,
        max_age=MAX_AGE_S,
        httponly=True,
        samesite="lax",
        secure=secure(request),
        path="/",
    )
    return answer


@router.get("/back")
def back(request: Request, service: Serving) -> Response:
    """Exchange the code, begin the session, lead on."""
    opened = sessions.of(request).open(request.cookies.get(ATTEMPT, ""), MAX_AGE_S)
    attempt = Attempt(**json.loads(opened.removeprefix(MARK))) if opened.startswith(MARK) else None
    place = attempt.place if attempt else "/"
    try:
        answer = _signed_in(request, service, attempt)
    except SignInError as error:
        answer = sign_in_form(request, service, place, str(error), UNAUTHORIZED)
    except ApiError as error:
        answer = sign_in_form(request, service, place, str(error), STATUS[type(error)])
    answer.delete_cookie(ATTEMPT, path="/", httponly=True, samesite="lax")
    return answer


def _signed_in(request: Request, service: Service, attempt: Attempt | None) -> Response:
    if attempt is None:
        raise SignInError("the sign-in took too long, or was begun in another browser: begin again")
    who = _provider(service).finish(attempt, dict(request.query_params))
    settings = service.settings.oidc
    if who.role is None:
        said = f"{who.name} is known to the identity provider, but has no role here"
        problem = f"{said}: its claim {settings.role_claim} names none that the settings know"
        return sign_in_form(request, service, attempt.place, problem, FORBIDDEN)
    Audit(service, request, who).record(ACTION, who.role.value)
    person = Person.of(who, who.role, settings.issuer, service.now_ms() + settings.session_ms)
    request.state.caller = who
    answer = page(request, "signed_in.html", name=who.name, to=quote(attempt.place, safe=OF_ADDRESSES))
    sessions.begin(answer, sessions.of(request).seal(person.text), secure=secure(request))
    return answer


def _provider(service: Service) -> SignIn:
    if service.gate.sign_in is None:
        raise NoProviderError
    return service.gate.sign_in
