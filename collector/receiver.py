"""The receiver: an HTTP server in a thread of its own, and the journal that its deliveries go through.

As a source it is up while it listens. Its events are those of the sources ``otlp@<collector>`` and
``events:<client>@<collector>``.
"""

import logging
import socket
import threading
from collections.abc import Callable
from typing import Final

import uvicorn

from collector.outbox import Parcels
from collector.receiver_http import create_app
from collector.receiver_journal import Journal
from collector.receiver_state import Origin
from collector.settings import CollectorSettings
from collector.sources.source import SourceDownError, State

log = logging.getLogger(__name__)

NAME: Final = "receiver"
WAIT_MS: Final = 100
MAX_CONNECTIONS: Final = 128
MAX_WAITING: Final = 256
GRACEFUL_SHUTDOWN_S: Final = 1


class Receiver:
    """Listens from its first poll on; each poll commits what has come."""

    kind = "receiver"
    name = NAME
    poll_interval_ms = 0

    def __init__(self, settings: CollectorSettings, journal: Journal, clock: Callable[[], int]) -> None:
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
        """Answer no more; what has been taken is committed by the publisher, or at the next start."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(2 * GRACEFUL_SHUTDOWN_S)

    def _serve(self) -> None:
        listener = _listen(self._settings.receiver.host, self._settings.receiver.port)
        self._server = uvicorn.Server(
            uvicorn.Config(
                create_app(self._settings.receiver, self._journal, self._origin),
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                limit_concurrency=MAX_CONNECTIONS,
                timeout_graceful_shutdown=GRACEFUL_SHUTDOWN_S,
            )
        )
        serve = self._server.run
        self._thread = threading.Thread(target=lambda: serve(sockets=[listener]), name=NAME, daemon=True)
        self._thread.start()
        self.port = listener.getsockname()[1]
        log.info("Receiving at http://%s:%d", self._settings.receiver.host, self.port)

    def _origin(self, source: str) -> Origin:
        return Origin(f"{source}@{self._settings.name}", self._settings.kafka_cluster, self._clock())


def journal_of(parcels: Parcels, saved: State | None, now_ms: int) -> Journal:
    """The journal of a collector's receiver. Raises ``PositionsError``."""
    return Journal(NAME, parcels, saved, now_ms, MAX_WAITING)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise SourceDownError(
            f"cannot listen on {host}:{port} ({error.strerror or error}); stop what uses the port or choose"
            " another one (receiver.port)"
        ) from None
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
