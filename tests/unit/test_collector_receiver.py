"""The receiver over loopback: real logs in, events out once, and one clear answer to bad input."""

import contextlib
import gzip
import itertools
import json
import socket
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import httpx2
import pytest
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from pydantic import ValidationError

from collector.contract.events import encode
from collector.outbox import Parcel, Parcels
from collector.receiver import Receiver, journal_of
from collector.receiver_body import Reason
from collector.settings import CollectorSettings, ReceiverSettings
from collector.sources.source import SourceDownError, State

LOGS = Path(__file__).parents[1] / "data" / "logs"
TRUTH = json.loads((LOGS / "truth.json").read_text())
NOW_MS = 1_800_000_000_000
PROTOBUF = {"Content-Type": "application/x-protobuf"}
MOST = 1 << 20
FLAT_BYTES = 12 << 20

Event = dict[str, Any]


class Running:
    """A receiver whose events are committed at once, while ``kafka_is_up``; ``states`` are what is saved."""

    def __init__(self, saved: State | None = None, now_ms: int = NOW_MS) -> None:
        self.events: list[Event] = []
        self.states: list[State] = [saved] if saved else []
        self.kafka_is_up = threading.Event()
        self.kafka_is_up.set()
        self._parcels, self._stop = Parcels(), threading.Event()
        settings = CollectorSettings(
            name="c",
            receiver=ReceiverSettings(
                enabled=True, port=0, max_body_bytes=MOST, body_timeout_ms=300, commit_timeout_ms=500
            ),
        )
        self.receiver = Receiver(settings, journal_of(self._parcels, saved, now_ms), lambda: now_ms)
        self.receiver.poll()
        self._threads = [threading.Thread(target=self._poll), threading.Thread(target=self._publish)]
        for thread in self._threads:
            thread.start()
        self.http = httpx2.Client(base_url=f"http://127.0.0.1:{self.receiver.port}", trust_env=False)

    def stop(self) -> None:
        self.http.close()
        self._stop.set()
        self.kafka_is_up.set()
        self._parcels.put(Parcel((), {}, lambda: None))
        for thread in self._threads:
            thread.join()
        self.receiver.close()

    def kinds(self) -> Counter[str]:
        return Counter(event["kind"] for event in self.events)

    def reasons(self) -> list[str]:
        return [event["reason"] for event in self.events if event["kind"] == "quarantined"]

    def _poll(self) -> None:
        while not self._stop.is_set():
            self.receiver.poll()

    def _publish(self) -> None:
        while not self._stop.is_set():
            parcel = self._parcels.get()
            self.kafka_is_up.wait()
            self.events += [json.loads(encode(event)[1]) for event in parcel.events]
            self.states += parcel.states.values()
            parcel.sent()


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def begin(saved: State | None = None, now_ms: int = NOW_MS) -> Running:
        running.append(Running(saved, now_ms))
        return running[-1]

    yield begin
    for one in running:
        one.stop()


def request_of(*texts: str, at_ms: int = NOW_MS) -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    logs = request.resource_logs.add().scope_logs.add()
    for text in texts:
        record = logs.log_records.add(time_unix_nano=at_ms * 1_000_000)
        record.body.string_value = text
    return request


def abandoned(task: int) -> str:
    return (
        f"[2026-11-21 12:35:23,893] ERROR [c|task-{task}] Graceful stop of task c-{task} failed. (o.Worker:1)"
    )


def report(number: int, **more: object) -> dict[str, object]:
    body: dict[str, object] = {"id": f"id-{number}", "source": "shop", "kind": "client_timeout"}
    body |= {"happened_at_ms": 5, "client": "java", "client_id": "c", "timeout": "poll", "message": "late"}
    return body | more


def truths(name: str) -> dict[str, int]:
    return {kind: len(events) for kind, events in TRUTH[name].items()}


@pytest.mark.parametrize("name", TRUTH)
@pytest.mark.parametrize("size", [1, 7, 10_000], ids=lambda size: f"{size} lines a request")
def test_a_log_sent_line_by_line_gives_the_true_numbers(
    start: Callable[..., Running], name: str, size: int
) -> None:
    own, lines = start(), (LOGS / name).read_text().splitlines()
    for at in range(0, len(lines), size):
        body = request_of(*lines[at : at + size], at_ms=NOW_MS + at).SerializeToString()
        assert own.http.post("/v1/logs", content=body, headers=PROTOBUF).status_code == 200
    assert own.kinds() == truths(name)
    positions = [event["position"] for event in own.events]
    assert positions == sorted(positions)
    assert len({tuple(position) for position in positions}) == len(positions)


