"""Metrics and traces of the collector, with the names of OpenTelemetry's messaging conventions and our own.

| metric | what |
|---|---|
| ``messaging.client.sent.messages`` | published events |
| ``messaging.client.operation.duration`` | seconds of a transaction; ``error.type`` if it failed |
| ``deadwatch.collector.polls`` | polls of sources, by kind |
| ``deadwatch.collector.dead_letters`` | our own dead letters, by outcome |
| ``deadwatch.collector.dead_letter.requests`` | attempts to write them, by outcome |
| ``deadwatch.collector.abandoned`` | abandoned sources that still run, by scope |
| ``deadwatch.collector.abandonments`` | sources that were abandoned, by scope |

There is a span for every transaction, and one for every poll that brings events or fails.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.util.types import AttributeValue

from collector.publish.dead_letters import DeadLetterCounts
from deadwatch.runtime.logs import Scope, facts
from deadwatch.runtime.otel import OFF, Providers, trace_ids

SCOPE: Final = "deadwatch.collector"
ERROR_TYPE: Final = "error.type"
NANOS_PER_MS: Final = 1_000_000
SCOPES: Final = {"task": Scope.TASK, "connector": Scope.CONNECTOR}

Details = Mapping[str, AttributeValue]


class Count(NamedTuple):
    """How many tasks or connectors were abandoned, and how many of them still run."""

    current: int
    total: int


class Telemetry:
    """Used by every thread of the collector."""

    def __init__(self, providers: Providers = OFF) -> None:
        self.close = providers.close
        self._meter, self._tracer = providers.meters.get_meter(SCOPE), providers.tracers.get_tracer(SCOPE)
        self._sent = self._meter.create_counter("messaging.client.sent.messages", "{message}")
        self._duration = self._meter.create_histogram("messaging.client.operation.duration", "s")
        self._polls = self._meter.create_counter(f"{SCOPE}.polls", "{poll}", "Polls of sources.")

    def polled(
        self, source: str, kind: str, events: int, began_ms: int, ended_ms: int, *, error_type: str = ""
    ) -> None:
        """Count a poll; add a span if it brought events or failed with an ``error_type``."""
        attributes = {"deadwatch.source.kind": kind} | ({ERROR_TYPE: error_type} if error_type else {})
        self._polls.add(1, attributes)
        if not events and not error_type:
            return
        details: Details = {**attributes, "deadwatch.source.name": source, "deadwatch.events": events}
        begin_ns = began_ms * NANOS_PER_MS
        span = self._tracer.start_span(f"poll {kind}", start_time=begin_ns, attributes=details)
        if error_type:
            span.set_status(StatusCode.ERROR)
        span.end(ended_ms * NANOS_PER_MS)

    @contextmanager
    def publishing(self, topic: str, events: int) -> Iterator[None]:
        """A span around a transaction that fails if it raises; log lines inside carry the span's ids."""
        attributes = {
            "messaging.system": "kafka",
            "messaging.operation.name": "send",
            "messaging.destination.name": topic,
        }
        details: Details = {"messaging.operation.type": "send", "messaging.batch.message_count": events}
        began_s = time.monotonic()
        with self._tracer.start_as_current_span(
            f"send {topic}",
            kind=SpanKind.PRODUCER,
            attributes={**attributes, **details},
            record_exception=False,
        ) as span:
            try:
                with facts(**trace_ids(span)):
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
        self, dead_letters: Callable[[], DeadLetterCounts], abandoned: Callable[[Scope], Count]
    ) -> None:
        """Call these functions whenever metrics are collected."""

        def records(_: CallbackOptions) -> Iterable[Observation]:
            counts = dead_letters()
            return _by("outcome", {"written": counts.records, "lost": counts.lost})

        def requests(_: CallbackOptions) -> Iterable[Observation]:
            counts = dead_letters()
            failed = counts.failed_produce_requests
            return _by("outcome", {"written": counts.produce_requests - failed, "failed": failed})

        def current(_: CallbackOptions) -> Iterable[Observation]:
            return _by("scope", {name: abandoned(scope).current for name, scope in SCOPES.items()})

        def total(_: CallbackOptions) -> Iterable[Observation]:
            return _by("scope", {name: abandoned(scope).total for name, scope in SCOPES.items()})

        self._meter.create_observable_counter(f"{SCOPE}.dead_letters", [records], "{record}")
        self._meter.create_observable_counter(f"{SCOPE}.dead_letter.requests", [requests], "{request}")
        self._meter.create_observable_up_down_counter(f"{SCOPE}.abandoned", [current], "{source}")
        self._meter.create_observable_counter(f"{SCOPE}.abandonments", [total], "{source}")


SILENT: Final = Telemetry()


def _by(attribute: str, values: Mapping[str, int]) -> list[Observation]:
    return [Observation(value, {f"deadwatch.{attribute}": name}) for name, value in values.items()]
