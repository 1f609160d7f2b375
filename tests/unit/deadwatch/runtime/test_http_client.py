"""Answers without an end: bounded memory, and refused as no answer."""

import gzip
import tracemalloc
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import pytest

from collector.sources import jolokia
from deadwatch.runtime.http_client import client
from tests.http_server import QuietHandler, running

PIECE = b"<p>a page of a proxy</p>" * 40_000
PACKED = gzip.compress(bytes(50_000_000), 1)
MOST = 1 << 20
FLAT_BYTES = 8 << 20


@pytest.fixture
def url() -> Iterator[str]:
    """A server that never comes to an end, or packs what it has to say when the path says so."""

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.body()
            self.send_response(200)
            if self.path == "/packed/":
                self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Length", str(len(PACKED)))
                self.end_headers()
                self.wfile.write(PACKED)
                return
            self.end_headers()
            try:
                while True:
                    self.wfile.write(PIECE)
            except ConnectionError:
                self.close_connection = True

    with running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.mark.parametrize("path", ["/endless", "/packed"])
def test_an_answer_without_end_is_cut_off_and_refused(url: str, path: str) -> None:
    tracemalloc.start()
    try:
        with (
            client(5_000, MOST) as own,
            pytest.raises(jolokia.JolokiaError, match="but not as a Jolokia agent"),
        ):
            jolokia.ask(own, url + path, (), lambda answers: answers, "of Connect")
        assert tracemalloc.get_traced_memory()[1] < FLAT_BYTES
    finally:
        tracemalloc.stop()
