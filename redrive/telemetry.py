"""Spans and metrics of redrives by OpenTelemetry, named as docs/redrive-telemetry.md says.

A transaction is one span that processes the dead letter topic, with a link to the trace of each record that
has one (``traceparent``, the first ``MAX_LINKS``), and a span below it for each topic that is written to.
Without an endpoint nothing is sent, and OpenTelemetry's SDK, which costs memory and time, is not imported.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from opentelemetry.metrics import MeterProvider, NoOpMeterProvider
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.trace import (
    NoOpTracerProvider,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TracerProvider,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from deadwatch.runtime import otel
from redrive.move.batch import Batch, EventFields

SCHEMA_URL: Final = Schemas.V1_43_0.value
"""The version of the semantic conventions that the names are of."""
SCOPE: Final = "deadwatch.redrive"
BATCH_SIZE: Final = "messaging.batch.message_count"
"""The messaging conventions are spelt out here: the package offers them as a private module only."""
TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
MAX_LINKS: Final = 128
"""As many as the SDK keeps of a span."""
NANOS_PER_MS: Final = 1_000_000

Attributes = dict[str, str | int]
_propagator = TraceContextTextMapPropagator()


@dataclass(frozen=True, slots=True)
class EndedTransaction:
    """One that was committed, or aborted: then ``error_type`` is not empty. Times in ms since the epoch."""

    fields: EventFields
    number: int
    batch: Batch
    began_ms: int
    ended_ms: int
    error_type: str = ""


class Telemetry:
    """Reports every transaction to these providers; ``shutdown`` sends what they still hold."""

    def __init__(
        self, traces: TracerProvider, metrics: MeterProvider, shutdown: Callable[[], None] = lambda: None
    ) -> None:
        self._shutdown = shutdown
        self._tracer = traces.get_tracer(SCOPE, schema_url=SCHEMA_URL)
        meter = metrics.get_meter(SCOPE, schema_url=SCHEMA_URL)
        self._sent = meter.create_counter("messaging.client.sent.messages", "{message}")
        self._consumed = meter.create_counter("messaging.client.consumed.messages", "{message}")
        self._duration = meter.create_histogram("messaging.process.duration", "s")
        self._records = meter.create_counter(f"{SCOPE}.records", "{record}", "Dead letters by outcome.")
        self._transactions = meter.create_counter(f"{SCOPE}.transactions", "{transaction}")

    def ended(self, transaction: EndedTransaction) -> None:
        """Report the spans of a transaction, and what it adds to the metrics."""
        self._trace(transaction)
        self._count(transaction)

    def close(self, timeout_ms: float) -> None:
        """Send what is left, for no longer than ``timeout_ms``; what is not sent by then is lost."""
        closing = threading.Thread(target=self._shutdown, name="telemetry", daemon=True)
        closing.start()
        closing.join(max(timeout_ms, 0) / 1_000)

    def _trace(self, one: EndedTransaction) -> None:
        failed: Attributes = {ERROR_TYPE: one.error_type} if one.error_type else {}
        order, topic, began = one.fields.order, one.fields.dlq_topic, one.began_ms * NANOS_PER_MS
        attributes: Attributes = {
            **_of_topic(topic, "process"),
            "messaging.consumer.group.name": f"deadwatch-redrive-{order}",
            BATCH_SIZE: one.batch.done,
            f"{SCOPE}.id": order,
            f"{SCOPE}.epoch": one.fields.epoch,
            f"{SCOPE}.transaction": one.number,
            **failed,
        }
        span = self._tracer.start_span(
            f"process {topic}", None, SpanKind.CONSUMER, attributes, start_time=began
        )
        if not span.is_recording():  # headers are only looked through for links that somebody gets
            return
        for context in islice(_linked_traces(one.batch), MAX_LINKS):
            span.add_link(context)
        below = set_span_in_context(span)
        for topic, count in _written(one.batch).items():
            sent = {**_of_topic(topic, "send"), BATCH_SIZE: count, f"{SCOPE}.id": order, **failed}
            sending = self._tracer.start_span(
                f"send {topic}", below, SpanKind.PRODUCER, sent, start_time=began
            )
            _end(sending, one)
        _end(span, one)

    def _count(self, one: EndedTransaction) -> None:
        failed = {ERROR_TYPE: one.error_type} if one.error_type else {}
        process = {**_of_topic(one.fields.dlq_topic, "process"), **failed}
        self._duration.record((one.ended_ms - one.began_ms) / 1_000, process)
        self._transactions.add(1, {f"{SCOPE}.outcome": "undone" if one.error_type else "committed", **failed})
        if one.error_type:
            return
        self._consumed.add(one.batch.done, process)
        for topic, count in _written(one.batch).items():
            self._sent.add(count, _of_topic(topic, "send"))
        for outcome, count in one.batch.outcomes.items():
            why = {f"{SCOPE}.reason": outcome.reason} if outcome.reason else {}
            self._records.add(count, {f"{SCOPE}.outcome": str(outcome.result), **why})


DISABLED: Final = Telemetry(NoOpTracerProvider(), NoOpMeterProvider())


def telemetry_of(endpoint: str, worker: str, environ: Mapping[str, str]) -> Telemetry:
    """Telemetry by OTLP where ``endpoint`` or the environment names an endpoint; else ``DISABLED``."""
    if not otel.is_wanted(endpoint, environ):
        return DISABLED
    from deadwatch.runtime.otlp_exporters import providers  # noqa: PLC0415 -- only who wants it pays for it

    metrics, traces, shut_down = providers("redrive", worker, endpoint)
    return Telemetry(traces, metrics, shut_down)


def _written(batch: Batch) -> Counter[str]:
    """How many records go to each topic."""
    counts: Counter[str] = Counter()
    for outcome, count in batch.outcomes.items():
        if outcome.result in {"sent", "parked"}:
            counts[outcome.target_topic] += count
    return counts


def _linked_traces(batch: Batch) -> Iterator[SpanContext]:
    """The traces that the batch's records are of, each once."""
    seen: set[str] = set()
    fast = (message.headers() or [] for message in batch.fast)
    for headers in chain((pending.original.headers for pending in batch.decided), fast):
        found = ((name, raw or b"") for name, raw in headers if name in {TRACEPARENT, TRACESTATE})
        carrier = {name: raw.decode("ascii", "replace") for name, raw in found}
        parent = carrier.get(TRACEPARENT, "")
        if not parent or parent in seen:
            continue
        seen.add(parent)
        context = get_current_span(_propagator.extract(carrier)).get_span_context()
        if context.is_valid:
            yield context


def _end(span: Span, one: EndedTransaction) -> None:
    if one.error_type:
        span.set_status(StatusCode.ERROR)
    span.end(one.ended_ms * NANOS_PER_MS)


def _of_topic(topic: str, operation: str) -> Attributes:
    return {
        "messaging.system": "kafka",
        "messaging.operation.name": operation,
        "messaging.operation.type": operation,
        "messaging.destination.name": topic,
    }
