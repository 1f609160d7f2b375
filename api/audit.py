"""The audit: who did what, written in the same transaction as the change itself, or the change is not made.

A route that changes something hands ``Action.witness`` to what changes it, which calls it in its transaction;
what changes nothing in the store, such as showing a payload unmasked, is recorded before it is done
(``Action.record``). What no route recorded of a request that would change something, such as its refusal,
``AuditTrail`` records. So every such request is in the audit, whatever its route does.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from fastapi.routing import APIRoute
from sqlalchemy import Connection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.auth.limits import FailureCounter
from api.auth.roles import NOBODY, READING, Caller, Calling
from api.errors import ApiError, UnauthenticatedError
from api.service import Service, Serving
from api.store import Writer
from api.telemetry import request_id
from deadwatch.runtime.clock import DAY_MS
from deadwatch.store.write import audit
from deadwatch.store.write.audit import Entry, Witness

DONE: Final = "done"
UNMASKED, FILTERED = "payload.unmasked", "payload.filtered"
"""The actions of showing a payload as it is, and of a filter over payloads."""


@dataclass(frozen=True, slots=True)
class Action:
    """A request that changes something or shows what is masked, and who makes it; writes audit entries."""

    request: Request
    service: Service
    caller: Caller

    def record(self, action: str, subject: str = "", why: str = "", outcome: str = DONE) -> None:
        """Write an entry now. Raises ``StoreUnavailableError``: then the action must not be done."""
        with self.service.writer.writing() as connection:
            self._write(connection, action, subject, why, outcome)

    def witness(self, why: str = "", action: str = "") -> Witness:
        """Writes the entry in the transaction of the change; by default the action is the route's name."""
        action = action or action_of(self.request)
        return lambda connection, subject: self._write(connection, action, subject, why, DONE)

    def _write(self, connection: Connection, action: str, subject: str, why: str, outcome: str) -> None:
        entry = Entry(
            at_ms=self.service.now_ms(),
            who=self.caller.name,
            role=self.caller.role or "",
            token=self.caller.token or getattr(self.request.state, "presented", ""),
            action=action,
            subject=subject,
            why=why,
            outcome=outcome,
            request_id=request_id(),
            address=self.request.client.host if self.request.client else "",
        )
        audit.write(connection, entry)
        self.request.state.recorded = True


CONSOLE_KINDS: Final = {"groups": "dead-letters", "policies": "redrive-policies"}
"""What the console calls otherwise than the api, by its paths."""


def action_of(request: Request) -> str:
    """The name of a route's action, as ``redrives.cancel``; where no route was found, the method."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return request.method.lower()
    kind = route.path.removeprefix("/api/v1").strip("/").split("/")[0]
    return f"{CONSOLE_KINDS.get(kind, kind)}.{route.name}".replace("_", "-")


async def _action(request: Request, service: Serving, caller: Calling) -> Action:
    return Action(request, service, caller)


Acting = Annotated[Action, Depends(_action)]
MAX_REFUSED: Final = 60
REFUSED: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS})
MAX_CALLERS: Final = 1_000
log = logging.getLogger(__name__)


class AuditTrail:
    """ASGI middleware that records what no route has recorded, before the answer is sent, and logs reads that
    were refused to their callers.

    Failed attempts are bounded: so many a minute for each known caller, and so many for all anonymous ones
    together; the next entry says how many attempts were left out. An entry that cannot be written is a line
    of the log.
    """

    def __init__(self, app: ASGIApp, now_ms: Callable[[], int]) -> None:
        self._app = app
        self._refused, self._unread = (FailureCounter(now_ms, MAX_CALLERS, MAX_REFUSED) for _ in range(2))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; record it if it would change something."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state: dict[str, Any] = scope.setdefault("state", {})
        reads, answered = scope["method"] in READING, False

        async def send_recorded(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = True
                if reads:
                    self._log_refusal(scope, state, message["status"])
                else:
                    await self._record(scope, state, message["status"])
            await send(message)

        try:
            await self._app(scope, receive, send_recorded)
        except Exception:
            if not (reads or answered):
                await self._record(scope, state, HTTPStatus.INTERNAL_SERVER_ERROR)
            raise

    def _log_refusal(self, scope: Scope, state: dict[str, Any], status: int) -> None:
        """A line of the log for a read that was refused to its caller; as bounded as entries are."""
        if status not in REFUSED and state.get("problem") != UnauthenticatedError.kind:
            return
        who: Caller = state.get("caller", NOBODY)
        failures = self._unread.count("" if who.anonymous else who.name)
        if not failures.beyond:
            address = scope["client"][0] if scope.get("client") else ""
            left_out = failures.left_out
            more = f", and {left_out} reads before it that are not in the log" if left_out else ""
            line = "refused to %s at %s: %s %r, %d %s%s"
            kind = state.get("problem", "")
            log.info(line, who.name, address, scope["method"], scope["path"], status, kind, more)

    async def _record(self, scope: Scope, state: dict[str, Any], status: int) -> None:
        failed = status >= HTTPStatus.BAD_REQUEST
        if state.get("recorded") and not failed:  # an entry of a failed request may have been rolled back
            return
        who: Caller = state.get("caller", NOBODY)
        outcome = DONE
        if failed:
            failures = self._refused.count("" if who.anonymous else who.name)
            if failures.beyond:
                return
            outcome = f"{status} {state.get('problem', '')}".strip()
            if failures.left_out:
                outcome += f", and {failures.left_out} attempts before it that were not kept"
        await to_thread.run_sync(_write_outcome, Request(scope), who, outcome)


def _write_outcome(request: Request, who: Caller, outcome: str) -> None:
    action, subject = action_of(request), "/".join(map(str, request.path_params.values()))
    try:
        Action(request, request.app.state.service, who).record(action, subject, "", outcome)
    except ApiError as error:
        log.error(  # noqa: TRY400 -- a stack trace would say no more
            "not kept in the audit: %s %s %s by %s: %s", action, subject, outcome, who.name, error
        )


EVERY_S: Final = 3_600
AGAIN_S: Final = 60
"""Pause after the store could not be written, as before streaming has created it."""
AT_ONCE: Final = 1_000
"""Entries deleted in one transaction: streaming writes to the same store."""


async def retain(writer: Writer, now_ms: Callable[[], int], days: int) -> None:
    """Delete entries that are older than ``days``, once an hour and without an end.

    Each transaction is a call of its own, so that a stop waits for one at most.
    """
    while True:
        forgotten = 0
        try:
            while some := await to_thread.run_sync(forget, writer, now_ms() - days * DAY_MS):
                forgotten += some
        except ApiError as error:
            log.debug("the audit's retention waits: %s", error)
            await asyncio.sleep(AGAIN_S)
            continue
        if forgotten:
            log.info("%d entries of the audit were older than %d days", forgotten, days)
        await asyncio.sleep(EVERY_S)


def forget(writer: Writer, before_ms: int) -> int:
    """Delete ``AT_ONCE`` older entries at most; how many these were. Raises ``ApiError``."""
    with writer.writing() as connection:
        return audit.forget(connection, before_ms, AT_ONCE)
