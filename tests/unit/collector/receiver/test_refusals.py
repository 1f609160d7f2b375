"""The receiver has one clear answer to bad input, in flat memory, and counts it."""

import contextlib
import gzip
import itertools
import json
import socket
import tracemalloc
from collections.abc import Callable
from random import Random

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from collector.publish.publisher import ChunkQueue
from collector.receiver.body import Reason, RefusedError, unpacked
from collector.receiver.journal import Journal
from collector.receiver.receiver import Receiver
from collector.settings import CollectorSettings, ReceiverSettings
from collector.sources.source import SourceDownError
from tests.tables import named
from tests.unit.collector.receiver.conftest import MOST, PROTOBUF, Running, report

FLAT_BYTES = 12 << 20
BOMB = gzip.compress(bytes(16 << 20), 1)
GZIP = PROTOBUF | {"Content-Encoding": "gzip"}
JSON = {"Content-Type": "application/json"}
SURROGATE = b'{"resourceLogs":[{"schemaUrl":"\\ud800"}]}'
INFINITE = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"severityNumber":1e999}]}]}]}'
CUT = gzip.compress(Random(1).randbytes(5_000))[:-100]


STATUS = {Reason.TOO_LARGE: 413, Reason.CONTENT_TYPE: 415, Reason.CONTENT_ENCODING: 415} | dict.fromkeys(
    (Reason.NOT_GZIP, Reason.NOT_PROTOBUF, Reason.NOT_JSON), 400
)
BAD = [
    ("not protobuf", "/v1/logs", b"\xff\xff\xff", PROTOBUF, Reason.NOT_PROTOBUF),
    ("not JSON", "/v1/logs", b"{", JSON, Reason.NOT_JSON),
    ("JSON too deep", "/v1/logs", b"[" * 100_000, JSON, Reason.NOT_JSON),
    ("JSON of another shape", "/v1/logs", b'{"resourceLogs": 5}', JSON, Reason.NOT_JSON),
    ("half a surrogate pair", "/v1/logs", SURROGATE, JSON, Reason.NOT_JSON),
    ("half a pair as a name", "/v1/logs", b'{"\\ud800": 1}', JSON, Reason.NOT_JSON),
    ("half a pair in the answer", "/v1/logs", b'{"resourceLogs": "\\ud800"}', JSON, Reason.NOT_JSON),
    ("an infinite number", "/v1/logs", INFINITE, JSON, Reason.NOT_JSON),
    ("an array", "/v1/logs", b"[]", JSON, Reason.NOT_JSON),
    ("text", "/v1/logs", b"x", {"Content-Type": "text/plain"}, Reason.CONTENT_TYPE),
    ("brotli", "/v1/logs", b"x", PROTOBUF | {"Content-Encoding": "br"}, Reason.CONTENT_ENCODING),
    ("a gzip bomb", "/v1/logs", BOMB, GZIP, Reason.TOO_LARGE),
    ("a truncated gzip", "/v1/logs", CUT, GZIP, Reason.NOT_GZIP),
    ("not gzip", "/v1/logs", b"x", GZIP, Reason.NOT_GZIP),
    ("too many bytes, declared", "/v1/logs", bytes(2 * MOST), PROTOBUF, Reason.TOO_LARGE),
    ("events of text", "/v1/events", b"x", {"Content-Type": "text/plain"}, Reason.CONTENT_TYPE),
    ("events that are not JSON", "/v1/events", b"{", JSON, Reason.NOT_JSON),
]


@pytest.mark.parametrize(("path", "body", "headers", "reason"), named(BAD))
def test_bad_input_has_one_answer_and_is_counted(
    own: Running, path: str, body: bytes, headers: dict[str, str], reason: Reason
) -> None:
    try:
        assert own.http.post(path, content=body, headers=headers).status_code == STATUS[reason]
    except httpx2.WriteError:
        assert STATUS[reason] == 413, "only a body too large may be cut off while it is sent"
    assert own.reasons() == [reason]
    assert own.http.post("/v1/logs", content=b"", headers=PROTOBUF).status_code == 200, "the rest goes on"


