"""Who looks at a page, what they may do, and the token that their forms carry.

A browser is known by a cookie of chance that no script and no other site sees. The token of its forms is
made from it, so that a page of another site can neither read nor guess it; what a browser says of
where a request comes from is looked at as well.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Final
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.responses import Response

from api.console.errors import CrossSiteError, RoleError

BROWSER: Final = "deadwatch_browser"
_PURPOSE: Final = b"deadwatch console form"
_CHANCE_BYTES: Final = 32
_SAME_SITE: Final = frozenset({"same-origin", "none"})


class Role(IntEnum):
    """What somebody may do; each may do what the ones before it may."""

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3


@dataclass(frozen=True, slots=True)
class Visitor:
    """``name`` goes into orders and audit; ``browser`` is the cookie's value, ``fresh`` when it is new."""

    name: str
    role: Role
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
        return self.role >= Role.OPERATOR

    def remember(self, answer: Response) -> None:
        """Give a browser that has none its cookie."""
        if self.fresh:
            answer.set_cookie(BROWSER, self.browser, httponly=True, samesite="strict", secure=self.secure)


def visitor(request: Request) -> Visitor:
    """Who sent the request; the same for the whole of it."""
    if not hasattr(request.state, "visitor"):
        known = request.cookies.get(BROWSER, "")
        fresh = len(known) < _CHANCE_BYTES
        request.state.visitor = Visitor(
            "console",
            Role.ADMIN,
            secrets.token_urlsafe(_CHANCE_BYTES) if fresh else known,
            fresh,
            request.url.scheme == "https",
        )
    found: Visitor = request.state.visitor
    return found


def _operator(request: Request) -> Visitor:
    here = visitor(request)
    if not here.operates:
        raise RoleError(Role.OPERATOR.name.lower())
    return here


Operator = Annotated[Visitor, Depends(_operator)]
"""Who acts; raises ``RoleError`` for somebody who may only look."""


def require_token(request: Request, token: str) -> None:
    """Refuse what no page of ours has sent. Raises ``CrossSiteError``."""
    here = visitor(request)
    genuine = hmac.compare_digest(token.encode(), here.token.encode())
    if here.fresh or not genuine or not _from_here(request):
        raise CrossSiteError


def _from_here(request: Request) -> bool:
    origin = request.headers.get("origin")
    if request.headers.get("sec-fetch-site", "none") not in _SAME_SITE:
        return False
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")