@pytest.mark.parametrize("name", TRUTH)
def test_the_real_exporter_ships_a_real_log_in_entries(start: Callable[..., Running], name: str) -> None:
    own, provider = start(), LoggerProvider()
    exporter = OTLPLogExporter(endpoint=f"http://127.0.0.1:{own.receiver.port}/v1/logs")
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    logger = provider.get_logger("shipper")
    for entry in ("\n" + (LOGS / name).read_text()).split("\n[")[1:]:
        logger.emit(LogRecord(body=f"[{entry}", timestamp=NOW_MS * 1_000_000))
    provider.shutdown()
    assert own.kinds() == truths(name)


def test_a_structured_record_with_an_exception_is_one_entry(start: Callable[..., Running]) -> None:
    own, request = start(), ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=7_000_000)
    record.body.kvlist_value.values.add(key="message").value.string_value = "send failed"
    expiry = "o.TimeoutException: Expiring 3 record(s) for orders-0:3001 ms has passed since batch creation"
    record.attributes.add(
        key="exception.stacktrace"
    ).value.string_value = f"{expiry}\n\tat a.B\nCaused by: {expiry}"
    record.attributes.add(key="thread.name").value.string_value = "main"
    headers = PROTOBUF | {"Content-Encoding": "gzip"}
    answer = own.http.post("/v1/logs", content=gzip.compress(request.SerializeToString()), headers=headers)
    assert answer.status_code == 200
    assert ExportLogsServiceResponse.FromString(answer.content) == ExportLogsServiceResponse()
    (event,) = own.events
    assert (event["kind"], event["topic"], event["happened_at_ms"]) == ("delivery_timeout", "orders", 7)
    assert event["source"] == "otlp@c"


def test_json_is_answered_in_json_and_tells_what_was_rejected(start: Callable[..., Running]) -> None:
    own = start()
    records = [{"body": {"stringValue": text}} for text in (abandoned(1), "x" * (1 << 18 | 1))]
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}], "unknown": 1}
    answer = own.http.post("/v1/logs", json=body)
    assert answer.status_code == 200
    assert answer.json()["partialSuccess"]["rejectedLogRecords"] == "1"
    assert own.kinds() == {"task_abandoned": 1, "quarantined": 1}


def test_what_is_sent_twice_counts_once_also_after_a_restart(start: Callable[..., Running]) -> None:
    first, body = start(), request_of(abandoned(1)).SerializeToString()
    for _ in range(2):
        assert first.http.post("/v1/logs", content=body, headers=PROTOBUF).status_code == 200
        assert first.http.post("/v1/events", json=[report(1), report(2), report(1)]).status_code == 200
    assert first.kinds() == {"task_abandoned": 1, "client_timeout": 2}
    second = start(json.loads(json.dumps(first.states[-1])), now_ms=NOW_MS - 1_000)
    assert second.http.post("/v1/logs", content=body, headers=PROTOBUF).status_code == 200
    assert second.http.post("/v1/events", json=[report(2), report(3)]).status_code == 200
    (event,) = second.events
    assert (event["kind"], event["source"]) == ("client_timeout", "events:shop@c")
    assert event["position"] > first.events[-1]["position"], "the clock went back, positions do not"


def test_a_crash_before_the_commit_sends_the_same_positions_again(start: Callable[..., Running]) -> None:
    first = start()
    assert first.http.post("/v1/events", json=report(1)).status_code == 200
    ahead = next(state for state in first.states if state["ahead"])
    second = start(ahead)
    assert second.http.post("/v1/events", json=[report(1), report(2)]).status_code == 200
    assert second.events[0] == first.events[0]
    assert [event["kind"] for event in second.events] == ["client_timeout"] * 2


def test_without_kafka_the_answer_is_to_send_again_and_it_counts_once(start: Callable[..., Running]) -> None:
    own, body = start(), request_of(abandoned(1)).SerializeToString()
    own.kafka_is_up.clear()
    late = own.http.post("/v1/logs", content=body, headers=PROTOBUF)
    assert (late.status_code, late.headers["Retry-After"]) == (503, "1")
    own.kafka_is_up.set()
    assert own.http.post("/v1/logs", content=body, headers=PROTOBUF).status_code == 200
    assert own.kinds() == {"task_abandoned": 1}


BOMB = gzip.compress(bytes(64 << 20))
GZIP = PROTOBUF | {"Content-Encoding": "gzip"}
JSON = {"Content-Type": "application/json"}
CUT = gzip.compress(Random(1).randbytes(5_000))[:-100]


class Bad(NamedTuple):
    name: str
    path: str
    body: bytes
    headers: dict[str, str]
    status: int
    reason: Reason


