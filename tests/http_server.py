"""Servers for what programs ask over HTTP: Connect's REST, a Jolokia agent, an OTLP endpoint, a webhook."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from typing import TypeVar

Server = TypeVar("Server", bound=BaseServer)

Answer = Callable[[str, str, bytes], tuple[int, bytes] | None]
"""Status and body for method, path and body; None closes the connection without an answer."""

Serve = Callable[[Answer], int]


class QuietHandler(BaseHTTPRequestHandler):
    """Reads and writes whole bodies, and logs nothing."""

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def send(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Send an answer; ``content_type`` is the header ``content-type``."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """The server in a thread of its own, until the end of the block."""
    with server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def served(answer: Answer) -> Iterator[int]:
    """The port of a server that answers so."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def answer(self) -> None:
            if answered := answer(self.command, self.path, self.body()):
                self.send(*answered)

    with running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield server.server_port
