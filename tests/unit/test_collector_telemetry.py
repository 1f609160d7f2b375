"""What an OTLP receiver gets of the collector, and that one which is away holds up nothing."""

import logging
import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.abandonment import Count
from collector.dead_letters import LetterCounts
from collector.log_context import Scope, add_context, log_context
from collector.telemetry import SILENT, Polled, telemetry_of
from collector.telemetry_otlp import OtlpTelemetry

LONG_MS = 10_000


@dataclass
class Receiver:
    """Takes OTLP/HTTP in protobuf."""

    url: str = ""
    traces: ExportTraceServiceRequest = field(default_factory=ExportTraceServiceRequest)
    metrics: ExportMetricsServiceRequest = field(default_factory=ExportMetricsServiceRequest)

    def spans(self) -> dict[str, Span]:
        return {
            span.name: span
            for resource in self.traces.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }

    def metric(self, name: str) -> Metric:
        found: Metric
        (found,) = [
            metric
            for resource in self.metrics.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
        ]
        return found

    def sums(self, name: str) -> dict[tuple[str, ...], int]:
        return {
            tuple(texts(point.attributes).values()): point.as_int
            for point in self.metric(name).sum.data_points
        }


def texts(attributes: Iterable[KeyValue]) -> dict[str, str]:
    return {one.key: one.value.string_value or str(one.value.int_value) for one in attributes}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    taken = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            message = taken.traces if self.path == "/v1/traces" else taken.metrics
            message.MergeFromString(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        taken.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield taken
        server.shutdown()
        thread.join()


def test_transactions_and_polls_are_spans_and_counts(receiver: Receiver) -> None:
    telemetry = OtlpTelemetry(receiver.url, "one")
    with telemetry.publishing("deadwatch.events", 7):
        pass
    with pytest.raises(ValueError, match="refused"), telemetry.publishing("failed.events", 1):
        raise ValueError("refused")
    telemetry.polled(Polled("log:a", "log", 0, 1_000, 1_001))
    telemetry.polled(Polled("log:a", "log", 3, 2_000, 2_005))
    telemetry.polled(Polled("connect:b", "connect", 0, 2_000, 2_005, "SourceTimeoutError"))
    telemetry.close(LONG_MS)
    spans = receiver.spans()
    assert set(spans) == {"send deadwatch.events", "send failed.events", "poll log", "poll connect"}
    assert texts(spans["send deadwatch.events"].attributes) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.name": "deadwatch.events",
        "messaging.batch.message_count": "7",
    }
    assert texts(spans["send failed.events"].attributes)["error.type"] == "ValueError"
    assert spans["poll log"].end_time_unix_nano - spans["poll log"].start_time_unix_nano == 5_000_000
    assert texts(spans["poll log"].attributes)["deadwatch.events"] == "3"
    assert receiver.sums("messaging.client.sent.messages") == {("kafka", "send", "deadwatch.events"): 7}
    assert receiver.sums("deadwatch.collector.polls") == {("log",): 2, ("connect", "SourceTimeoutError"): 1}
    durations = receiver.metric("messaging.client.operation.duration")
    assert (durations.unit, sum(point.count for point in durations.histogram.data_points)) == ("s", 2)
    (resource,) = receiver.metrics.resource_metrics
    assert texts(resource.resource.attributes)["service.instance.id"] == "one"


def test_dead_letters_and_abandoned_sources_are_asked_for(receiver: Receiver) -> None:
    telemetry = OtlpTelemetry(receiver.url, "one")
    telemetry.observe(lambda: LetterCounts(5, 4, 1, 2), lambda: Count(1, 3), lambda: Count(0, 1))
    telemetry.close(LONG_MS)
    assert receiver.sums("deadwatch.collector.dead_letters") == {("written",): 5, ("lost",): 2}
    assert receiver.sums("deadwatch.collector.dead_letter.requests") == {("written",): 3, ("failed",): 1}
    assert receiver.sums("deadwatch.collector.abandoned") == {("task",): 1, ("connector",): 0}
    assert receiver.sums("deadwatch.collector.abandonments") == {("task",): 3, ("connector",): 1}


def test_lines_inside_a_transaction_carry_its_ids(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.addFilter(add_context)
    telemetry, log = OtlpTelemetry(receiver.url, "one"), logging.getLogger("collector.test")
    with log_context("log:a", Scope.TASK, 1):
        with telemetry.publishing("e", 1):
            log.warning("inside")
        log.warning("outside")
    telemetry.close(LONG_MS)
    span = receiver.spans()["send e"]
    assert [vars(record)["context"] for record in caplog.records] == [
        f"[log:a|task-0|1] [trace_id={span.trace_id.hex()} span_id={span.span_id.hex()}] ",
        "[log:a|task-0|1] ",
    ]


def test_an_endpoint_that_is_away_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "opentelemetry")
    caplog.handler.setLevel(logging.WARNING)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    telemetry = OtlpTelemetry(url, "one")
    with telemetry.publishing("e", 1):
        pass
    telemetry.close(LONG_MS * 3)
    assert [line for line in caplog.messages if "OpenTelemetry" in line] == [
        "OpenTelemetry cannot be sent to its endpoint and is dropped until that answers;"
        " check otel_endpoint or OTEL_EXPORTER_OTLP_ENDPOINT"
    ]


def test_a_silent_endpoint_does_not_hold_up_the_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        telemetry = OtlpTelemetry(f"http://127.0.0.1:{silent.getsockname()[1]}", "one")
        with telemetry.publishing("e", 1):
            pass
        began_s = time.monotonic()
        telemetry.close(200)
        assert time.monotonic() - began_s < 2


def test_the_standard_variable_turns_it_on(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    telemetry = telemetry_of("", "one", os.environ)
    telemetry.polled(Polled("log:a", "log", 1, 0, 1))
    telemetry.close(LONG_MS)
    assert set(receiver.spans()) == {"poll log"}


def test_without_an_endpoint_nothing_happens() -> None:
    assert telemetry_of("", "one", {}) is SILENT
    SILENT.polled(Polled("log:a", "log", 1, 0, 1))
    with pytest.raises(ValueError, match="through"), SILENT.publishing("e", 1):
        raise ValueError("through")
    SILENT.close(0)
