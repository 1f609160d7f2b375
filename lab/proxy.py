"""A proxy that understands requests of Kafka's protocol, and lets faults happen to them (``lab.faults``).

A client that is told of the proxy's address by the broker (``LoneBroker.proxy``) makes all its
connections to it. Bytes are forwarded as they are; only the header of each request is read.
"""

import asyncio
import struct
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Final, Self, TypeVar

from lab.faults import Api, Fault, ForgedError, Request
from lab.ports import LOOPBACK

T = TypeVar("T")

LENGTH: Final = struct.Struct(">i")
HEADER: Final = struct.Struct(">hhi")
WITHIN_S: Final = 30


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

    def inject(self, fault: Fault) -> None:
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
