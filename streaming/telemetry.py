"""Metrics and traces of streaming by OpenTelemetry.

| metric | what |
|---|---|
| ``messaging.client.consumed.messages`` | records of batches that were merged |
| ``deadwatch.streaming.batch.duration`` | by ``deadwatch.phase``, in s: read, merge; no wait for another |
| ``deadwatch.streaming.lag`` | age of a batch's newest record at its commit, in s, by ``deadwatch.stream`` |
| ``deadwatch.streaming.failures`` | times the query failed, by cause |
| ``deadwatch.streaming.phase.duration`` | of a recent batch by Spark's names, in seconds |
| ``deadwatch.streaming.behind`` | records that were not read yet, by topic |

Every batch with records is a span as long as these two, which ends at its commit.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from opentelemetry.metrics import CallbackOptions, Observation

from deadwatch.runtime.clock import MS_PER_S, NANOS_PER_MS
from deadwatch.runtime.otel import OFF, Providers
from deadwatch.store.batch import Batch
from deadwatch.store.write.progress import BEHIND, PHASE, Figures

SCOPE: Final = "deadwatch.streaming"
SYSTEM: Final[Mapping[str, str]] = {"messaging.system": "kafka"}


class Telemetry:
    """Used by every thread of streaming."""

    def __init__(self, providers: Providers = OFF) -> None:
        self.close = providers.close
        meter, self._tracer = providers.meters.get_meter(SCOPE), providers.tracers.get_tracer(SCOPE)
        self._records = meter.create_counter("messaging.client.consumed.messages", "{message}")
        self._duration = meter.create_histogram(f"{SCOPE}.batch.duration", "s")
        self._lag = meter.create_gauge(f"{SCOPE}.lag", "s")
        self._failures = meter.create_counter(f"{SCOPE}.failures", "{failure}")
        self._figures: Figures = {}
        meter.create_observable_gauge(f"{SCOPE}.phase.duration", [self._phases], "s")
        meter.create_observable_gauge(f"{SCOPE}.behind", [self._behind], "{record}")

    def merged(self, batch: Batch, merge_ms: int) -> None:
        """A batch was merged, and how long the store took."""
        self._duration.record(batch.duration_ms / MS_PER_S, {"deadwatch.phase": "read"})
        self._duration.record(merge_ms / MS_PER_S, {"deadwatch.phase": "merge"})
        if not batch.records:
            return
        self._records.add(batch.records, SYSTEM)
        stream = {"deadwatch.stream": batch.stream}
        self._lag.set(batch.lag_ms / MS_PER_S, stream)
        attributes: dict[str, str | int] = {
            **SYSTEM,
            **stream,
            "messaging.batch.message_count": batch.records,
            "deadwatch.batch": batch.batch_id,
            "deadwatch.query": batch.query_id,
            "deadwatch.merge_ms": merge_ms,
        }
        began = (batch.committed_at_ms - batch.duration_ms) * NANOS_PER_MS
        span = self._tracer.start_span("batch", start_time=began, attributes=attributes)
        span.end((batch.committed_at_ms + merge_ms) * NANOS_PER_MS)

    def failed(self, cause: str) -> None:
        """The query failed; ``cause`` is kafka or query."""
        self._failures.add(1, {"deadwatch.cause": cause})

    def figures(self, figures: Figures) -> None:
        """Keep what the query reports of its work, for the next export."""
        self._figures = {**self._figures, **figures}

    def _phases(self, _: CallbackOptions) -> Iterable[Observation]:
        phases = self._figures.get(PHASE, {}).items()
        return [Observation(took_ms / MS_PER_S, {"deadwatch.phase": phase}) for phase, took_ms in phases]

    def _behind(self, _: CallbackOptions) -> Iterable[Observation]:
        topics = self._figures.get(BEHIND, {}).items()
        return [Observation(records, {"messaging.destination.name": topic}) for topic, records in topics]


SILENT: Final = Telemetry()
