"""Who is signed in: the token itself, encrypted in a cookie that no script and no other site can read.

The server keeps no sessions: every api with the same ``token_pepper`` can open the cookie, and the session
ends when the token ends, because each request is authenticated again with the token. For a person who has
signed in at an identity provider, the cookie holds what that provider said about them. Without a pepper the
key is random, and all sessions end with the process.

A page that is opened renews the cookie, what a page loads by itself does not: so a session that nobody uses
ends. A session that was ended by signing out is known by its id, which is in the audit.
"""

import base64
import secrets
import time
from dataclasses import dataclass
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from fastapi import Request
from fastapi.responses import Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.auth.roles import Caller
from api.auth.sign_in import Person, Sealed, Session
from api.console.visitor import BROWSER_COOKIE

COOKIE: Final = "deadwatch_session"
MAX_AGE_S: Final = 12 * 3_600
MAX_CHARS: Final = 3_900
"""Browsers drop a cookie that is longer."""
ENDED: Final = Session("", 0)
RENEWED_S: Final = 60
"""A cookie younger than this is not renewed."""
_PURPOSE: Final = b"deadwatch console session"
_KEY_BYTES: Final = 32


class CookieCipher:
    """Encrypts and decrypts cookies with a key that is derived from ``token_pepper``."""

    def __init__(self, pepper: str) -> None:
        derived = HKDF(SHA256(), _KEY_BYTES, salt=None, info=_PURPOSE).derive(pepper.encode())
        self._fernet = Fernet(base64.urlsafe_b64encode(derived) if pepper else Fernet.generate_key())

    def encrypt(self, text: str) -> str:
        """The cookie; "" for a text that is too long for one."""
        cookie = self._fernet.encrypt(text.encode()).decode()
        return cookie if len(cookie) <= MAX_CHARS else ""

    def decrypt(self, cookie: str, max_age_s: int = MAX_AGE_S) -> str:
        """The text; "" for a cookie that was made with another key, was changed or is too old."""
        try:
            return self._fernet.decrypt(cookie.encode(errors="replace"), ttl=max_age_s).decode()
        except InvalidToken:
            return ""

    def sealed_at_s(self, cookie: str) -> int:
        """When the cookie was made, which this cipher can decrypt."""
        return self._fernet.extract_timestamp(cookie.encode())


@dataclass(frozen=True, slots=True)
class SealedSession(Sealed):
    """What a session's cookie holds; ``identity`` is a token or the text of a ``Person``."""

    mark = "signed-in:"

    id: str
    began_s: int
    identity: str

    @property
    def until_s(self) -> int:
        """When it ends, however much it is used."""
        return self.began_s + MAX_AGE_S


class SessionMiddleware:
    """ASGI middleware that turns the session's cookie into what authentication expects.

    A token becomes an ``Authorization`` header, as a script would send it; a person becomes ``state.person``.
    ``state.session`` says until when the session lasts. A request with an ``Authorization`` header of its own
    stays as it is.
    """

    def __init__(self, app: ASGIApp, cipher: CookieCipher, idle_ms: int) -> None:
        self._app, self._cipher, self._idle_s = app, cipher, idle_ms // 1_000

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with the identity that its cookie holds, and renew the cookie of a page."""
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        text = self._cipher.decrypt(cookie) if cookie and "authorization" not in headers else ""
        if not text:
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        sealed, seen_s = SealedSession.read(text), self._cipher.sealed_at_s(cookie)
        if sealed is None:
            state["session"] = ENDED
            await self._app(scope, receive, send)
            return
        state["session"] = Session(sealed.id, 1_000 * min(seen_s + self._idle_s, sealed.until_s))
        person = Person.read(sealed.identity)
        if person is not None:
            state["person"] = person
        else:
            sent = f"Bearer {sealed.identity}".encode()
            scope["headers"] = [*scope["headers"], (b"authorization", sent)]

        async def send_renewed(message: Message) -> None:
            who = state.get("caller")
            admitted = isinstance(who, Caller) and not who.anonymous  # else the session had ended
            if message["type"] == "http.response.start" and admitted:
                _renew(MutableHeaders(scope=message), self._cipher.encrypt(sealed.text), sealed, scope)
            await send(message)

        renews = _is_page(scope, headers) and time.time() - seen_s >= RENEWED_S
        await self._app(scope, receive, send_renewed if renews else send)


def _is_page(scope: Scope, headers: Headers) -> bool:
    """Whether somebody has opened a page; a topic, too, may have the name of our files' folder."""
    return not (is_part(headers) or str(scope["path"]).startswith(f"{scope['root_path']}/static/"))


def is_part(headers: Headers) -> bool:
    """Whether a page that is open asks for a part of it (htmx), or for events."""
    return "hx-request" in headers or "text/event-stream" in headers.get("accept", "")


def _renew(headers: MutableHeaders, cookie: str, sealed: SealedSession, scope: Scope) -> None:
    """Set the cookie anew, unless the answer begins or ends a session."""
    if any(set_.startswith(f"{COOKIE}=") for set_ in headers.getlist("set-cookie")):
        return
    answer = Response()
    _set(answer, cookie, max(0, sealed.until_s - int(time.time())), secure=scope["scheme"] == "https")
    headers.append("set-cookie", answer.headers["set-cookie"])


def begin(answer: Response, cipher: CookieCipher, identity: str, *, secure: bool) -> bool:
    """Set the cookie of a new session and delete the browser's, so that forms from before are not valid any
    more. False, and nothing is set, where the identity is too long for a cookie.
    """
    sealed = SealedSession(secrets.token_hex(16), int(time.time()), identity)
    cookie = cipher.encrypt(sealed.text)
    if cookie:
        _set(answer, cookie, MAX_AGE_S, secure=secure)
        answer.delete_cookie(BROWSER_COOKIE, path="/")
    return bool(cookie)


def _set(answer: Response, cookie: str, max_age_s: int, *, secure: bool) -> None:
    answer.set_cookie(
        COOKIE, cookie, max_age=max_age_s, httponly=True, samesite="strict", secure=secure, path="/"
    )


def end(answer: Response) -> None:
    """Delete the session's cookie."""
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")


def cipher(request: Request) -> CookieCipher:
    """The cipher of the console that received the request."""
    found: CookieCipher = request.app.state.console_cipher
    return found
