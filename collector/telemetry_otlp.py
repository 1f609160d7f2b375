"""Metrics and traces of the collector over OTLP/HTTP: names of the messaging conventions, and our own.

| metric | what |
|---|---|
| ``messaging.client.sent.messages`` | events published |
| ``messaging.client.operation.duration`` | of a transaction, in seconds; ``error.type`` where it failed |
| ``deadwatch.collector.polls`` | polls of sources, by kind |
| ``deadwatch.collector.dead_letters`` | our own dead letters, by outcome |
| ``deadwatch.collector.dead_letter.requests`` | attempts to write them, by outcome |
| ``deadwatch.collector.abandoned`` | abandoned sources that still run, by scope |
| ``deadwatch.collector.abandonments`` | sources that were abandoned, by scope |

A span for every transaction, and one for every poll that brings events or fails. An endpoint that cannot be
reached is one line at each change, and what could not be sent to it is dropped.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.semconv._incubating.attributes import messaging_attributes as messaging
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.trace import SpanKind, StatusCode

from collector.abandonment import Count
from collector.dead_letters import LetterCounts
from collector.log_context import trace_context
from collector.telemetry import Polled, Telemetry
from collector.telemetry_exporters import Change, SaidMetrics, SaidSpans
from collector.version import VERSION

log = logging.getLogger(__name__)

SCOPE: Final = "deadwatch.collector"
EXPORT_TIMEOUT_S: Final = 5
NANOS_PER_MS: Final = 1_000_000

Observed = Iterable[Observation]


class OtlpTelemetry(Telemetry):
    """Used by every thread of the collector; with ``endpoint`` "" it sends where the environment says."""

    def __init__(self, endpoint: str, collector: str) -> None:
        resource = Resource.create(
            {
                "service.name": "deadwatch-collector",
                "service.instance.id": collector,
                "service.version": VERSION,
            }
        )
        change = Change()
        reader = PeriodicExportingMetricReader(SaidMetrics(endpoint, EXPORT_TIMEOUT_S, change))
        self._metrics = MeterProvider([reader], resource, shutdown_on_exit=False)
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._traces.add_span_processor(BatchSpanProcessor(SaidSpans(endpoint, EXPORT_TIMEOUT_S, change)))
        self._meter, self._tracer = self._metrics.get_meter(SCOPE), self._traces.get_tracer(SCOPE)
        self._sent = self._meter.create_counter("messaging.client.sent.messages", "{message}")
        self._duration = self._meter.create_histogram("messaging.client.operation.duration", "s")
        self._polls = self._meter.create_counter(f"{SCOPE}.polls", "{poll}", "Polls of sources.")

    def polled(self, poll: Polled) -> None:
        """Count it; a span where it brought something or failed."""
        attributes = {"deadwatch.source.kind": poll.kind}
        if poll.error_type:
            attributes[ERROR_TYPE] = poll.error_type
        self._polls.add(1, attributes)
        if not poll.events and not poll.error_type:
            return
        span = self._tracer.start_span(
            f"poll {poll.kind}",
            start_time=poll.began_ms * NANOS_PER_MS,
            attributes={**attributes, "deadwatch.source.name": poll.source, "deadwatch.events": poll.events},
        )
        if poll.error_type:
            span.set_status(StatusCode.ERROR)
        span.end(poll.ended_ms * NANOS_PER_MS)

    @contextmanager
    def publishing(self, topic: str, events: int) -> Iterator[None]:
        """A span around the transaction; log lines inside carry its ids."""
        attributes: dict[str, str] = {
            messaging.MESSAGING_SYSTEM: "kafka",
            messaging.MESSAGING_OPERATION_NAME: "send",
            messaging.MESSAGING_DESTINATION_NAME: topic,
        }
        began_s = time.monotonic()
        with self._tracer.start_as_current_span(
            f"send {topic}",
            kind=SpanKind.PRODUCER,
            attributes={
                **attributes,
                messaging.MESSAGING_OPERATION_TYPE: "send",
                messaging.MESSAGING_BATCH_MESSAGE_COUNT: events,
            },
            record_exception=False,
        ) as span:
            ids = span.get_span_context()
            try:
                with trace_context(f"{ids.trace_id:032x}", f"{ids.span_id:016x}"):
                    yield
            except BaseException as error:
                attributes[ERROR_TYPE] = type(error).__name__
                span.set_attribute(ERROR_TYPE, type(error).__name__)
                raise
            else:
                self._sent.add(events, attributes)
            finally:
                self._duration.record(time.monotonic() - began_s, attributes)

    def observe(
        self, letters: Callable[[], LetterCounts], tasks: Callable[[], Count], connectors: Callable[[], Count]
    ) -> None:
        """Ask these whenever metrics are told."""

        def dead_letters(_: CallbackOptions) -> Observed:
            counts = letters()
            return _by("outcome", {"written": counts.records, "lost": counts.lost})

        def requests(_: CallbackOptions) -> Observed:
            counts = letters()
            failed = counts.failed_produce_requests
            return _by("outcome", {"written": counts.produce_requests - failed, "failed": failed})

        def current(_: CallbackOptions) -> Observed:
            return _by("scope", {"task": tasks().current, "connector": connectors().current})

        def total(_: CallbackOptions) -> Observed:
            return _by("scope", {"task": tasks().total, "connector": connectors().total})

        self._meter.create_observable_counter(f"{SCOPE}.dead_letters", [dead_letters], "{record}")
        self._meter.create_observable_counter(f"{SCOPE}.dead_letter.requests", [requests], "{request}")
        self._meter.create_observable_up_down_counter(f"{SCOPE}.abandoned", [current], "{source}")
        self._meter.create_observable_counter(f"{SCOPE}.abandonments", [total], "{source}")

    def close(self, timeout_ms: float) -> None:
        """Send what is left; what does not come back in time is left to itself."""
        closing = threading.Thread(target=self._close, name="telemetry", daemon=True)
        closing.start()
        closing.join(max(timeout_ms, 0) / 1_000)

    def _close(self) -> None:
        self._traces.shutdown()
        self._metrics.shutdown()


def _by(attribute: str, values: dict[str, int]) -> Sequence[Observation]:
    return [Observation(value, {f"deadwatch.{attribute}": name}) for name, value in values.items()]
