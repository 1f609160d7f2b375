"""What is now, told as it changes: one look for all who watch, and nobody watches: no look.

An event is the whole state of its kind, so whoever was away gets on with the newest of each kind that has
changed since the last event they have seen, and nothing is queued for anybody.
"""

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from anyio import to_thread
from fastapi.sse import ServerSentEvent
from pydantic import BaseModel

from api.errors import ApiError, LiveBusyError

MS_PER_S = 1_000
PROBLEM = "problem"
"""The kind that tells why the others cannot be told now; empty when they can again."""

logger = logging.getLogger(__name__)

Look = Callable[[], BaseModel]


@dataclass(frozen=True, slots=True)
class State:
    """The newest of one kind; ``number`` grows with every change of any kind."""

    number: int
    kind: str
    known_by: str
    text: str


class Live:
    """Looks every ``interval_ms`` while somebody watches; of one event loop.

    ``looks`` are by kind; ``timeless`` names fields that change by themselves.
    """

    def __init__(
        self,
        looks: Mapping[str, Look],
        interval_ms: int,
        max_clients: int,
        timeless: frozenset[str] = frozenset({"at"}),
    ) -> None:
        self._looks, self._interval_ms, self._max_clients = looks, interval_ms, max_clients
        self._timeless = timeless
        self._run = uuid.uuid4().hex[:8]
        self._number = 0
        self._states: dict[str, State] = {}
        self._changed = asyncio.Event()
        self._clients = 0
        self._looking: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def seat(self) -> AsyncIterator[None]:
        """A place to watch from. Raises ``LiveBusyError`` when all are taken."""
        if self._clients >= self._max_clients:
            raise LiveBusyError(self._max_clients)
        self._clients += 1
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_on())
        try:
            yield
        finally:
            self._clients -= 1
            if not self._clients:
                await self._rest()

    async def events(self, last_id: str | None) -> AsyncIterator[ServerSentEvent]:
        """What has changed since the event of that id, then every change; None or of another run: all."""
        seen = self._seen(last_id)
        while True:
            changed = self._changed
            for state in sorted(self._states.values(), key=lambda one: one.number):
                if state.number > seen:
                    seen = state.number
                    identity = f"{self._run}-{state.number}"
                    yield ServerSentEvent(raw_data=state.text, event=state.kind, id=identity)
            await changed.wait()

    def _seen(self, last_id: str | None) -> int:
        run, _, number = (last_id or "").partition("-")
        known = run == self._run and number.isascii() and number.isdigit() and len(number) < 18  # noqa: PLR2004
        return min(int(number), self._number) if known else 0

    async def _rest(self) -> None:
        """Nobody watches: what was seen grows old, so it is forgotten."""
        looking, self._looking = self._looking, None
        self._states.clear()
        if looking is not None:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking

    async def _look_on(self) -> None:
        while True:
            try:
                await self._look()
            except Exception:
                logger.exception("what is now cannot be told; it is tried again")
            await asyncio.sleep(self._interval_ms / MS_PER_S)

    async def _look(self) -> None:
        try:
            found = await to_thread.run_sync(self._found)
        except ApiError as error:
            found = [(PROBLEM, str(error), json.dumps({"detail": str(error)}))]
        news = False
        for kind, known_by, text in found:
            before = self._states.get(kind)
            if before is None or before.known_by != known_by:
                self._number += 1
                self._states[kind] = State(self._number, kind, known_by, text)
                news = True
        if news:
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()

    def _found(self) -> list[tuple[str, str, str]]:
        """Kind, what tells changes, and the event's text of each."""
        answers = [(kind, look()) for kind, look in self._looks.items()]
        told = [
            (kind, answer.model_dump_json(exclude=set(self._timeless)), answer.model_dump_json())
            for kind, answer in answers
        ]
        return [*told, (PROBLEM, "", '{"detail":""}')]