@pytest.mark.parametrize(
    ("event", "pointer"),
    [
        ({"kind": "gossip"}, "/1/kind"),
        ({"message": 5}, "/1/message"),
        ({"message": "\ud800"}, "/1/message"),
        ({"colour~/": "red"}, "/1/colour~0~1"),
        ({"happened_at_ms": -1}, "/1/happened_at_ms"),
        ({"happened_at_ms": True}, "/1/happened_at_ms"),
        ({"id": ""}, "/1/id"),
        ({"source": "a b"}, "/1/source"),
        ({"v": 2}, "/1/v"),
    ],
)
def test_one_wrong_event_refuses_all_and_says_where(
    own: Running, event: dict[str, object], pointer: str
) -> None:
    body = json.dumps([report(1), report(2, **event)])
    answer = own.http.post("/v1/events", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["pointer"]) == (422, pointer)
    assert own.reasons() == [Reason.INVALID_EVENT]
    assert own.kinds() == {"quarantined": 1}


@pytest.mark.parametrize("headers", [PROTOBUF, GZIP], ids=["sixteen megabytes", "a gzip bomb"])
def test_what_is_too_large_is_refused_in_flat_memory(own: Running, headers: dict[str, str]) -> None:
    piece = BOMB if headers is GZIP else bytes(1_000_000)
    tracemalloc.start()
    with contextlib.suppress(httpx2.WriteError):  # it may be cut off while it is sent
        answer = own.http.post("/v1/logs", content=itertools.repeat(piece, 16), headers=headers)
        assert answer.status_code == 413
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < FLAT_BYTES
    assert own.reasons() == [Reason.TOO_LARGE]


def test_very_many_gzip_members_are_unpacked_in_linear_time_or_refused() -> None:
    member = gzip.compress(b"x")
    assert unpacked(member * 9_999, "GZIP", MOST) == b"x" * 9_999
    with pytest.raises(RefusedError, match="more than 10000 gzip members"):
        unpacked(gzip.compress(b"") * 100_000, "gzip", MOST)


@given(
    st.lists(st.binary(max_size=100) | st.integers(0, 200_000).map(bytes), min_size=1, max_size=4), st.data()
)
@settings(max_examples=50, deadline=None)
def test_gzip_is_unpacked_whole_or_refused(contents: list[bytes], data: st.DataObject) -> None:
    body = b"".join(map(gzip.compress, contents))
    assert unpacked(body, "gzip", MOST) == b"".join(contents)
    last = len(gzip.compress(contents[-1]))
    with pytest.raises(RefusedError, match="cut off"):
        unpacked(body[: -data.draw(st.integers(1, last - 1))], "gzip", MOST)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:4318", "a{b", "127.0.0.1.evil.example", "10.0.0.1"]
)
def test_a_page_of_a_foreign_site_sends_nothing(own: Running, host: str) -> None:
    answer = own.http.post("/v1/events", json=[], headers={"Host": host})
    assert answer.status_code == 403
    assert own.reasons() == [Reason.HOST]


def test_names_that_are_set_and_those_of_this_machine_are_taken(start: Callable[..., Running]) -> None:
    own = start(hosts=("OTel.Example", "[FD00::1]", "fd00::2"))
    hosts = ("otel.example", "otel.example:4318", "[fd00::1]:4318", "[fd00::2]", "localhost", "[::1]:4318")
    for host in hosts:
        assert own.http.post("/v1/events", json=[], headers={"Host": host}).status_code == 200
    assert own.reasons() == []


def test_a_body_that_does_not_come_is_not_waited_for(start: Callable[..., Running]) -> None:
    own = start(body_timeout_ms=50)
    with socket.create_connection(("127.0.0.1", own.receiver.port), timeout=5) as sender:
        sender.sendall(b"POST /v1/logs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nslow")
        assert sender.recv(100).startswith(b"HTTP/1.1 408 ")
    assert own.reasons() == [Reason.TOO_SLOW]


def test_a_port_in_use_says_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = CollectorSettings(receiver=ReceiverSettings(port=taken.getsockname()[1]))
        own = Receiver(settings, Journal(ChunkQueue(), None, 0), lambda: 0)
        with pytest.raises(SourceDownError, match="choose another one"):
            own.poll()


def test_a_public_address_is_refused() -> None:
    with pytest.raises(ValidationError, match="without authentication"):
        ReceiverSettings(host="0.0.0.0")  # noqa: S104 - it is what must be refused
