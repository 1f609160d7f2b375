"""OpenTelemetry's SDK over OTLP/HTTP; imported only where an endpoint is set, as it costs memory and time.

Its exporters log one line when their endpoint fails, and one when it answers again.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult

from deadwatch.runtime.version import VERSION

EXPORT_TIMEOUT_S: Final = 5

log = logging.getLogger(__name__)


class EndpointStatus:
    """Logs changes of an endpoint; shared by its exporters."""

    def __init__(self) -> None:
        self._fails = False
        self._lock = threading.Lock()

    def note(self, *, fails: bool) -> None:
        """Note a result; one line is logged when it differs from the last one."""
        with self._lock:
            if fails and not self._fails:
                log.warning(
                    "OpenTelemetry cannot be sent to its endpoint and is dropped until that answers;"
                    " check otel_endpoint or OTEL_EXPORTER_OTLP_ENDPOINT"
                )
            if self._fails and not fails:
                log.info("OpenTelemetry is sent again")
            self._fails = fails


class Reporting:
    """An exporter that reports to ``status`` whether its endpoint fails."""

    status: EndpointStatus

    def export(self, *data: Any, **options: Any) -> Any:  # noqa: ANN401 -- as each exporter has them
        """Send the data."""
        result = super().export(*data, **options)  # type: ignore[misc]  # an exporter's
        self.status.note(fails=result not in {SpanExportResult.SUCCESS, MetricExportResult.SUCCESS})
        return result


class ReportingSpanExporter(Reporting, OTLPSpanExporter):
    """Sends spans."""


class ReportingMetricExporter(Reporting, OTLPMetricExporter):
    """Sends metrics."""


def providers(
    service: str, instance: str, endpoint: str
) -> tuple[MeterProvider, TracerProvider, Callable[[], None]]:
    """Providers of meters and tracers of a process, and what sends the rest and shuts both down.

    With ``endpoint`` "" OpenTelemetry's own variables say where to send. An ``instance`` "" is not named.
    """
    names = {"service.name": f"deadwatch-{service}", "service.version": VERSION}
    resource = Resource.create(names | ({"service.instance.id": instance} if instance else {}))
    base = endpoint.rstrip("/")
    metrics = ReportingMetricExporter(f"{base}/v1/metrics" if base else None, timeout=EXPORT_TIMEOUT_S)
    spans = ReportingSpanExporter(f"{base}/v1/traces" if base else None, timeout=EXPORT_TIMEOUT_S)
    metrics.status = spans.status = EndpointStatus()
    meters = MeterProvider([PeriodicExportingMetricReader(metrics)], resource, shutdown_on_exit=False)
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(spans))

    def shut_down() -> None:
        tracers.shutdown()
        meters.shutdown()

    return meters, tracers, shut_down
