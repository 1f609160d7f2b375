"""OTLP/HTTP exporters that say in one line that their endpoint is away, and that it is there again."""

import logging
import threading
from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

log = logging.getLogger(__name__)


class Change:
    """Says changes; shared by the exporters of one endpoint."""

    def __init__(self) -> None:
        self._fails = False
        self._lock = threading.Lock()

    def say(self, *, fails: bool) -> None:
        """One line when it begins to fail, and one when it is well again."""
        with self._lock:
            if fails and not self._fails:
                log.warning(
                    "OpenTelemetry cannot be sent to its endpoint and is dropped until that answers;"
                    " check otel_endpoint or OTEL_EXPORTER_OTLP_ENDPOINT"
                )
            if self._fails and not fails:
                log.info("OpenTelemetry is sent again")
            self._fails = fails


class SaidSpans(OTLPSpanExporter):
    """Sends spans to ``<endpoint>/v1/traces``; with endpoint "" to where the environment says."""

    def __init__(self, endpoint: str, timeout_s: float, change: Change) -> None:
        super().__init__(
            endpoint=f"{endpoint.rstrip('/')}/v1/traces" if endpoint else None, timeout=timeout_s
        )
        self._change = change

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send them."""
        result = super().export(spans)
        self._change.say(fails=result is not SpanExportResult.SUCCESS)
        return result


class SaidMetrics(OTLPMetricExporter):
    """Sends metrics to ``<endpoint>/v1/metrics``; with endpoint "" to where the environment says."""

    def __init__(self, endpoint: str, timeout_s: float, change: Change) -> None:
        super().__init__(
            endpoint=f"{endpoint.rstrip('/')}/v1/metrics" if endpoint else None, timeout=timeout_s
        )
        self._change = change

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: object
    ) -> MetricExportResult:
        """Send them."""
        result = super().export(metrics_data, timeout_millis, **kwargs)
        self._change.say(fails=result is not MetricExportResult.SUCCESS)
        return result
