"""Metrics and traces of streaming over OTLP/HTTP.

| metric | what |
|---|---|
| ``messaging.client.consumed.messages`` | records of batches that were merged |
| ``deadwatch.streaming.batch.duration`` | of a batch, in seconds, by ``deadwatch.phase``: read, merge |
| ``deadwatch.streaming.lag`` | age of the newest event of a batch when it was merged, in seconds |
| ``deadwatch.streaming.failures`` | times the query failed, by cause |
| ``deadwatch.streaming.phase.duration`` | of a recent batch by Spark's names, in seconds |
| ``deadwatch.streaming.behind`` | records that were not read yet, by topic |

A span for every batch with records, from where it was begun to its commit. An endpoint that cannot be reached
is one line at each change, and what could not be sent to it is dropped.
"""

import threading
from collections.abc import Iterable
from typing import Final

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.semconv._incubating.attributes import messaging_attributes as messaging

from collector.telemetry_exporters import Change, SaidMetrics, SaidSpans
from collector.version import VERSION
from streaming.store.batch import Batch
from streaming.store.stream_figures import BEHIND, PHASE, Figures
from streaming.telemetry import Telemetry

SCOPE: Final = "deadwatch.streaming"
EXPORT_TIMEOUT_S: Final = 5
MS_PER_S: Final = 1_000
NANOS_PER_MS: Final = 1_000_000

Observed = Iterable[Observation]


class OtlpTelemetry(Telemetry):
    """Used by every thread of streaming; with ``endpoint`` "" it sends where the environment says."""

    def __init__(self, endpoint: str, kafka_cluster: str) -> None:
        resource = Resource.create(
            {
                "service.name": "deadwatch-streaming",
                "service.instance.id": kafka_cluster,
                "service.version": VERSION,
            }
        )
        change = Change()
        reader = PeriodicExportingMetricReader(SaidMetrics(endpoint, EXPORT_TIMEOUT_S, change))
        self._metrics = MeterProvider([reader], resource, shutdown_on_exit=False)
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._traces.add_span_processor(BatchSpanProcessor(SaidSpans(endpoint, EXPORT_TIMEOUT_S, change)))
        meter, self._tracer = self._metrics.get_meter(SCOPE), self._traces.get_tracer(SCOPE)
        self._records = meter.create_counter("messaging.client.consumed.messages", "{message}")
        self._duration = meter.create_histogram(f"{SCOPE}.batch.duration", "s")
        self._lag = meter.create_gauge(f"{SCOPE}.lag", "s")
        self._failures = meter.create_counter(f"{SCOPE}.failures", "{failure}")
        self._figures: Figures = {}
        meter.create_observable_gauge(f"{SCOPE}.phase.duration", [self._phases], "s")
        meter.create_observable_gauge(f"{SCOPE}.behind", [self._behind], "{record}")

    def merged(self, batch: Batch, merge_ms: int) -> None:
        """Count it; a span where it had records."""
        kafka: dict[str, str] = {messaging.MESSAGING_SYSTEM: "kafka"}
        self._duration.record(batch.duration_ms / MS_PER_S, {"deadwatch.phase": "read"})
        self._duration.record(merge_ms / MS_PER_S, {"deadwatch.phase": "merge"})
        if not batch.records:
            return
        self._records.add(batch.records, kafka)
        self._lag.set(batch.lag_ms / MS_PER_S)
        span = self._tracer.start_span(
            "batch",
            start_time=(batch.committed_at_ms - batch.duration_ms) * NANOS_PER_MS,
            attributes={
                **kafka,
                messaging.MESSAGING_BATCH_MESSAGE_COUNT: batch.records,
                "deadwatch.batch": batch.batch_id,
                "deadwatch.query": batch.query_id,
                "deadwatch.merge_ms": merge_ms,
            },
        )
        span.end((batch.committed_at_ms + merge_ms) * NANOS_PER_MS)

    def failed(self, cause: str) -> None:
        """Count it."""
        self._failures.add(1, {"deadwatch.cause": cause})

    def figures(self, figures: Figures) -> None:
        """Keep them for whenever metrics are told."""
        self._figures = {**self._figures, **figures}

    def close(self, timeout_ms: float) -> None:
        """Send what is left; what does not come back in time is left to itself."""
        closing = threading.Thread(target=self._close, name="telemetry", daemon=True)
        closing.start()
        closing.join(max(timeout_ms, 0) / MS_PER_S)

    def _close(self) -> None:
        self._traces.shutdown()
        self._metrics.shutdown()

    def _phases(self, _: CallbackOptions) -> Observed:
        phases = self._figures.get(PHASE, {})
        return [
            Observation(took_ms / MS_PER_S, {"deadwatch.phase": phase}) for phase, took_ms in phases.items()
        ]

    def _behind(self, _: CallbackOptions) -> Observed:
        topics = self._figures.get(BEHIND, {})
        return [
            Observation(records, {messaging.MESSAGING_DESTINATION_NAME: topic})
            for topic, records in topics.items()
        ]
