"""Who is signed in: the token itself, sealed in a cookie that no script sees and no other site sends.

So nothing has to be remembered, any api with the same ``token_pepper`` opens the session, and it ends when
the token ends: with every request the gate judges the token anew. Without a pepper the key is of chance, and
a session ends with the process.
"""

import base64
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from fastapi.responses import Response
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

COOKIE: Final = "deadwatch_session"
MAX_AGE_S: Final = 12 * 3_600
MAX_CHARS: Final = 3_900
"""Of a cookie; browsers drop what is longer."""
_PURPOSE: Final = b"deadwatch console session"
_KEY_BYTES: Final = 32


class Sessions:
    """Seals tokens and opens them again."""

    def __init__(self, pepper: str) -> None:
        self._fernet = Fernet(_key(pepper) if pepper else Fernet.generate_key())

    def seal(self, token: str) -> str:
        """The cookie; "" for a token that is too long for one."""
        sealed = self._fernet.encrypt(token.encode()).decode()
        return sealed if len(sealed) <= MAX_CHARS else ""

    def open(self, cookie: str) -> str:
        """The token; "" for a cookie that is not ours, was changed or is too old."""
        try:
            return self._fernet.decrypt(cookie.encode(errors="replace"), ttl=MAX_AGE_S).decode()
        except InvalidToken:
            return ""


class SignedIn:
    """ASGI middleware that lets the gate see the session's token, as a script would send it."""

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        self._app, self._sessions = app, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; one that says by itself who asks stays as it is."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
            token = self._sessions.open(cookie) if cookie and "authorization" not in headers else ""
            if token:
                scope["headers"] = [*scope["headers"], (b"authorization", f"Bearer {token}".encode())]
        await self._app(scope, receive, send)


def begin(answer: Response, sealed: str, *, secure: bool) -> None:
    """Hand the cookie out."""
    answer.set_cookie(
        COOKIE, sealed, max_age=MAX_AGE_S, httponly=True, samesite="strict", secure=secure, path="/"
    )


def end(answer: Response) -> None:
    """Take the cookie back."""
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")


def _key(pepper: str) -> bytes:
    derived = HKDF(SHA256(), _KEY_BYTES, salt=None, info=_PURPOSE).derive(pepper.encode())
    return base64.urlsafe_b64encode(derived)
