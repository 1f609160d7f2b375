"""Refuses a body that says it is too long before any of it is read; others are counted by FastAPI."""

from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from api import problems

MAX_DIGITS: Final = 18


class BodyLimit:
    """ASGI middleware; FastAPI's own would answer with plain text."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app, self._max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http" and _length(Headers(scope=scope)) > self._max_bytes:
            await problems.too_large(Request(scope))(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _length(headers: Headers) -> int:
    said = headers.get("content-length", "0")
    return int(said[:MAX_DIGITS]) if said.isascii() and said.isdigit() else 0
