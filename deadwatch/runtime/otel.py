"""OpenTelemetry's providers where it is switched on, and a span's ids for log lines.

Only where it is switched on its SDK is loaded, which costs memory and time.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from opentelemetry.metrics import MeterProvider, NoOpMeterProvider
from opentelemetry.trace import NoOpTracerProvider, Span, TracerProvider, format_span_id, format_trace_id

OTEL_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""The standard variable that turns OpenTelemetry on; the others refine where and how it is sent."""


@dataclass(frozen=True, slots=True)
class Providers:
    """Providers of meters and tracers of a process; ``shut_down`` sends what they still hold."""

    meters: MeterProvider
    tracers: TracerProvider
    shut_down: Callable[[], None] = lambda: None

    def close(self, timeout_ms: float) -> None:
        """Send what is left, for no longer than ``timeout_ms``; what is not sent by then is lost."""
        closing = threading.Thread(target=self.shut_down, name="telemetry", daemon=True)
        closing.start()
        closing.join(max(timeout_ms, 0) / 1_000)


OFF: Final = Providers(NoOpMeterProvider(), NoOpTracerProvider())
"""Sends nothing, at no cost."""


def providers_of(service: str, instance: str, endpoint: str, environ: Mapping[str, str]) -> Providers:
    """Providers that send by OTLP where ``endpoint`` or the environment names an endpoint; else ``OFF``."""
    if not endpoint and not environ.get(OTEL_ENDPOINT):
        return OFF
    from deadwatch.runtime.otlp_exporters import providers  # noqa: PLC0415 -- only who wants it pays for it

    return Providers(*providers(service, instance, endpoint))


def trace_ids(span: Span) -> dict[str, str]:
    """The ids of a span as log lines carry them; none where it is not traced."""
    context = span.get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": format_trace_id(context.trace_id), "span_id": format_span_id(context.span_id)}
