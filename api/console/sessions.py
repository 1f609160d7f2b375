"""Who is signed in: the token itself, sealed in a cookie that no script sees and no other site sends.

So nothing has to be remembered, any api with the same ``token_pepper`` opens the session, and it ends when
the token ends: with every request the gate judges the token anew. Of who has signed in at an identity
provider the cookie holds what that has said. Without a pepper the key is of chance, and a session ends with
the process.
"""

import base64
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from fastapi import Request
from fastapi.responses import Response
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from api.console.visitor import BROWSER
from api.person import Person

COOKIE: Final = "deadwatch_session"
MAX_AGE_S: Final = 12 * 3_600
MAX_CHARS: Final = 3_900
"""Of a cookie; browsers drop what is longer."""
_PURPOSE: Final = b"deadwatch console session"
_KEY_BYTES: Final = 32


class Sessions:
    """Seals what a cookie says of somebody, and opens it again."""

    def __init__(self, pepper: str) -> None:
        self._fernet = Fernet(_key(pepper) if pepper else Fernet.generate_key())

    def seal(self, text: str) -> str:
        """The cookie; "" for a text that is too long for one."""
        sealed = self._fernet.encrypt(text.encode()).decode()
        return sealed if len(sealed) <= MAX_CHARS else ""

    def open(self, cookie: str, max_age_s: int = MAX_AGE_S) -> str:
        """What was sealed; "" for a cookie that is not ours, was changed or is too old."""
        try:
            return self._fernet.decrypt(cookie.encode(errors="replace"), ttl=max_age_s).decode()
        except InvalidToken:
            return ""


class SignedIn:
    """ASGI middleware that lets the gate see the session: a token as a script would send it, or a person."""

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        self._app, self._sessions = app, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; one that says by itself who asks stays as it is."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
            token = self._sessions.open(cookie) if cookie and "authorization" not in headers else ""
            person = Person.read(token)
            if person is not None:
                scope.setdefault("state", {})["person"] = person
            elif token:
                scope["headers"] = [*scope["headers"], (b"authorization", f"Bearer {token}".encode())]
        await self._app(scope, receive, send)


def begin(answer: Response, sealed: str, *, secure: bool) -> None:
    """Hand the cookie out; the cookie of chance begins anew, so that no form of before is good."""
    answer.set_cookie(
        COOKIE, sealed, max_age=MAX_AGE_S, httponly=True, samesite="strict", secure=secure, path="/"
    )
    answer.delete_cookie(BROWSER, path="/")


def end(answer: Response) -> None:
    """Take the cookie back."""
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")


def of(request: Request) -> Sessions:
    """Those of the console that is asked."""
    found: Sessions = request.app.state.console_sessions
    return found


def _key(pepper: str) -> bytes:
    derived = HKDF(SHA256(), _KEY_BYTES, salt=None, info=_PURPOSE).derive(pepper.encode())
    return base64.urlsafe_b64encode(derived)
