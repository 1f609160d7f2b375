"""Spans and metrics of redrives: what is reported of a transaction, and what an OTLP receiver gets of it."""

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

from deadwatch.deadletter.record import Headers, parse_record
from deadwatch.orders.decision import Result
from deadwatch.runtime.otel import Providers, providers_of
from redrive.move.batch import Batch, EventFields, Outcome
from redrive.move.rewrite import PendingRecord
from redrive.telemetry import MAX_LINKS, SCHEMA_URL, EndedTransaction, Telemetry
from tests.unit.collector.test_telemetry import Receiver, receiver, texts
from tests.unit.redrive.move.fakes import COUNT, PARTITIONS, FakeProducer, finish, mover

__all__ = ["receiver"]

TRACE = "0af7651916cd43dd8448eb211c80319c"


class InMemory:
    """A telemetry that keeps its spans and metrics in memory."""

    def __init__(self) -> None:
        self._exporter, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        traces = TracerProvider(shutdown_on_exit=False)
        traces.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.telemetry = Telemetry(Providers(MeterProvider([self._reader], shutdown_on_exit=False), traces))

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
def memory() -> Iterator[InMemory]:
    made = InMemory()
    yield made
    made.telemetry.close(10_000)


def parent(number: int) -> Headers:
    return (("traceparent", f"00-{TRACE}-{number + 1:016x}-01".encode()), ("own", b"1"))


def batch(*headers: Headers) -> Batch:
    found = Batch()
    for offset, pairs in enumerate(headers):
        dead_letter = parse_record("dlq.t", 0, offset, 1, b"k", b"v", pairs)
        found.add(PendingRecord(dead_letter, dead_letter), Outcome("t", Result.SENT, "", 1))
    return found


def transaction(one: Batch, error_type: str = "") -> EndedTransaction:
    fields = EventFields("o1", "o1", 2, "dlq.t", "default", "deadwatch.events")
    return EndedTransaction(fields, 7, one, 1_000, 1_250, error_type)


def test_a_transaction_processes_the_queue_and_sends_to_each_target(memory: InMemory) -> None:
    done = batch(parent(0), parent(1))
    done.outcomes[Outcome("dlq.t.parked", Result.PARKED, "attempts_used_up", 5)] += 1
    done.outcomes[Outcome("gone", Result.SKIPPED, "target_missing")] += 4
    memory.telemetry.ended(transaction(done))
    sent, parked, process = memory.spans()
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


def test_the_traces_of_the_records_are_linked_each_once_as_many_as_a_span_may_have(memory: InMemory) -> None:
    broken: Headers = (("traceparent", b"00-nonsense"),)
    memory.telemetry.ended(transaction(batch(parent(0), (), parent(0), broken, parent(4))))
    memory.telemetry.ended(transaction(batch(*map(parent, range(MAX_LINKS + 3)))))
    links, most = (span.links for span in memory.spans() if span.name == "process dlq.t")
    assert [(f"{one.context.trace_id:032x}", one.context.span_id) for one in links] == [
        (TRACE, 1),
        (TRACE, 5),
    ]
    assert len(most) == MAX_LINKS


def test_one_that_was_undone_says_why_and_counts_no_record(memory: InMemory) -> None:
    memory.telemetry.ended(transaction(batch(()), "MSG_SIZE_TOO_LARGE"))
    assert {one.status.status_code for one in memory.spans()} == {StatusCode.ERROR}
    assert all((one.attributes or {})["error.type"] == "MSG_SIZE_TOO_LARGE" for one in memory.spans())
    assert memory.sums("deadwatch.redrive.transactions") == {("undone", "MSG_SIZE_TOO_LARGE"): 1}
    assert memory.sums("deadwatch.redrive.records") == {}


@pytest.mark.parametrize("rate", [None, 1e9], ids=["fast path", "decided"])
def test_a_mover_reports_every_transaction_also_those_undone(memory: InMemory, rate: float | None) -> None:
    producer = FakeProducer(Random(1), may_fail=3)
    limits = {"max_in_flight": 20, "records_per_second": rate}
    finish(mover(Random(2), producer, limits, memory.telemetry))
    assert memory.sums("deadwatch.redrive.records") == {("sent",): COUNT * PARTITIONS}
    outcomes = memory.sums("deadwatch.redrive.transactions")
    assert sum(count for key, count in outcomes.items() if key[0] == "undone") == 3
    assert memory.sums("messaging.client.sent.messages") == {
        ("kafka", "send", "send", "orders"): COUNT * PARTITIONS
    }


def test_a_receiver_gets_them_by_otlp(receiver: Receiver) -> None:
    telemetry = Telemetry(providers_of("redrive", "w1", receiver.url, {}))
    telemetry.ended(transaction(batch(parent(3))))
    telemetry.close(10_000)
    spans = receiver.spans()
    assert spans.keys() == {"process dlq.t", "send t"}
    assert [one.trace_id.hex() for one in spans["process dlq.t"].links] == [TRACE]
    assert texts(spans["send t"].attributes)["messaging.destination.name"] == "t"
    assert receiver.sums("deadwatch.redrive.records") == {("sent",): 1}
    resource = texts(receiver.traces.resource_spans[0].resource.attributes)
    assert (resource["service.name"], resource["service.instance.id"]) == ("deadwatch-redrive", "w1")
