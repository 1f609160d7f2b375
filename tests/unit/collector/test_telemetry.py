"""What an OTLP receiver gets of the collector, and that one which is away holds up nothing."""

import logging
import os
import socket
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.publish.dead_letters import DeadLetterCounts
from collector.telemetry import SILENT, Count, Telemetry
from deadwatch.runtime.logs import Scope, add_context, log_context
from deadwatch.runtime.otel import OFF, providers_of
from tests.http_server import Serve

LONG_MS = 10_000


@dataclass
class Receiver:
    """Takes OTLP/HTTP in protobuf."""

    url: str = ""
    status: int = 200
    traces: ExportTraceServiceRequest = field(default_factory=ExportTraceServiceRequest)
    metrics: ExportMetricsServiceRequest = field(default_factory=ExportMetricsServiceRequest)

    def answer(self, _method: str, path: str, body: bytes) -> tuple[int, bytes]:
        message = self.traces if path == "/v1/traces" else self.metrics
        message.MergeFromString(body)
        return self.status, b""

    def spans(self) -> dict[str, Span]:
        scopes = (scope for resource in self.traces.resource_spans for scope in resource.scope_spans)
        return {span.name: span for scope in scopes for span in scope.spans}

    def metric(self, name: str) -> Metric:
        scopes = (scope for resource in self.metrics.resource_metrics for scope in resource.scope_metrics)
        found: Metric
        (found,) = (metric for scope in scopes for metric in scope.metrics if metric.name == name)
        return found

    def sums(self, name: str) -> dict[tuple[str, ...], int]:
        return {
            tuple(texts(point.attributes).values()): point.as_int
            for point in self.metric(name).sum.data_points
        }


def texts(attributes: Iterable[KeyValue]) -> dict[str, str]:
    return {each.key: each.value.string_value or str(each.value.int_value) for each in attributes}


@pytest.fixture
def receiver(serve: Serve) -> Receiver:
    taken = Receiver()
    taken.url = f"http://127.0.0.1:{serve(taken.answer)}"
    return taken


def test_transactions_and_polls_are_spans_and_counts(receiver: Receiver) -> None:
    telemetry = Telemetry(providers_of("collector", "one", receiver.url, {}))
    with telemetry.publishing("deadwatch.events", 7):
        pass
    with pytest.raises(ValueError, match="refused"), telemetry.publishing("failed.events", 1):
        raise ValueError("refused")
    telemetry.polled("log:a", "log", 0, 1_000, 1_001)
    telemetry.polled("log:a", "log", 3, 2_000, 2_005)
    telemetry.polled("connect:b", "connect", 0, 2_000, 2_005, error_type="SourceTimeoutError")
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
    telemetry = Telemetry(providers_of("collector", "one", receiver.url, {}))
    abandoned = {Scope.TASK: Count(1, 3), Scope.CONNECTOR: Count(0, 1)}
    telemetry.observe(lambda: DeadLetterCounts(5, 4, 1, 2), abandoned.__getitem__)
    telemetry.close(LONG_MS)
    assert receiver.sums("deadwatch.collector.dead_letters") == {("written",): 5, ("lost",): 2}
    assert receiver.sums("deadwatch.collector.dead_letter.requests") == {("written",): 3, ("failed",): 1}
    assert receiver.sums("deadwatch.collector.abandoned") == {("task",): 1, ("connector",): 0}
    assert receiver.sums("deadwatch.collector.abandonments") == {("task",): 3, ("connector",): 1}


def test_the_standard_variable_turns_it_on_and_lines_inside_a_transaction_carry_its_ids(
    receiver: Receiver, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.handler.addFilter(add_context)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    telemetry = Telemetry(providers_of("collector", "one", "", os.environ))
    log = logging.getLogger("collector.test")
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


def test_an_endpoint_that_takes_nothing_is_one_line(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "opentelemetry")
    caplog.handler.setLevel(logging.WARNING)
    receiver.status = 404
    telemetry = Telemetry(providers_of("collector", "one", receiver.url, {}))
    with telemetry.publishing("e", 1):
        pass
    telemetry.close(LONG_MS)
    assert [line for line in caplog.messages if "OpenTelemetry" in line] == [
        "OpenTelemetry cannot be sent to its endpoint and is dropped until that answers;"
        " check otel_endpoint or OTEL_EXPORTER_OTLP_ENDPOINT"
    ]


def test_a_silent_endpoint_does_not_hold_up_the_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        telemetry = Telemetry(providers_of("collector", "one", url, {}))
        with telemetry.publishing("e", 1):
            pass
        telemetry.close(200)
        assert "telemetry" in [thread.name for thread in threading.enumerate()], "it is not waited for"


def test_without_an_endpoint_nothing_happens(caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(add_context)
    assert providers_of("collector", "one", "", {}) is OFF
    SILENT.polled("log:a", "log", 1, 0, 1)
    with SILENT.publishing("e", 1):
        logging.getLogger("collector.test").warning("inside")
    SILENT.close(0)
    assert "trace_id" not in vars(caplog.records[0])["context"]
