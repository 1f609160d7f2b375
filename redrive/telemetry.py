"""Spans and metrics of redrives by OpenTelemetry, named as docs/redrive-telemetry.md says.

A transaction is one span that processes the dead letter topic, with a link to the trace of each record that
has one (``traceparent``, the first ``MAX_LINKS``), and a span below it for each topic that is written to.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.trace import Span, SpanContext, SpanKind, StatusCode, get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from deadwatch.runtime.clock import NANOS_PER_MS
from deadwatch.runtime.otel import OFF, Providers
from redrive.move.batch import Batch, EventFields

SCHEMA_URL: Final = Schemas.V1_43_0.value
"""The version of the semantic conventions that the names are of."""
SCOPE: Final = "deadwatch.redrive"
BATCH_SIZE: Final = "messaging.batch.message_count"
"""The messaging conventions are spelt out here: the package offers them as a private module only."""
TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
MAX_LINKS: Final = 128
"""As many as the SDK keeps of a span."""

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
    """Reports every transaction to these providers."""

    def __init__(self, providers: Providers = OFF) -> None:
        self.close = providers.close
        self._tracer = providers.tracers.get_tracer(SCOPE, schema_url=SCHEMA_URL)
        meter = providers.meters.get_meter(SCOPE, schema_url=SCHEMA_URL)
        self._sent = meter.create_counter("messaging.client.sent.messages", "{message}")
        self._consumed = meter.create_counter("messaging.client.consumed.messages", "{message}")
        self._duration = meter.create_histogram("messaging.process.duration", "s")
        self._records = meter.create_counter(f"{SCOPE}.records", "{record}", "Dead letters by outcome.")
        self._transactions = meter.create_counter(f"{SCOPE}.transactions", "{transaction}")

    def ended(self, transaction: EndedTransaction) -> None:
        """Report the spans of a transaction, and what it adds to the metrics."""
        self._trace(transaction)
        self._count(transaction)

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


SILENT: Final = Telemetry()


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
