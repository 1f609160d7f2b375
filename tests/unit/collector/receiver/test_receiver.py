"""The receiver over loopback: real logs in, events out once."""

import gzip
import json
import weakref
from collections.abc import Callable

import pytest
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor

from collector.publish.publisher import ChunkQueue
from collector.receiver.journal import Journal
from collector.receiver.receiver import Receiver
from collector.receiver.state import EventsSubmission
from collector.settings import CollectorSettings
from tests.paths import DATA
from tests.unit.collector.receiver.conftest import NOW_MS, PROTOBUF, Running, report
from tests.waiting import until

LOGS = DATA / "logs"
TRUTH = json.loads((LOGS / "truth.json").read_text())


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


def truths(name: str) -> dict[str, int]:
    return {kind: len(events) for kind, events in TRUTH[name].items()}


@pytest.mark.parametrize("name", TRUTH)
@pytest.mark.parametrize("size", [1, 10_000], ids=lambda size: f"{size} lines a request")
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


def test_a_structured_record_with_an_exception_is_one_entry(own: Running) -> None:
    request = ExportLogsServiceRequest()
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


def test_the_receivers_of_several_collectors_are_told_apart(own: Running) -> None:
    assert own.receiver.name == "receiver@c"
    settings = CollectorSettings()
    assert Receiver(settings, Journal(ChunkQueue(), None, 0), lambda: 0).name == "receiver"


def test_json_is_answered_in_json_and_tells_what_was_rejected(own: Running) -> None:
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
    own, body = start(commit_timeout_ms=500), request_of(abandoned(1)).SerializeToString()
    own.kafka_is_up.clear()
    late = own.http.post("/v1/logs", content=body, headers=PROTOBUF)
    assert (late.status_code, late.headers["Retry-After"]) == (503, "1")
    own.kafka_is_up.set()
    until(lambda: own.http.post("/v1/logs", content=body, headers=PROTOBUF).status_code == 200)
    assert own.kinds() == {"task_abandoned": 1}


class Large(EventsSubmission):
    """Something that takes memory."""


def test_what_nobody_waits_for_any_more_is_let_go_though_kafka_is_away() -> None:
    journal, large = Journal(ChunkQueue(), None, 0), Large(())
    left, done = weakref.ref(large), journal.submit(large)
    del large
    assert done is not None
    done.cancel()
    assert left() is None
