"""Whoever sends slowly, too much or nothing keeps nobody else out."""

import json
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from unittest.mock import Mock

import httpx2
import pytest
import uvicorn
from sqlalchemy import Engine, select
from uvicorn.protocols.http.flow_control import FlowControl

from api.__main__ import MAX_WARNINGS, BoundedProtocol, BoundedWarnings, server_config
from api.settings import ApiSettings
from deadwatch.store import schema
from tests.waiting import WITHIN_S, until

HEAD = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def port(store_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    for name, bound in (("headers_s", 0.3), ("body_s", 0.3), ("unread_s", 0.3), ("max_connections", 20)):
        monkeypatch.setattr(BoundedProtocol, name, bound)
    config = server_config(ApiSettings(store_url=store_url))
    config.timeout_keep_alive = 1
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: server.started, "the server listens")
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join(WITHIN_S)


def opened(port: int, sent: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=WITHIN_S)
    connection.sendall(sent)
    return connection


def test_who_hangs_up_within_a_form_is_one_attempt_in_the_audit_and_no_stack_trace(
    port: int, store: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    def attempts() -> list[str]:
        with store.connect() as connection:
            return [*connection.scalars(select(schema.audit.c.outcome))]

    kind = "Content-Type: application/x-www-form-urlencoded"
    head = f"POST /console/sign-in HTTP/1.1\r\nHost: localhost\r\n{kind}\r\nContent-Length: 99\r\n\r\n"
    opened(port, f"{head}token=".encode()).close()
    until(attempts, "the attempt is recorded")
    with opened(port, HEAD + b"Connection: close\r\n\r\n") as connection:
        assert rest(connection), "after the answer to nobody"
    assert (attempts(), caplog.records) == (["400 unreadable-form"], [])


def test_head_ends_with_the_headers_also_where_get_would_stream_on(port: int) -> None:
    asks = [f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\n" for path in ("/api/v1/live", "/livez")]
    with opened(port, f"{asks[0]}\r\n{asks[1]}Connection: close\r\n\r\n".encode()) as connection:
        live, alive = rest(connection).decode().removesuffix("\r\n\r\n").split("\r\n\r\n")
    assert live.startswith("HTTP/1.1 200 OK")
    assert "content-type: text/event-stream" in live
    assert alive.startswith("HTTP/1.1 200 OK")


def rest(connection: socket.socket) -> bytes:
    """What comes until the connection is closed, by whatever means."""
    found = b""
    try:
        while part := connection.recv(65_536):
            found += part
    except ConnectionError:
        pass
    return found


PARTS = {
    "nothing": b"",
    "half a line": b"GET /li",
    "half the headers": HEAD,
    "a line too much": HEAD + b"Accept: */*\r\n\r\n\r\n",
    "half of a second one": HEAD + b"\r\n" + HEAD,
    "half a body": b"POST /api/v1/tokens HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
}


@pytest.mark.parametrize("sent", PARTS.values(), ids=PARTS)
def test_a_request_that_does_not_come_whole_is_not_waited_for(port: int, sent: bytes) -> None:
    with opened(port, sent) as connection:
        answer = rest(connection)
    assert answer.count(b"HTTP/1.1 200 OK") == sent.count(b"\r\n\r\n") - sent.count(b"POST")


def test_headers_that_are_too_long_are_refused(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedProtocol, "headers_s", WITHIN_S)
    long = b"x" * BoundedProtocol.max_header_bytes
    for sent in (HEAD + b"X: " + long + b"\r\n\r\n", HEAD + b"X: " + long, b"GET /?" + long):
        with opened(port, sent) as connection:
            answer = rest(connection)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"content-type: application/problem+json" in answer
        assert json.loads(answer.partition(b"\r\n\r\n")[2]).keys() == {
            *("type", "title", "status", "detail", "request_id")
        }
    allowed = {"X": "x" * (BoundedProtocol.max_header_bytes - 1_000)}
    assert httpx2.get(f"http://127.0.0.1:{port}/livez", headers=allowed).status_code == 200


def test_half_open_connections_make_room_for_others(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedProtocol, "headers_s", WITHIN_S)
    with ExitStack() as held:
        first = held.enter_context(opened(port, HEAD))
        for _ in range(40):
            held.enter_context(opened(port, HEAD))
        assert httpx2.get(f"http://127.0.0.1:{port}/livez", timeout=WITHIN_S).status_code == 200
        assert rest(first) == b""


def test_who_does_not_read_answers_makes_room_for_others(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def alive() -> bool:
        with opened(port, HEAD + b"Connection: close\r\n\r\n") as connection:
            return rest(connection).startswith(b"HTTP/1.1 200 OK")

    monkeypatch.setattr(BoundedProtocol, "max_connections", 1)
    with opened(port, b"GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100):
        until(alive, "its connection is closed")


def test_who_reads_slowly_is_not_cut_off() -> None:
    """A large answer may be one write, of which the transport tells only when nearly all is taken."""
    left = iter((9_000_000, 8_000_000, 8_000_000))
    protocol = BoundedProtocol.__new__(BoundedProtocol)
    protocol.flow, protocol.loop = FlowControl(Mock()), Mock()
    protocol.transport = Mock(get_write_buffer_size=lambda: next(left))
    protocol.pause_writing()
    for cut in (False, True):
        (_, look, before), _ = protocol.loop.call_later.call_args
        look(before)
        assert protocol.transport.abort.called == cut
    protocol.resume_writing()
    assert protocol.loop.call_later.return_value.cancel.called


def test_a_flood_of_what_is_no_request_does_not_fill_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    now_ms = [5_000]
    monkeypatch.setattr("api.__main__.monotonic_ms", lambda: now_ms[0])
    bounded = BoundedWarnings()

    def passed(message: str, level: int = logging.WARNING) -> str | None:
        record = logging.LogRecord("uvicorn.error", level, __file__, 1, message, (), None)
        return record.getMessage() if bounded.filter(record) else None

    flood = [passed("Invalid HTTP request received.") for _ in range(1_000)]
    assert [one for one in flood if one] == ["Invalid HTTP request received."] * MAX_WARNINGS
    assert passed("Unsupported upgrade request.")
    assert all(passed("it failed", logging.ERROR) for _ in range(MAX_WARNINGS + 1))
    now_ms[0] += 60_000
    assert passed("Invalid HTTP request received.") == (
        f"Invalid HTTP request received. ({1_000 - MAX_WARNINGS} more of these were left out)"
    )
    assert passed("Invalid HTTP request received.") == "Invalid HTTP request received."
