"""ASGI middlewares that need no route: refusals before any route, the headers of every answer, and HEAD."""

import uuid
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import problems
from api.telemetry import HEADER, PLAIN, log_context
from deadwatch.runtime.hosts import host_name

MAX_DIGITS: Final = 18


class Refusals:
    """Refuses a request whose Host is malformed or comes twice, and a body whose Content-Length is too long.

    Frameworks put the server's own address in place of a Host that they cannot parse, so the header is read
    as it was sent. By the name a request from this machine differs from that of a foreign page whose name
    resolves to us. FastAPI counts the bytes of other bodies; its own refusal would be plain text.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app, self._max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        refusal = self._refusal(Request(scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        if host_name(request.headers.getlist("host")) is None:
            return problems.broken_host(request)
        return problems.too_large(request) if _length(request.headers) > self._max_bytes else None


def _length(headers: Headers) -> int:
    length = headers.get("content-length", "0")
    return int(length[:MAX_DIGITS]) if length.isascii() and length.isdigit() else 0


class HeadAsGet:
    """Answers HEAD, as load balancers and probes send it, as GET without the body (RFC 9110, 9.3.2).

    The answer is over with its headers: so ends one that would stream.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body"})

        if scope["type"] == "http" and scope["method"] == "HEAD":
            await self._app({**scope, "method": "GET"}, receive, send_head)
        else:
            await self._app(scope, receive, send)


class AnswerHeaders:
    """Gives every request an id, and its answer the headers that all have unless it has its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; complete the headers of its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = Headers(scope=scope).get(HEADER, "")
        request_id = sent if PLAIN.fullmatch(sent) else uuid.uuid4().hex

        async def send_completed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in problems.SECURITY.items():
                    headers.setdefault(name, value)
                headers[HEADER] = request_id
            await send(message)

        with log_context(request_id):
            await self._app(scope, receive, send_completed)
