"""``python -m api``: metrics and answers over HTTP until a signal asks for the end.

Connections are bounded in number, and each in the time and the size of the headers it sends. A client that
sends its request slowly, or none at all, or takes nothing of its answer, holds a connection and no more, and
not for long. When there are too many, the one that has waited longest without a whole request makes room.
"""

import asyncio
import gc
import json
import logging
import math
import resource
import signal
import socket
import sys
import uuid
from typing import ClassVar, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.app import create_app
from api.auth.limits import FailureCounter
from api.problems import TYPE_PREFIX, ProblemResponse
from api.settings import ApiSettings
from api.telemetry import HEADER
from deadwatch.deadletter.dialects import read_as
from deadwatch.runtime.clock import monotonic_ms
from deadwatch.runtime.hosts import listen
from deadwatch.runtime.process import REFUSED, leave_records_alone, stop_signals
from deadwatch.runtime.settings_file import begin

GRACEFUL_SHUTDOWN_S = 3
log = logging.getLogger("api")


def main() -> None:
    """Serve until asked to stop; exit code 0 then, 2 when the settings or the port cannot be used."""
    leave_records_alone()
    settings = begin(ApiSettings, "Serves metrics and the API from the store.")
    read_as(settings.reading)
    for chatty in ("uvicorn.error", "uvicorn.asgi"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(BoundedWarnings())
    listener = _listen(settings)
    server = uvicorn.Server(server_config(settings))
    end_on_signals(server)
    gc.collect()
    gc.freeze()  # what is loaded stays: to look through all of it again takes longer than most answers
    host, port = listener.getsockname()[:2]
    log.info("listening on http://%s:%d", f"[{host}]" if ":" in host else host, port)
    server.run(sockets=[listener])


def end_on_signals(server: uvicorn.Server) -> None:
    """The server ends when a signal asks for it; uvicorn alone knows nothing of a closed terminal."""
    for number in stop_signals():
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))


def server_config(settings: ApiSettings) -> uvicorn.Config:
    """The api as uvicorn serves it: only trusted proxies may say whose request it is."""
    return uvicorn.Config(
        create_app(settings),
        http=BoundedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_graceful_shutdown=GRACEFUL_SHUTDOWN_S,
    )


def _listen(settings: ApiSettings) -> socket.socket:
    """The socket to serve on; ends the process with one line on stderr where it cannot be opened."""
    try:
        return listen(settings.host, settings.port)
    except OSError as error:
        sys.stderr.write(
            f"api: cannot listen on {settings.host}:{settings.port}: {error.strerror or error}; stop what "
            "uses the port or choose another one (variable API_PORT)\n"
        )
        sys.exit(REFUSED)


RESERVED_FILES = 128
"""Open files that are not connections of clients: the store, Kafka, the log."""


def most_connections() -> int:
    """As many as the process may have open files for, and at most 4 000."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(4_000, max(16, soft - RESERVED_FILES))


MAX_WARNINGS: Final = 10
"""Of one kind in a minute: anybody can send what is no request, as often as he likes."""


class BoundedWarnings(logging.Filter):
    """Passes ``MAX_WARNINGS`` of each warning in a minute; the next one tells how many were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._warnings = FailureCounter(monotonic_ms, 100, MAX_WARNINGS)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record goes to the log."""
        if record.levelno != logging.WARNING:
            return True
        counted = self._warnings.count(str(record.msg))
        if counted.left_out:
            record.msg = f"{record.msg} ({counted.left_out} more of these were left out)"
        return not counted.beyond


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with bounds. The address, which may hold a filter or a cursor, counts as a header.

    Uvicorn closes a connection itself that was idle for five seconds after an answer.
    """

    headers_s: ClassVar[float] = 10
    body_s: ClassVar[float] = 60
    unread_s: ClassVar[float] = 60
    max_header_bytes: ClassVar[int] = 131_072
    max_connections: ClassVar[int] = most_connections()

    _without_request: ClassVar[dict["BoundedProtocol", None]] = {}
    """Connections that have not sent the whole headers of a request, the oldest first."""

    _timer: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle
    _header_bytes = _named_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for the headers of a request."""
        super().connection_made(transport)
        self._wait_for_headers()
        if len(self.connections) > self.max_connections:
            next(iter(self._without_request)).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; what comes after a whole request is another one."""
        if self._timer is None:
            self._wait_for_headers()
        if self in self._without_request:
            self._header_bytes += len(data)
        super().data_received(data)
        if self in self._without_request and self._header_bytes > self.max_header_bytes:
            self.send_400_response("The headers of the request are too long.")

    def on_message_begin(self) -> None:
        """Begin to wait for the headers, also of a request that came together with the one before."""
        super().on_message_begin()
        self._named_bytes = 0
        if self not in self._without_request:
            self._wait_for_headers()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header. Raises ``ValueError`` when all of them are too long together."""
        super().on_header(name, value)
        self._named_bytes += len(name) + len(value)
        if len(self.url) + self._named_bytes > self.max_header_bytes:
            raise ValueError("too long")

    def on_headers_complete(self) -> None:
        """Begin to wait for the body."""
        self._wait_no_more()
        self._timer = self.loop.call_later(self.body_s, self.transport.abort)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request has come whole."""
        self._wait_no_more()
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Begin to wait until the client takes more of its answer."""
        super().pause_writing()
        self._wait_for_reader(math.inf)

    def resume_writing(self) -> None:
        """Go on: the client has taken it."""
        super().resume_writing()
        self._unread.cancel()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read as a request: with a problem, as everything else that is refused."""
        name = uuid.uuid4().hex
        problem = {
            "type": f"{TYPE_PREFIX}unreadable-request",
            "title": "The request cannot be read",
            "status": 400,
            "detail": msg,
            "request_id": name,
        }
        body = json.dumps(problem).encode()
        head = (
            f"HTTP/1.1 400 Bad Request\r\ncontent-type: {ProblemResponse.media_type}\r\n{HEADER}: {name}\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def _wait_for_reader(self, before: float) -> None:
        """Wait on while the client takes some of its answer, however slowly: all of it may be one write."""
        left = self.transport.get_write_buffer_size()
        if left < before:
            self._unread = self.loop.call_later(self.unread_s, self._wait_for_reader, left)
        else:
            self.transport.abort()

    def _wait_for_headers(self) -> None:
        self._wait_no_more()
        self._without_request[self] = None
        self._timer = self.loop.call_later(self.headers_s, self.transport.abort)

    def _wait_no_more(self) -> None:
        self._without_request.pop(self, None)
        self._header_bytes = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


if __name__ == "__main__":
    main()
