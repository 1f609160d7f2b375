"""What no route has recorded of a request that would change something: that it was refused, or failed.

So every such request is in the audit, whatever its route does. Attempts that failed are bounded: so many a
minute of everybody who is known, and so many of all who are not; the next one that is kept tells how many
were not. An entry that cannot be kept is a line of the log.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from anyio import to_thread
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.audit import DONE, Audit, action_of, subject_of
from api.auth import NOBODY, READING, Caller
from api.errors import ApiError

WINDOW_MS: Final = 60_000
MAX_REFUSED: Final = 60
MAX_CALLERS: Final = 1_000
ANONYMOUS: Final = ""

log = logging.getLogger(__name__)


class Refused:
    """How many attempts are kept of one caller in a minute; used by many threads."""

    def __init__(self, now_ms: Callable[[], int], maximum: int = MAX_REFUSED) -> None:
        self._now_ms, self._maximum = now_ms, maximum
        self._windows: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._lock = threading.Lock()

    def admit(self, caller: str) -> int | None:
        """How many of the caller's were left out since the last one; None: this one is as well."""
        now_ms = self._now_ms()
        with self._lock:
            began_ms, count = self._windows.pop(caller, (now_ms, 0))
            over = not 0 <= now_ms - began_ms < WINDOW_MS
            left_out = max(0, count - self._maximum) if over else 0
            began_ms, count = (now_ms, 0) if over else (began_ms, count)
            self._windows[caller] = (began_ms, count + 1)
            while len(self._windows) > MAX_CALLERS:
                self._windows.popitem(last=False)
        return left_out if count < self._maximum else None


class AuditTrail:
    """ASGI middleware that records what is left, before the answer goes out."""

    def __init__(self, app: ASGIApp, now_ms: Callable[[], int]) -> None:
        self._app, self._refused = app, Refused(now_ms)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; record it where it would change something."""
        if scope["type"] != "http" or scope["method"] in READING:
            await self._app(scope, receive, send)
            return
        state: dict[str, Any] = scope.setdefault("state", {})

        async def send_recorded(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._record(scope, state, message["status"])
            await send(message)

        try:
            await self._app(scope, receive, send_recorded)
        except Exception:
            await self._record(scope, state, HTTPStatus.INTERNAL_SERVER_ERROR)
            raise

    async def _record(self, scope: Scope, state: dict[str, Any], status: int) -> None:
        failed = status >= HTTPStatus.BAD_REQUEST
        if state.get("recorded") and not failed:  # what failed may have been recorded and undone again
            return
        who: Caller = state.get("caller", NOBODY)
        outcome = DONE
        if failed:
            left_out = self._refused.admit(ANONYMOUS if who.anonymous else who.name)
            if left_out is None:
                return
            outcome = f"{status} {state.get('problem', '')}".strip()
            outcome += f", and {left_out} attempts before it that were not kept" if left_out else ""
        await to_thread.run_sync(_keep, Request(scope), who, outcome)


def _keep(request: Request, who: Caller, outcome: str) -> None:
    action, subject = action_of(request), subject_of(request)
    try:
        Audit(request.app.state.service, request, who).record(action, subject, "", outcome)
    except ApiError as error:
        log.error(  # noqa: TRY400 -- the line is all that is left of it
            "not kept in the audit: %s %s %s by %s: %s", action, subject, outcome, who.name, error
        )
