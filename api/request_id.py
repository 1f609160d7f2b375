"""A name for every request: in the answer's ``X-Request-Id``, in problems, in the audit, in log lines.

One that the client sends is kept where it is short and plain; else there is a new one.
"""

import re
import uuid
from contextvars import ContextVar
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.telemetry import told_in_log_lines

HEADER: Final = "X-Request-Id"
PLAIN: Final = re.compile(r"[0-9A-Za-z._-]{1,64}")

_current: ContextVar[str] = ContextVar("request_id", default="")


def request_id() -> str:
    """The name of the request that is being answered; "": none is."""
    return _current.get()


class RequestId:
    """ASGI middleware that names requests."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Name the request, and tell the name with the answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = Headers(scope=scope).get(HEADER, "")
        name = sent if PLAIN.fullmatch(sent) else uuid.uuid4().hex
        _current.set(name)

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = name
            await send(message)

        with told_in_log_lines(name):
            await self._app(scope, receive, send_named)
