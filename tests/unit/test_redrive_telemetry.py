"""Spans and metrics of redrives: what a transaction tells, and what an OTLP receiver gets of it."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from streaming.letter import Headers, letter_of
from streaming.redrive.batch import Batch, Item, Outcome, Result
from streaming.redrive.moved import Subject
from streaming.redrive.steps import Finished
from streaming.redrive.telemetry import SILENT, Telemetry, Transaction, telemetry_of
from streaming.redrive.telemetry_otlp import MAX_LINKS, SCHEMA_URL, OtlpTelemetry
from tests.unit.test_collector_telemetry import Receiver, receiver, texts
from tests.unit.test_redrive_order_kept import COUNT, PARTITIONS, FakeTransactions, mover

__all__ = ["receiver"]

TRACE = "0af7651916cd43dd8448eb211c80319c"


class Told:
    """A telemetry that keeps what it tells in memory."""

    def __init__(self) -> None:
        self._exporter, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        traces = TracerProvider(shutdown_on_exit=False)
        traces.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.telemetry = OtlpTelemetry(traces, MeterProvider([self._reader], shutdown_on_exit=False))

    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def sums(self, name: str) -> dict[tuple[Any, ...], Any]:
        data: Any = self._reader.get_metrics_data()
        assert data is not None
        return {
            tuple((point.attributes or {}).values()): point.value
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        }


@pytest.fixture
def told() -> Iterator[Told]:
    made = Told()
    yield made
    made.telemetry.close(10_000)


def parent(number: int) -> Headers:
    return (("traceparent", f"00-{TRACE}-{number + 1:016x}-01".encode()), ("own", b"1"))


def batch(*headers: Headers) -> Batch:
    found = Batch()
    for offset, pairs in enumerate(headers):
        letter = letter_of("dlq.t", 0, offset, 1, b"k", b"v", pairs)
        found.add(Item(Subject(letter, letter)), Outcome("t", Result.SENT, "", 1))
    return found


def transaction(one: Batch, error_type: str = "") -> Transaction:
    return Transaction("o1", "dlq.t", 2, 7, one, 1_000, 1_250, error_type)


def test_a_transaction_processes_the_queue_and_sends_to_each_target(told: Told) -> None:
    done = batch(parent(0), parent(1))
    done.outcomes[Outcome("dlq.t.parked", Result.PARKED, "attempts_used_up", 5)] += 1
    done.outcomes[Outcome("gone", Result.SKIPPED, "target_missing")] += 4
    told.telemetry.ended(transaction(done))
    sent, parked, process = told.spans()
    assert [one.name for one in (process, sent, parked)] == ["process dlq.t", "send t", "send dlq.t.parked"]
    assert (process.kind, sent.kind) == (SpanKind.CONSUMER, SpanKind.PRODUCER)
    assert dict(process.attributes or {}) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "dlq.t",
        "messaging.consumer.group.name": "deadwatch-redrive-o1",
        "messaging.batch.message_count": 2,
        "deadwatch.redrive.id": "o1",
        "deadwatch.redrive.epoch": 2,
        "deadwatch.redrive.transaction": 7,
    }
    assert sent.parent is not None
    assert process.context is not None
    assert sent.parent.span_id == process.context.span_id
    assert (process.start_time, process.end_time) == (1_000_000_000, 1_250_000_000)
    assert process.instrumentation_scope is not None
    assert process.instrumentation_scope.schema_url == SCHEMA_URL


def test_the_traces_of_the_records_are_linked_each_once(told: Told) -> None:
    broken: Headers = (("traceparent", b"00-nonsense"),)
    told.telemetry.ended(transaction(batch(parent(0), (), parent(0), broken, parent(4))))
    links = told.spans()[-1].links
    assert [(f"{one.context.trace_id:032x}", one.context.span_id) for one in links] == [
        (TRACE, 1),
        (TRACE, 5),
    ]


def test_more_traces_than_a_span_may_have_are_left_out(told: Told) -> None:
    told.telemetry.ended(transaction(batch(*map(parent, range(MAX_LINKS + 3)))))
    assert len(told.spans()[-1].links) == MAX_LINKS


def test_one_that_was_undone_says_why_and_counts_no_record(told: Told) -> None:
    told.telemetry.ended(transaction(batch(()), "MSG_SIZE_TOO_LARGE"))
    assert {one.status.status_code for one in told.spans()} == {StatusCode.ERROR}
    assert all((one.attributes or {})["error.type"] == "MSG_SIZE_TOO_LARGE" for one in told.spans())
    assert told.sums("deadwatch.redrive.transactions") == {("undone", "MSG_SIZE_TOO_LARGE"): 1}
    assert told.sums("deadwatch.redrive.records") == {}


@pytest.mark.parametrize("rate", [None, 1e9], ids=["straight", "decided"])
def test_a_mover_tells_of_every_transaction_also_of_those_undone(told: Told, rate: float | None) -> None:
    transactions = FakeTransactions(Random(1), may_fail=3)
    limits = {"max_in_flight": 20, "records_per_second": rate}
    moving, now_ms = mover(Random(2), transactions, limits, told.telemetry), 100_000
    while not isinstance(moving.step(now_ms), Finished):
        now_ms += 500
    assert told.sums("deadwatch.redrive.records") == {("sent",): COUNT * PARTITIONS}
    outcomes = told.sums("deadwatch.redrive.transactions")
    assert sum(count for key, count in outcomes.items() if key[0] == "undone") == 3
    assert told.sums("messaging.client.sent.messages") == {
        ("kafka", "send", "send", "orders"): COUNT * PARTITIONS
    }


def test_a_receiver_gets_them_by_otlp(receiver: Receiver) -> None:
    telemetry = telemetry_of(receiver.url, "w1", {})
    telemetry.ended(transaction(batch(parent(3))))
    telemetry.close(10_000)
    spans = receiver.spans()
    assert spans.keys() == {"process dlq.t", "send t"}
    assert [one.trace_id.hex() for one in spans["process dlq.t"].links] == [TRACE]
    assert texts(spans["send t"].attributes)["messaging.destination.name"] == "t"
    assert receiver.sums("deadwatch.redrive.records") == {("sent",): 1}
    resource = texts(receiver.traces.resource_spans[0].resource.attributes)
    assert (resource["service.name"], resource["service.instance.id"]) == ("deadwatch-redrive", "w1")


def test_without_an_endpoint_nothing_is_told_and_no_sdk_is_made() -> None:
    assert telemetry_of("", "w1", {}) is SILENT
    assert type(SILENT) is Telemetry
    SILENT.ended(transaction(batch()))
    SILENT.close(0)
