"""A proxy that understands requests of Kafka's protocol, and what it may do to them.

* Delay      a request is held until another one of a given kind comes over another connection
* Late       a request is held for a time
* Cut        a connection is cut at a request, before the broker gets it or in place of its answer
* Forged     a request is answered by the proxy, and the broker never gets it
* Partition  requests, answers, or both stay away for a time

A client that is told of the proxy's address by the broker (``LoneBroker(proxied=True)``) makes all its
connections to it. Bytes are forwarded as they are; only the header of each request is read.
"""

import asyncio
import struct
import threading
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final, Self, TypeVar

T = TypeVar("T")

LENGTH: Final = struct.Struct(">i")
HEADER: Final = struct.Struct(">hhi")
LOOPBACK: Final = "127.0.0.1"
WITHIN_S: Final = 30


class Api(IntEnum):
    """Kinds of requests, by their keys in Kafka's protocol; those that are not here pass."""

    PRODUCE = 0
    METADATA = 3
    INIT_PRODUCER_ID = 22
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


class Proxy:
    """A context: listens on a port of this machine and forwards to another one, in a thread of its own."""

    def __init__(self, port: int, to: int) -> None:
        self._port, self._to = port, to
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._fault = Fault()
        self._connections = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    def __enter__(self) -> Self:
        """Listen on the port, in a thread of the proxy's own."""
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._accepted, LOOPBACK, self._port))
        return self

    def __exit__(self, *exception: object) -> None:
        """Close every connection and end the thread."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def address(self) -> str:
        """HOST:PORT that clients connect to."""
        return f"{LOOPBACK}:{self._port}"

    def suffer(self, fault: Fault) -> None:
        """Let the fault happen from now on; the one before is forgotten, except by what it holds."""
        self._fault = fault

    def _run(self, work: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WITHIN_S)

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accepted(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:
            return
        self._tasks.add(task)
        self._connections += 1
        try:
            with suppress(ConnectionError, asyncio.CancelledError):
                await self._serve(self._connections, client, back)
        finally:
            back.close()
            self._tasks.discard(task)

    async def _serve(self, number: int, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        """One connection; the broker's side stays open until everything that the client sent is answered."""
        broker, forth = await asyncio.open_connection(LOOPBACK, self._to)
        answers = asyncio.create_task(self._answers(number, broker, back))
        try:
            await self._requests(number, client, forth, back)
            forth.write_eof()
            await answers
        finally:
            answers.cancel()
            forth.close()

    async def _requests(
        self,
        number: int,
        client: asyncio.StreamReader,
        forth: asyncio.StreamWriter,
        back: asyncio.StreamWriter,
    ) -> None:
        while body := await _frame(client):
            key, _, correlation_id = HEADER.unpack_from(body)
            to, sent = forth, body
            if key in Api.__members__.values():
                try:
                    await self._fault.before(Request(Api(key), correlation_id, number))
                except ForgedError as forged:
                    to, sent = back, LENGTH.pack(correlation_id) + forged.answer
            to.write(LENGTH.pack(len(sent)) + sent)
            await to.drain()

    async def _answers(self, number: int, broker: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        """Forward answers; the client's side ends with the broker's, or where an answer is cut."""
        try:
            while body := await _frame(broker):
                await self._fault.answered(number, LENGTH.unpack_from(body)[0])
                with suppress(ConnectionError):  # who asked may be gone
                    back.write(LENGTH.pack(len(body)) + body)
                    await back.drain()
        finally:
            back.close()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    """One request or answer without its length; empty at the end of the connection."""
    try:
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""
