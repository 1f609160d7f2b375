"""A reporter that keeps what is reported, and fails if it is told to; and a library that reports to it."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]  # unchecked
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, Sum

from collector.clients import Expired, Observation, Reporter, TimedOut, Timeout


class Seen:
    def __init__(self, failure: Exception | None = None) -> None:
        self.all: list[Observation] = []
        self._failure = failure

    def report(self, seen: Observation) -> None:
        self.all.append(seen)
        if self._failure is not None:
            raise self._failure

    @property
    def expired(self) -> list[Expired]:
        return [seen for seen in self.all if isinstance(seen, Expired)]

    def timeouts(self, client_id: str) -> Counter[Timeout]:
        return Counter(
            seen.timeout for seen in self.all if isinstance(seen, TimedOut) and seen.client_id == client_id
        )


@contextmanager
def instrumented(
    instrumentor: BaseInstrumentor, reporter: Seen, *others: Reporter, **options: object
) -> Iterator[Seen]:
    instrumentor.instrument(reporters=[reporter, *others], **options)
    try:
        yield reporter
    finally:
        instrumentor.uninstrument()


def counted(reader: InMemoryMetricReader) -> dict[str, tuple[float, dict[str, object]]]:
    """Value and attributes of every counter; each has one series."""
    data = reader.get_metrics_data()
    assert data is not None
    return {
        metric.name: (point.value, dict(point.attributes or {}))
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if isinstance(metric.data, Sum)
        for point in metric.data.data_points
    }
