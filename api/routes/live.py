"""Overview, groups and redrives as server-sent events, whenever they change.

The store is read once for all clients, and not at all while there are none. An event is the whole state of
its kind, so a client that was away continues with the newest state of each kind that has changed since the
last event it has seen, and nothing is queued for anybody.
"""

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Header, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel

from api.auth.limits import Shares
from api.auth.role import Role
from api.auth.roles import Calling, caller
from api.errors import ApiError, LiveBusyError, ThrottledError, UnauthenticatedError
from api.service import NoParameters
from deadwatch.runtime.clock import MS_PER_S

PROBLEM = "problem"
"""The kind that says why the other states cannot be read; its detail is empty when they can."""
ADMITTED_FOR_S = 0.5
"""How long a stream goes on before the credentials that it was opened with are checked again."""
log = logging.getLogger(__name__)
StateReader = Callable[[], BaseModel]


@dataclass(frozen=True, slots=True)
class State:
    """The newest state of one kind; ``number`` grows with every change of any kind.

    ``identity`` changes exactly when the state does, ``text`` is the event's body.
    """

    number: int
    kind: str
    identity: str
    text: str


class Live:
    """The states, read every ``interval_ms`` by ``run`` while somebody watches; belongs to one event loop.

    ``readers`` are by kind. A state whose field ``at`` alone has changed is no event.
    """

    def __init__(self, readers: Mapping[str, StateReader], interval_ms: int, max_clients: int) -> None:
        self._readers, self._interval_ms = readers, interval_ms
        self._run = uuid.uuid4().hex[:8]
        self._number = 0
        self._states: dict[str, State] = {}
        self._changed = asyncio.Event()
        self._shares = Shares(max_clients, LiveBusyError)
        self._watched = asyncio.Event()

    @contextmanager
    def place(self, caller: str = "") -> Iterator[None]:
        """A place to watch from, for the caller with this token; "": for an anonymous one.

        Raises ``LiveBusyError``: all places are taken, or as many as one caller may have.
        """
        with self._shares.place(caller):
            self._watched.set()
            yield

    async def events(
        self, last_id: str | None, admitted: Callable[[], Awaitable[bool]] | None = None
    ) -> AsyncIterator[ServerSentEvent]:
        """Every state that changed after the event of that id, then every change; all states for None or
        another run. The stream ends when ``admitted`` denies it, which is asked every half second.
        """
        seen = self._seen(last_id)
        while True:
            changed = self._changed
            for state in sorted(self._states.values(), key=lambda state: state.number):
                if state.number > seen:
                    seen = state.number
                    event_id = f"{self._run}-{state.number}"
                    yield ServerSentEvent(raw_data=state.text, event=state.kind, id=event_id)
            while not changed.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(ADMITTED_FOR_S):
                        await changed.wait()
                if admitted is not None and not await admitted():
                    return

    def _seen(self, last_id: str | None) -> int:
        run, _, number = (last_id or "").partition("-")
        known = run == self._run and number.isascii() and number.isdigit() and len(number) < 18  # noqa: PLR2004
        return min(int(number), self._number) if known else 0

    async def run(self) -> None:
        """Read the states without an end; while nobody watches they would grow old, so they are dropped."""
        while True:
            if not self._shares.taken:
                self._states.clear()
                self._watched = asyncio.Event()
                await self._watched.wait()
            try:
                await self._read_states()
            except Exception:
                log.exception("the states cannot be read; they are read again after the interval")
            await asyncio.sleep(self._interval_ms / MS_PER_S)

    async def _read_states(self) -> None:
        try:
            found = await to_thread.run_sync(self._states_now)
        except ApiError as error:
            found = [(PROBLEM, str(error), json.dumps({"detail": str(error)}))]
        news = False
        for kind, identity, text in found:
            before = self._states.get(kind)
            if before is None or before.identity != identity:
                self._number += 1
                self._states[kind] = State(self._number, kind, identity, text)
                news = True
        if news:
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()

    def _states_now(self) -> list[tuple[str, str, str]]:
        """Kind, identity and text of each state."""
        answers = {kind: read() for kind, read in self._readers.items()}
        states = [
            (kind, answer.model_dump_json(exclude={"at"}), answer.model_dump_json())
            for kind, answer in answers.items()
        ]
        return [*states, (PROBLEM, "", '{"detail":""}')]


router = APIRouter(tags=["live"], dependencies=[NoParameters])
LastEventId = Annotated[
    str | None, Header(max_length=100, description="Of the last event that was seen: go on behind it.")
]


async def watching(request: Request, who: Calling) -> AsyncIterator[Live]:
    """A place among those who watch, as a dependency."""
    live: Live = request.app.state.live
    with live.place(who.token):
        yield live


async def _is_admitted(request: Request) -> bool:
    """Whether the credentials of the request are still valid; what cannot be checked now is."""
    request.scope["state"].pop("caller", None)
    try:
        who = await caller(request)
    except (UnauthenticatedError, ThrottledError):
        return False
    except ApiError:
        return True
    return bool(who.may(Role.VIEWER))


@router.get("/live", response_class=EventSourceResponse)
async def live(
    request: Request, watch: Annotated[Live, Depends(watching)], last_event_id: LastEventId = None
) -> AsyncIterator[ServerSentEvent]:
    """Events `overview`, `groups` and `redrives`, each the first page of its route, whenever it changes.

    `problem` says why they cannot be read now; its `detail` is empty when they can. A comment every 15 s
    keeps the connection. It ends within a second when the credentials are no longer valid.
    """
    async for event in watch.events(last_event_id, partial(_is_admitted, request)):
        yield event
