"""The receiver: an HTTP server in a thread of its own, its two routes, and the journal that takes what they
receive.

``POST /v1/logs`` takes OTLP/HTTP logs, ``POST /v1/events`` takes events in JSON. 200 means committed to
Kafka. 503 with ``Retry-After`` means not committed yet: if it is sent again, it is counted once. Every
other refusal is final and is counted as quarantined input.

As a source the receiver is up while it listens. Its events are those of the sources ``otlp@<collector>``
and ``events:<client>@<collector>``.
"""

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final, TypeVar

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from google.rpc.status_pb2 import Status
from starlette.requests import ClientDisconnect

from collector.receiver import otlp
from collector.receiver.body import Budget, BusyError, Reason, RefusedError, Take, read, unpacked
from collector.receiver.events import reports_of
from collector.receiver.journal import NAME, Journal
from collector.receiver.state import LogsSubmission, Origin, RefusedSubmission, Submission, key_of
from collector.settings import CollectorSettings, ReceiverSettings, own_source
from collector.sources.logs.records import MAX_RECORD_CHARS
from collector.sources.source import SourceDownError
from deadwatch.runtime.hosts import host_name, is_loopback, listen

RETRY: Final[Mapping[str, str]] = {"Retry-After": "1"}
TOO_LONG: Final = f"records of more than {MAX_RECORD_CHARS} characters are not read"
MAX_EXCERPT_BYTES: Final = 1_000
LATE: Final = "not committed to Kafka in time; send it again, it will be counted once"

S = TypeVar("S", bound=Submission)

_BODIES_AT_ONCE: Final = 4
_PARSED_AT_ONCE: Final = 2

log = logging.getLogger(__name__)
WAIT_MS: Final = 100
MAX_CONNECTIONS: Final = 128
GRACEFUL_SHUTDOWN_S: Final = 1


class Routes:
    """The two routes; ``origin`` makes the origin of a source's events, the caller steps the journal."""

    def __init__(self, settings: ReceiverSettings, journal: Journal, origin: Callable[[str], Origin]) -> None:
        self._settings, self._journal, self._origin = settings, journal, origin
        self._budget = Budget(_BODIES_AT_ONCE * settings.max_body_bytes)
        self._parsing = asyncio.Semaphore(_PARSED_AT_ONCE)

    def app(self) -> FastAPI:
        """The application with the two routes."""
        app = FastAPI(title="Deadwatch receiver", docs_url=None, redoc_url=None, openapi_url=None)
        app.add_api_route("/v1/logs", self.logs, methods=["POST"])
        app.add_api_route("/v1/events", self.events, methods=["POST"])
        return app

    async def logs(self, request: Request) -> Response:
        """OTLP/HTTP logs, answered in the encoding of the request."""
        origin = self._origin("otlp")
        media = otlp.media_type(request.headers.get("content-type", ""))

        def parse(body: bytes) -> LogsSubmission:
            key = key_of(media.encode(), body)
            return LogsSubmission(origin, key, tuple(otlp.records(otlp.request_of(body, media))))

        try:
            submission = await self._received(request, origin, parse)
        except RefusedError as error:
            content, kind = otlp.encoded(Status(code=otlp.INVALID_ARGUMENT, message=str(error)), media)
            return Response(content, error.reason.status, media_type=kind)
        except BusyError as error:
            content, kind = otlp.encoded(Status(code=otlp.UNAVAILABLE, message=str(error)), media)
            return Response(content, HTTPStatus.SERVICE_UNAVAILABLE, RETRY, kind)
        content, kind = otlp.encoded(otlp.success(submission.rejected, TOO_LONG), media)
        return Response(content, media_type=kind)

    async def events(self, request: Request) -> Response:
        """Events in JSON, answered in JSON."""

        def parse(body: bytes) -> Submission:
            if otlp.media_type(request.headers.get("content-type", "")) != otlp.JSON:
                raise RefusedError(Reason.CONTENT_TYPE, f"Content-Type must be {otlp.JSON}")
            return reports_of(otlp.json_of(body), self._origin)

        try:
            await self._received(request, self._origin("events"), parse)
        except RefusedError as error:
            status = error.reason.status
            return JSONResponse({"status": status, "detail": str(error), "pointer": error.pointer}, status)
        except BusyError as error:
            return JSONResponse({"status": 503, "detail": str(error)}, 503, RETRY)
        return JSONResponse({"status": 200})

    async def _received(self, request: Request, origin: Origin, make: Callable[[bytes], S]) -> S:
        """The submission that the request's body is, committed. Raises ``RefusedError`` and ``BusyError``."""
        try:
            with self._budget.hold() as take:
                submission = await self._read_body(request, take, make)
                await self._commit(submission)
        except RefusedError as error:
            excerpt = error.excerpt[:MAX_EXCERPT_BYTES].decode(errors="replace")
            await self._commit(RefusedSubmission(origin, error.reason, excerpt))
            raise
        return submission

    async def _read_body(self, request: Request, take: Take, make: Callable[[bytes], S]) -> S:
        name = host_name(request.headers.getlist("host")) or ""
        if not is_loopback(name) and name not in {one.strip("[]").lower() for one in self._settings.hosts}:
            raise RefusedError(Reason.HOST, "the header Host names another machine (receiver.hosts)")
        most, timeout_ms = self._settings.max_body_bytes, self._settings.body_timeout_ms
        try:
            body = await read(request.stream(), request.headers, take, max_bytes=most, timeout_ms=timeout_ms)
        except ClientDisconnect:
            raise RefusedError(Reason.INCOMPLETE, "the connection ended before the body") from None
        async with self._parsing:
            encoding = request.headers.get("content-encoding", "")
            plain = await asyncio.to_thread(unpacked, body, encoding, most)
            take(len(plain))
            return await asyncio.to_thread(make, plain)

    async def _commit(self, submission: Submission) -> None:
        """Return when it is committed. Raises ``BusyError``."""
        done = self._journal.submit(submission)
        if done is None:
            raise BusyError("too much is waiting for Kafka; send it again")
        try:
            async with asyncio.timeout(self._settings.commit_timeout_ms / 1_000):
                await asyncio.wrap_future(done)
        except TimeoutError:
            raise BusyError(LATE) from None


