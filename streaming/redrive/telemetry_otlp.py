"""Spans and metrics of redrives: names of the messaging conventions, and our own (docs/redrive-telemetry.md).

A transaction is one span that processes the dead letter topic, with a link to the trace of each record that
has one (``traceparent``, the first ``MAX_LINKS``), and a span below it for each topic that is written to.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.semconv._incubating.attributes import messaging_attributes as messaging
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.trace import Link, SpanContext, SpanKind, StatusCode, get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from collector.telemetry_exporters import Change, SaidMetrics, SaidSpans
from collector.version import VERSION
from streaming.redrive.batch import Batch
from streaming.redrive.telemetry import Telemetry, Transaction

SCHEMA_URL: Final = Schemas.V1_43_0.value
"""The version of the conventions that the names are of."""
SCOPE: Final = "deadwatch.redrive"
TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
MAX_LINKS: Final = 128
"""As many as the SDK keeps of a span."""
EXPORT_TIMEOUT_S: Final = 5
NANOS_PER_MS: Final = 1_000_000

_propagator = TraceContextTextMapPropagator()


def otlp(endpoint: str, worker: str) -> tuple[TracerProvider, MeterProvider]:
    """Providers that send there; with ``endpoint`` "" where the environment says."""
    resource = Resource.create(
        {"service.name": "deadwatch-redrive", "service.instance.id": worker, "service.version": VERSION}
    )
    change = Change()
    reader = PeriodicExportingMetricReader(SaidMetrics(endpoint, EXPORT_TIMEOUT_S, change))
    traces = TracerProvider(resource=resource, shutdown_on_exit=False)
    traces.add_span_processor(BatchSpanProcessor(SaidSpans(endpoint, EXPORT_TIMEOUT_S, change)))
    return traces, MeterProvider([reader], resource, shutdown_on_exit=False)


class OtlpTelemetry(Telemetry):
    """Tells of every transaction."""

    def __init__(self, traces: TracerProvider, metrics: MeterProvider) -> None:
        self._traces, self._metrics = traces, metrics
        self._tracer = traces.get_tracer(SCOPE, schema_url=SCHEMA_URL)
        meter = metrics.get_meter(SCOPE, schema_url=SCHEMA_URL)
        self._sent = meter.create_counter("messaging.client.sent.messages", "{message}")
        self._consumed = meter.create_counter("messaging.client.consumed.messages", "{message}")
        self._duration = meter.create_histogram("messaging.process.duration", "s")
        self._records = meter.create_counter(f"{SCOPE}.records", "{record}", "Dead letters by outcome.")
        self._transactions = meter.create_counter(f"{SCOPE}.transactions", "{transaction}")

    def ended(self, transaction: Transaction) -> None:
        """Its spans, and what it adds to the metrics."""
        self._trace(transaction)
        self._count(transaction)

    def close(self, timeout_ms: float) -> None:
        """Send what is left; what does not come back in time is left to itself."""
        closing = threading.Thread(target=self._close, name="telemetry", daemon=True)
        closing.start()
        closing.join(max(timeout_ms, 0) / 1_000)

    def _trace(self, one: Transaction) -> None:
        failed = {ERROR_TYPE: one.error_type} if one.error_type else {}
        span = self._tracer.start_span(
            f"process {one.dlq_topic}",
            kind=SpanKind.CONSUMER,
            links=list(links(one.batch)),
            start_time=one.began_ms * NANOS_PER_MS,
            attributes={
                **_of_topic(one.dlq_topic, "process"),
                messaging.MESSAGING_CONSUMER_GROUP_NAME: f"deadwatch-redrive-{one.order}",
                messaging.MESSAGING_BATCH_MESSAGE_COUNT: one.batch.done,
                f"{SCOPE}.id": one.order,
                f"{SCOPE}.epoch": one.epoch,
                f"{SCOPE}.transaction": one.number,
                **failed,
            },
        )
        below = set_span_in_context(span)
        for topic, count in written(one.batch).items():
            sending = self._tracer.start_span(
                f"send {topic}",
                below,
                SpanKind.PRODUCER,
                {
                    **_of_topic(topic, "send"),
                    messaging.MESSAGING_BATCH_MESSAGE_COUNT: count,
                    f"{SCOPE}.id": one.order,
                    **failed,
                },
                start_time=one.began_ms * NANOS_PER_MS,
            )
            if one.error_type:
                sending.set_status(StatusCode.ERROR)
            sending.end(one.ended_ms * NANOS_PER_MS)
        if one.error_type:
            span.set_status(StatusCode.ERROR)
        span.end(one.ended_ms * NANOS_PER_MS)

    def _count(self, one: Transaction) -> None:
        failed = {ERROR_TYPE: one.error_type} if one.error_type else {}
        process = {**_of_topic(one.dlq_topic, "process"), **failed}
        self._duration.record((one.ended_ms - one.began_ms) / 1_000, process)
        self._transactions.add(1, {f"{SCOPE}.outcome": "undone" if one.error_type else "committed", **failed})
        if one.error_type:
            return
        self._consumed.add(one.batch.done, process)
        for topic, count in written(one.batch).items():
            self._sent.add(count, _of_topic(topic, "send"))
        for outcome, count in one.batch.outcomes.items():
            why = {f"{SCOPE}.reason": outcome.reason} if outcome.reason else {}
            self._records.add(count, {f"{SCOPE}.outcome": str(outcome.result), **why})

    def _close(self) -> None:
        self._traces.shutdown()
        self._metrics.shutdown()


def written(batch: Batch) -> Counter[str]:
    """How many records go to each topic."""
    counts: Counter[str] = Counter()
    for outcome, count in batch.outcomes.items():
        if outcome.result in {"sent", "parked"}:
            counts[outcome.target_topic] += count
    return counts


def links(batch: Batch) -> Iterator[Link]:
    """To the traces that the batch's records are of, each once."""
    straight = (message.headers() or [] for message in batch.straight)
    every = chain((item.subject.original.headers for item in batch.items), straight)
    return (Link(context) for context in islice(_contexts(every), MAX_LINKS))


def _contexts(every: Iterable[Sequence[tuple[str, bytes | None]]]) -> Iterator[SpanContext]:
    seen: set[str] = set()
    for headers in every:
        carrier = {
            name: (raw or b"").decode("ascii", "replace")
            for name, raw in headers
            if name in {TRACEPARENT, TRACESTATE}
        }
        parent = carrier.get(TRACEPARENT, "")
        if not parent or parent in seen:
            continue
        seen.add(parent)
        context = get_current_span(_propagator.extract(carrier)).get_span_context()
        if context.is_valid:
            yield context


def _of_topic(topic: str, operation: str) -> dict[str, str]:
    return {
        messaging.MESSAGING_SYSTEM: "kafka",
        messaging.MESSAGING_OPERATION_NAME: operation,
        messaging.MESSAGING_OPERATION_TYPE: operation,
        messaging.MESSAGING_DESTINATION_NAME: topic,
    }
