"""Who looks at a page, and the token that their forms carry.

A browser is known by a cookie of chance that no script and no other site sees. The token of its forms is
made from it, so that a page of another site can neither read nor guess it; what a browser says of
where a request comes from is looked at as well.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import Response

from api import auth
from api.auth import NOBODY, Caller, Role
from api.console.errors import CrossSiteError
from api.errors import ApiError

BROWSER: Final = "deadwatch_browser"
_PURPOSE: Final = b"deadwatch console form"
_CHANCE_BYTES: Final = 32
_SAME_SITE: Final = frozenset({"same-origin", "none"})


@dataclass(frozen=True, slots=True)
class Visitor:
    """``browser`` is the cookie's value, ``fresh`` when it is new."""

    caller: Caller
    browser: str
    fresh: bool
    secure: bool

    @property
    def token(self) -> str:
        """What a form has to carry."""
        return hmac.new(self.browser.encode(), _PURPOSE, hashlib.sha256).hexdigest()

    @property
    def operates(self) -> bool:
        """Whether redrives are theirs to start and stop."""
        return self.caller.may(Role.OPERATOR)

    @property
    def administers(self) -> bool:
        """Whether tokens are theirs to make and revoke."""
        return self.caller.may(Role.ADMIN)

    def remember(self, answer: Response) -> None:
        """Give a browser that has none its cookie."""
        if self.fresh:
            answer.set_cookie(
                BROWSER, self.browser, httponly=True, samesite="strict", secure=self.secure, path="/"
            )


def visitor(request: Request) -> Visitor:
    """Who sent the request, the same for the whole of it; nobody where that cannot be told."""
    if not hasattr(request.state, "visitor"):
        known = request.cookies.get(BROWSER, "")
        fresh = len(known) < _CHANCE_BYTES
        browser = secrets.token_urlsafe(_CHANCE_BYTES) if fresh else known
        request.state.visitor = Visitor(_caller(request), browser, fresh, secure(request))
    found: Visitor = request.state.visitor
    return found


def secure(request: Request) -> bool:
    """Whether cookies are to stay away from connections without TLS."""
    return request.url.scheme == "https"


def require_token(request: Request, token: str) -> None:
    """Refuse what no page of ours has sent. Raises ``CrossSiteError``."""
    here = visitor(request)
    genuine = hmac.compare_digest(token.encode(), here.token.encode())
    if here.fresh or not genuine or not _from_here(request):
        raise CrossSiteError


def _caller(request: Request) -> Caller:
    try:
        return auth.known(request)
    except ApiError:
        return NOBODY


def _from_here(request: Request) -> bool:
    origin = request.headers.get("origin")
    if request.headers.get("sec-fetch-site", "none") not in _SAME_SITE:
        return False
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")
