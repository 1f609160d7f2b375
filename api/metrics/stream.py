"""What the query says of its own work, as samples' values: a metric, its labels' values and a value each."""

from collections.abc import Iterator, Mapping
from typing import Final

from api.metrics import catalog
from api.metrics.catalog import Metric
from streaming.store.stream_figures import BEHIND, PHASE, RATE

MS_PER_S: Final = 1_000

METRICS: Final = (catalog.STREAM_BEHIND, catalog.BATCH_PHASE_DURATION, catalog.STREAM_RATE)


def figures(told: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[Metric, tuple[str, ...], float]]:
    """Nothing before the first batch."""
    for topic, records in told.get(BEHIND, {}).items():
        yield catalog.STREAM_BEHIND, (topic,), records
    for phase, took_ms in told.get(PHASE, {}).items():
        yield catalog.BATCH_PHASE_DURATION, (phase,), took_ms / MS_PER_S
    for rate in told.get(RATE, {}).values():
        yield catalog.STREAM_RATE, (), rate
