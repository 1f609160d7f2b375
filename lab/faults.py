"""What a proxy may do to requests of Kafka's protocol and to their answers.

* Delay      a request is held until another one of a given kind comes over another connection
* Late       a request is held for a time
* Cut        a connection is cut at a request, before the broker gets it or in place of its answer
* Forged     a request is answered by the proxy, and the broker never gets it
* Partition  requests, answers, or both stay away for a time
"""

import asyncio
import threading
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Api(IntEnum):
    """Kinds of requests, by their keys in Kafka's protocol; those that are not here pass."""

    PRODUCE = 0
    METADATA = 3
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    TXN_OFFSET_COMMIT = 28


@dataclass(frozen=True, slots=True)
class Request:
    """Kind and correlation id of a request, and the number of its connection (from 1, as they were made)."""

    api: Api
    correlation_id: int
    connection: int

    def is_answered_by(self, connection: int, correlation_id: int) -> bool:
        """Whether this is the request of the answer with that number on that connection."""
        return (self.connection, self.correlation_id) == (connection, correlation_id)


class CutError(ConnectionError):
    """The proxy cuts the connection here."""


class ForgedError(Exception):
    """The proxy answers here, with this behind the correlation id, in the broker's place."""

    def __init__(self, answer: bytes) -> None:
        super().__init__("answered by the proxy")
        self.answer = answer


class Fault:
    """Lets everything pass; the proxy asks it in its own thread."""

    def __init__(self) -> None:
        self.happened = threading.Event()
        """Set when what the fault is for has happened."""

    async def before(self, request: Request) -> None:
        """Return when ``request`` may be forwarded. Raises ``CutError`` or ``ForgedError`` when not."""

    async def answered(self, connection: int, correlation_id: int) -> None:
        """Return when the broker's answer may be forwarded. Raises ``CutError`` when it must not be."""


class Delay(Fault):
    """Holds the next request of kind ``api``, as a slow network would; the client knows nothing of it.

    It reaches the broker just before a request of kind ``until`` that comes over another connection, after
    ``skipped`` of these; that one is forwarded when the broker has answered the delayed one.
    """

    def __init__(self, api: Api, until: Api, skipped: int = 0) -> None:
        super().__init__()
        self._api, self._until, self._skipped = api, until, skipped
        self._held: Request | None = None
        self._released, self._answered = asyncio.Event(), asyncio.Event()

    async def before(self, request: Request) -> None:
        """Hold the delayed request, and the other one until the delayed one is answered."""
        if self._held is None:
            if request.api == self._api:
                self._held = request
                await self._released.wait()
        elif request.api == self._until and request.connection != self._held.connection:
            if self._skipped:
                self._skipped -= 1
                return
            self._released.set()
            await self._answered.wait()

    async def answered(self, connection: int, correlation_id: int) -> None:
        """The delayed request has arrived when its answer comes."""
        if self._held is not None and self._held.is_answered_by(connection, correlation_id):
            self._answered.set()
            self.happened.set()


class Late(Fault):
    """Holds the next request of kind ``api`` for ``late_s`` seconds."""

    def __init__(self, api: Api, late_s: float) -> None:
        super().__init__()
        self._api, self._late_s = api, late_s

    async def before(self, request: Request) -> None:
        """Hold the first request of the kind, and let the others pass."""
        if request.api == self._api and not self.happened.is_set():
            self.happened.set()
            await asyncio.sleep(self._late_s)


class At(StrEnum):
    """Where a connection is cut."""

    REQUEST = "before the broker has it"
    ANSWER = "in place of its answer"


class Cut(Fault):
    """Cuts the connection of the next request of kind ``api``."""

    def __init__(self, api: Api, at: At) -> None:
        super().__init__()
        self._api, self._at = api, at
        self._awaited: Request | None = None

    async def before(self, request: Request) -> None:
        """Cut here, or remember whose answer is awaited."""
        if request.api == self._api and self._awaited is None:
            self._awaited = request
            if self._at is At.REQUEST:
                self.happened.set()
                raise CutError

    async def answered(self, connection: int, correlation_id: int) -> None:
        """Cut in place of the answer that is awaited."""
        if self._awaited is not None and self._awaited.is_answered_by(connection, correlation_id):
            self.happened.set()
            raise CutError


class Forged(Fault):
    """Answers the next request of kind ``api`` with ``answer``; the broker never gets it."""

    def __init__(self, api: Api, answer: bytes) -> None:
        super().__init__()
        self._api, self._answer = api, answer

    async def before(self, request: Request) -> None:
        """Answer the first request of the kind, and let the others pass."""
        if request.api == self._api and not self.happened.is_set():
            self.happened.set()
            raise ForgedError(self._answer)


class Partition(Fault):
    """For ``lasts_s`` seconds from the next request on, requests, answers or both do not pass."""

    def __init__(self, lasts_s: float, *, requests: bool, answers: bool) -> None:
        super().__init__()
        self._requests, self._answers = requests, answers
        self._over = asyncio.Event()
        self._lasts_s = lasts_s
        self._timer: asyncio.TimerHandle | None = None

    @property
    def over(self) -> bool:
        """Whether everything passes again."""
        return self._over.is_set()

    async def before(self, request: Request) -> None:
        """Wait for the end of the partition."""
        del request
        await self._wait(self._requests)

    async def answered(self, connection: int, correlation_id: int) -> None:
        """Wait for the end of the partition."""
        del connection, correlation_id
        await self._wait(self._answers)

    async def _wait(self, stopped: bool) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._lasts_s, self._over.set)
        if stopped and not self._over.is_set():
            self.happened.set()
            await self._over.wait()
