"""``/livez`` and ``/readyz`` of a process that serves nothing else, for whatever supervises it.

The process is alive while its main loop comes around, and ready while its work gets done. Both are judged by
the age of the last sign: while Kafka or the store is away, the process is unready, never dead.
"""

import socket
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

from pydantic import BaseModel, Field

from deadwatch.runtime.clock import monotonic_ms
from deadwatch.runtime.process import REFUSED

REQUEST_TIMEOUT_S: Final = 5


class HealthSettings(BaseModel, frozen=True, extra="forbid"):
    """The address of the health endpoints, and the ages that they tolerate."""

    host: str = Field(
        "127.0.0.1", min_length=1, description="Address to listen on; any: the answers are `ok` or an age."
    )
    port: int | None = Field(
        None, ge=1, le=65_535, description="Port of /livez and /readyz; unless set: none."
    )
    dead_after_ms: int = Field(
        300_000, ge=1_000, description="The main loop has not come around for this long: /livez is 503."
    )
    unready_after_ms: int = Field(
        30_000, ge=1_000, description="Nothing got done for this long, not even a heartbeat: /readyz is 503."
    )


def unheard() -> None:
    """A heartbeat that goes nowhere, for a process without health endpoints."""


class Health:
    """Use it in a with statement; ``beat`` and ``work_done`` may be called from any thread."""

    def __init__(
        self, settings: HealthSettings, process: str, now_ms: Callable[[], int] = monotonic_ms
    ) -> None:
        self._settings = settings
        self._process = process
        self._now_ms = now_ms
        self._beat_ms = now_ms()
        self._done_ms: int | None = None
        self._server: ThreadingHTTPServer | None = None

    def beat(self) -> None:
        """Note that the main loop has come around."""
        self._beat_ms = self._now_ms()

    def work_done(self) -> None:
        """Note that work got done."""
        self._done_ms = self._now_ms()

    def answer(self, path: str) -> tuple[int, str]:
        """HTTP status and text for a path."""
        now_ms, settings = self._now_ms(), self._settings
        if path == "/livez":
            return _judged(now_ms - self._beat_ms, settings.dead_after_ms)
        if path == "/readyz":
            if self._done_ms is None:
                return 503, "nothing has been done yet; see the log"
            return _judged(now_ms - self._done_ms, settings.unready_after_ms)
        return 404, "only /livez and /readyz are here"

    def __enter__(self) -> Self:
        """Listen if a port is set; ends the process with one line if that fails."""
        settings = self._settings
        if settings.port is not None:
            try:
                self._server = _server(settings.host, settings.port, self.answer)
            except OSError as error:
                where = f"{settings.host}:{settings.port}"
                sys.stderr.write(
                    f"{self._process}: cannot listen on {where}: {error.strerror or error}; stop what uses "
                    "the port or choose another one (health.port)\n"
                )
                sys.exit(REFUSED)
            threading.Thread(target=self._server.serve_forever, name="health", daemon=True).start()
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


def _judged(age_ms: int, limit_ms: int) -> tuple[int, str]:
    return (200, "ok") if age_ms <= limit_ms else (503, f"no sign for {age_ms} ms; see the log")


def _server(host: str, port: int, answer: Callable[[str], tuple[int, str]]) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        timeout = REQUEST_TIMEOUT_S

        def do_GET(self) -> None:
            status, text = answer(self.path.partition("?")[0])
            body = f"{text}\n".encode()
            self.send_response_only(status)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 -- the name in the base class
            """Log nothing: probes come every few seconds."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        def handle_error(self, *of: Any) -> None:  # noqa: ANN401 -- as in the base class
            """Say nothing of a probe that has hung up, as load balancers do."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(*of)

    return Server((host, port), Handler)
