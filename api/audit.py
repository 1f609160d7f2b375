"""The audit of one request: what its caller did, kept with the deed or not at all.

A route that changes something hands ``witness`` to what changes it, which calls it in its transaction; what
changes nothing in the store, such as showing a payload unmasked, is recorded before it is done. What no
route recorded of a request that would change something, such as its refusal, ``api.audit_trail`` does.
"""

from typing import Annotated, Final

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from sqlalchemy import Connection

from api.auth import Caller, Calling
from api.request_id import request_id
from api.service import Service, Serving
from streaming.store import audit
from streaming.store.audit import Entry, Witness

DONE: Final = "done"
UNMASKED: Final = "payload.unmasked"
"""The action of showing a payload as it is."""


class Audit:
    """Records what the caller of one request does."""

    def __init__(self, service: Service, request: Request, who: Caller) -> None:
        self._service, self._request, self._who = service, request, who

    def record(self, action: str, subject: str = "", why: str = "", outcome: str = DONE) -> None:
        """Keep it now, in a transaction of its own.

        Raises:
            StoreUnavailableError: it cannot be kept; then it must not be done.
        """
        with self._service.writer.writing() as connection:
            self._write(connection, action, subject, why, outcome)
        self._recorded()

    def witness(self, why: str = "", action: str = "") -> Witness:
        """What keeps it in the transaction that does it; unless said, the action is the route's."""
        action = action or action_of(self._request)

        def keep(connection: Connection, subject: str) -> None:
            self._write(connection, action, subject, why, DONE)
            self._recorded()

        return keep

    def _write(self, connection: Connection, action: str, subject: str, why: str, outcome: str) -> None:
        entry = Entry(
            at_ms=self._service.now_ms(),
            who=self._who.name,
            role=self._who.role or "",
            token=self._who.token or getattr(self._request.state, "presented", ""),
            action=action,
            subject=subject,
            why=why,
            outcome=outcome,
            request_id=request_id(),
            address=address(self._request),
        )
        audit.write(connection, entry)

    def _recorded(self) -> None:
        self._request.state.recorded = True


def action_of(request: Request) -> str:
    """The name of what a route does, as ``redrives.cancel``; of what is no route, its method."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return request.method.lower()
    kind = route.path.removeprefix("/api/v1").strip("/").split("/")[0]
    return f"{kind}.{route.name}".replace("_", "-")


def subject_of(request: Request) -> str:
    """What the path names."""
    return "/".join(map(str, request.path_params.values()))


def address(request: Request) -> str:
    """From where the request came, as far as the server knows."""
    return request.client.host if request.client else ""


async def _audit(service: Serving, request: Request, who: Calling) -> Audit:
    return Audit(service, request, who)


Auditing = Annotated[Audit, Depends(_audit)]