class Receiver:
    """Listens from its first poll on; each poll commits what has come."""

    kind = "receiver"
    poll_interval_ms = 0

    def __init__(self, settings: CollectorSettings, journal: Journal, clock: Callable[[], int]) -> None:
        self.name = own_source(NAME, settings.name)
        self.port = 0
        self._settings = settings
        self._journal = journal
        self._clock = clock
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    def poll(self) -> None:
        """One step of the journal. Raises ``SourceDownError`` where it cannot listen."""
        if self._thread is None or not self._thread.is_alive():
            self._serve()
        self._journal.step(WAIT_MS)

    def close(self) -> None:
        """Stop listening; what has been taken is committed by the publisher, or at the next start."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(2 * GRACEFUL_SHUTDOWN_S)

    def _serve(self) -> None:
        listener = _listen(self._settings.receiver.host, self._settings.receiver.port)
        self._server = uvicorn.Server(
            uvicorn.Config(
                Routes(self._settings.receiver, self._journal, self._origin).app(),
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                limit_concurrency=MAX_CONNECTIONS,
                timeout_graceful_shutdown=GRACEFUL_SHUTDOWN_S,
            )
        )
        listeners = {"sockets": [listener]}
        self._thread = threading.Thread(target=self._server.run, kwargs=listeners, name=NAME, daemon=True)
        self._thread.start()
        self.port = listener.getsockname()[1]
        log.info("Receiving at http://%s:%d", self._settings.receiver.host, self.port)

    def _origin(self, source: str) -> Origin:
        return Origin(f"{source}@{self._settings.name}", self._settings.kafka_cluster, self._clock())


def _listen(host: str, port: int) -> socket.socket:
    try:
        return listen(host, port)
    except OSError as error:
        raise SourceDownError(
            f"cannot listen on {host}:{port} ({error.strerror or error}); stop what uses the port or choose"
            " another one (receiver.port)"
        ) from None
