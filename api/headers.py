"""Headers that every answer carries: browsers take it for what it says it is, and nobody keeps a copy."""

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECURITY: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
NOTHING_ACTIVE: Final = "default-src 'none'; frame-ancestors 'none'"
"""Of what is no page: should a browser show it as one all the same, nothing in it runs."""
POLICY: Final = "Content-Security-Policy"


class SecurityHeaders:
    """ASGI middleware that adds them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; complete its answer's headers."""

        async def send_completed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY.items():
                    headers.setdefault(name, value)
                if not headers.get("content-type", "").startswith("text/html"):
                    headers.setdefault(POLICY, NOTHING_ACTIVE)
            await send(message)

        await self._app(scope, receive, send_completed)
