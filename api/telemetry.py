"""OpenTelemetry of the api: FastAPI's own spans and metrics, sent by OTLP/HTTP where an endpoint is set.

Request bodies, headers and validated values are never part of it. Health and scrapes are left out: they would
be most of it. An endpoint that is away is one line of the log at each change.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any, Final

from fastapi.telemetry import TelemetryConfig
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from collector.log_context import facts
from collector.telemetry import OTEL_ENDPOINT
from collector.telemetry_exporters import Change, SaidMetrics, SaidSpans
from collector.version import VERSION

EXPORT_TIMEOUT_S: Final = 5
LEFT_OUT: Final = frozenset({"/livez", "/readyz", "/metrics"})
OFF: Final[TelemetryConfig] = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


class Telemetry:
    """Providers of spans and metrics; with endpoint "" it sends where the environment says."""

    def __init__(self, endpoint: str) -> None:
        resource = Resource.create({"service.name": "deadwatch-api", "service.version": VERSION})
        change = Change()
        reader = PeriodicExportingMetricReader(SaidMetrics(endpoint, EXPORT_TIMEOUT_S, change))
        self._metrics = MeterProvider([reader], resource, shutdown_on_exit=False)
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._traces.add_span_processor(BatchSpanProcessor(SaidSpans(endpoint, EXPORT_TIMEOUT_S, change)))

    @property
    def config(self) -> TelemetryConfig:
        """What FastAPI is made with."""
        return {
            "tracer_provider": self._traces,
            "meter_provider": self._metrics,
            "logs": False,  # they would hold what was sent
            "operation_spans": False,
            "auto_configure": False,
            "exclude": _left_out,
        }

    def close(self) -> None:
        """Send what is left."""
        self._traces.shutdown()
        self._metrics.shutdown()


def telemetry_of(endpoint: str, environ: Mapping[str, str]) -> Telemetry | None:
    """OpenTelemetry where an endpoint is set."""
    return Telemetry(endpoint) if endpoint or environ.get(OTEL_ENDPOINT) else None


def trace_id() -> str:
    """Of the request that is being answered; "": it is not traced."""
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else ""


@contextmanager
def told_in_log_lines(request_id: str) -> Iterator[None]:
    """Log lines inside carry the request's id, and the ids of its span where it has one."""
    context = trace.get_current_span().get_span_context()
    ids = (
        {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
        if context.is_valid
        else {}
    )
    with facts(request_id=request_id, **ids):
        yield


def _left_out(scope: MutableMapping[str, Any]) -> bool:
    return scope.get("path") in LEFT_OUT
