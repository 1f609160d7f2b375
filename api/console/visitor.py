"""Who looks at a page, the CSRF token that their forms carry, and the forms that they submit.

A browser is known by a random cookie that no script and no other site can read. The CSRF token is derived
from that cookie, so that a page of another site can neither read nor guess it. What the browser says about
where a request comes from (``Origin``, ``Sec-Fetch-Site``) is checked as well.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from api.auth import roles
from api.auth.role import Role
from api.auth.roles import NOBODY, Caller
from api.errors import ApiError


class ConsoleError(Exception):
    """An error with the status and the title of its page; the message is the page's text."""

    status: ClassVar[int] = 400
    kind: ClassVar[str] = "console"
    title: ClassVar[str] = "This cannot be done"


class FormError(ConsoleError):
    """The form is incomplete, or no page of the console has sent it."""

    kind = "unreadable-form"
    title = "The form cannot be read"


class CrossSiteError(ConsoleError):
    """The form lacks a valid CSRF token, or the browser says that another site has sent it."""

    status = 403
    kind = "cross-site"
    title = "Nothing was changed"

    def __init__(self) -> None:
        super().__init__(
            "the form did not come from a page of this console, or the page was open for too long: "
            "open the page again and repeat the change"
        )


BROWSER_COOKIE: Final = "deadwatch_browser"
_PURPOSE: Final = b"deadwatch console form"
_RANDOM_BYTES: Final = 32
_SAME_SITE: Final = frozenset({"same-origin", "none"})


@dataclass(frozen=True, slots=True)
class Visitor:
    """The caller and their browser; ``browser`` is the cookie's value, ``new`` until the browser has it."""

    caller: Caller
    browser: str
    new: bool
    secure: bool

    @property
    def csrf_token(self) -> str:
        """The token that every form of this browser has to carry."""
        return hmac.new(self.browser.encode(), _PURPOSE, hashlib.sha256).hexdigest()

    @property
    def operates(self) -> bool:
        """Whether they have the role operator: they may start and stop redrives."""
        return self.caller.may(Role.OPERATOR)

    @property
    def administers(self) -> bool:
        """Whether they have the role admin: they may make and revoke tokens."""
        return self.caller.may(Role.ADMIN)

    def remember(self, answer: Response) -> None:
        """Set the browser's cookie, if it has none yet."""
        if self.new:
            answer.set_cookie(
                BROWSER_COOKIE, self.browser, httponly=True, samesite="strict", secure=self.secure, path="/"
            )


def visitor(request: Request) -> Visitor:
    """Who sent the request, determined once a request; ``NOBODY`` where authentication fails."""
    if not hasattr(request.state, "visitor"):
        cookie = request.cookies.get(BROWSER_COOKIE, "")
        new = len(cookie) < _RANDOM_BYTES
        browser = secrets.token_urlsafe(_RANDOM_BYTES) if new else cookie
        try:
            caller = roles.caller_of(request)
        except ApiError:
            caller = NOBODY
        request.state.visitor = Visitor(caller, browser, new, secure(request))
    found: Visitor = request.state.visitor
    return found


def secure(request: Request) -> bool:
    """Whether cookies are marked ``Secure``: the browser then sends them over TLS only."""
    return request.url.scheme == "https"


def _require_csrf_token(request: Request, token: str) -> None:
    """Refuse a form that no page of this console has sent. Raises ``CrossSiteError``.

    It runs in a thread: to find out who sent the form it may read the store or ask the identity provider.
    """
    here = visitor(request)
    genuine = hmac.compare_digest(token.encode(), here.csrf_token.encode())
    if here.new or not genuine or not _same_origin(request):
        raise CrossSiteError


def _same_origin(request: Request) -> bool:
    origin = request.headers.get("origin")
    if request.headers.get("sec-fetch-site", "none") not in _SAME_SITE:
        return False
    try:
        return origin is None or urlsplit(origin).netloc == request.headers.get("host")
    except ValueError:
        return False


MAX_BYTES: Final = 524_288
"""Enough for ten thousand single records that a redrive names."""
MAX_FIELDS: Final = 100
MEDIA_TYPE: Final = "application/x-www-form-urlencoded"

Form = Mapping[str, str]


async def submitted(request: Request) -> Form:
    """The fields by name; of a name that occurs twice, the last one.

    Raises ``FormError``: too long, not whole, or no form; ``CrossSiteError``: no page of this console has
    sent it.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != MEDIA_TYPE:
        raise FormError("the request is not a form of this console")
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BYTES:
                raise FormError(f"the form is longer than {MAX_BYTES:,} bytes")
    except ClientDisconnect:
        raise FormError("the form did not come whole") from None
    try:
        fields = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"
        )
    except ValueError:
        raise FormError("the form cannot be decoded") from None
    if any("\0" in value for _, value in fields):
        raise FormError("the form holds the character NUL, which no text may hold")
    form = {name: value.replace("\r\n", "\n").strip() for name, value in fields}
    await run_in_threadpool(_require_csrf_token, request, form.pop("csrf", ""))
    return form


SubmittedForm = Annotated[Form, Depends(submitted)]
CSRF_CHECKED: Final = [Depends(submitted)]
"""The dependencies of a route that needs no field of its form, only that this console has sent it."""