BAD = [
    Bad("not protobuf", "/v1/logs", b"\xff\xff\xff", PROTOBUF, 400, Reason.NOT_PROTOBUF),
    Bad("not JSON", "/v1/logs", b"{", JSON, 400, Reason.NOT_JSON),
    Bad("JSON too deep", "/v1/logs", b"[" * 100_000, JSON, 400, Reason.NOT_JSON),
    Bad("JSON of another shape", "/v1/logs", b'{"resourceLogs": 5}', JSON, 400, Reason.NOT_JSON),
    Bad(
        "half a surrogate pair",
        "/v1/logs",
        b'{"resourceLogs":[{"schemaUrl":"\\ud800"}]}',
        JSON,
        400,
        Reason.NOT_JSON,
    ),
    Bad("an array", "/v1/logs", b"[]", JSON, 400, Reason.NOT_JSON),
    Bad("text", "/v1/logs", b"x", {"Content-Type": "text/plain"}, 415, Reason.CONTENT_TYPE),
    Bad("brotli", "/v1/logs", b"x", PROTOBUF | {"Content-Encoding": "br"}, 415, Reason.CONTENT_ENCODING),
    Bad("a gzip bomb", "/v1/logs", BOMB, GZIP, 413, Reason.TOO_LARGE),
    Bad("a truncated gzip", "/v1/logs", CUT, GZIP, 400, Reason.NOT_GZIP),
    Bad("not gzip", "/v1/logs", b"x", GZIP, 400, Reason.NOT_GZIP),
    Bad("50 MB, declared", "/v1/logs", bytes(50_000_000), PROTOBUF, 413, Reason.TOO_LARGE),
    Bad("events of text", "/v1/events", b"x", {"Content-Type": "text/plain"}, 415, Reason.CONTENT_TYPE),
    Bad("events that are not JSON", "/v1/events", b"{", JSON, 400, Reason.NOT_JSON),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_bad_input_has_one_answer_and_is_counted(start: Callable[..., Running], bad: Bad) -> None:
    own = start()
    try:
        assert own.http.post(bad.path, content=bad.body, headers=bad.headers).status_code == bad.status
    except httpx2.WriteError:
        assert bad.status == 413, "only a body too large may be cut off while it is sent"
    assert own.reasons() == [bad.reason]
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
    start: Callable[..., Running], event: dict[str, object], pointer: str
) -> None:
    own = start()
    body = json.dumps([report(1), report(2, **event)])
    answer = own.http.post("/v1/events", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["pointer"]) == (422, pointer)
    assert own.reasons() == [Reason.INVALID_EVENT]
    assert own.kinds() == {"quarantined": 1}


def test_more_than_is_taken_is_noticed_while_it_arrives(start: Callable[..., Running]) -> None:
    own = start()
    with socket.create_connection(("127.0.0.1", own.receiver.port), timeout=5) as sender:
        sender.sendall(b"POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n")
        sender.sendall(b"Transfer-Encoding: chunked\r\n\r\n200000\r\n" + bytes(2 << 20))
        assert sender.recv(100).startswith(b"HTTP/1.1 413 ")
    assert own.reasons() == [Reason.TOO_LARGE]


@pytest.mark.parametrize("headers", [PROTOBUF, GZIP], ids=["fifty megabytes", "a gzip bomb"])
def test_what_is_too_large_is_refused_in_flat_memory(
    start: Callable[..., Running], headers: dict[str, str]
) -> None:
    own, piece = start(), BOMB if headers is GZIP else bytes(1_000_000)
    tracemalloc.start()
    with contextlib.suppress(httpx2.WriteError):  # it may be cut off while it is sent
        own.http.post("/v1/logs", content=itertools.repeat(piece, 50), headers=headers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < FLAT_BYTES
    assert own.reasons() == [Reason.TOO_LARGE]


def test_a_body_that_does_not_come_is_not_waited_for(start: Callable[..., Running]) -> None:
    own = start()
    with socket.create_connection(("127.0.0.1", own.receiver.port), timeout=5) as sender:
        sender.sendall(b"POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nslow")
        assert sender.recv(100).startswith(b"HTTP/1.1 408 ")
    assert own.reasons() == [Reason.TOO_SLOW]


def test_an_unknown_path_is_not_found(start: Callable[..., Running]) -> None:
    assert start().http.post("/v1/traces", content=b"").status_code == 404


def test_a_port_in_use_says_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = CollectorSettings(receiver=ReceiverSettings(port=taken.getsockname()[1]))
        own = Receiver(settings, journal_of(Parcels(), None, 0), lambda: 0)
        with pytest.raises(SourceDownError, match="choose another one"):
            own.poll()


def test_a_public_address_is_refused() -> None:
    with pytest.raises(ValidationError, match="without authentication"):
        ReceiverSettings(host="0.0.0.0")  # noqa: S104 - it is what must be refused
