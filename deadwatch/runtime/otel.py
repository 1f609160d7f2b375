"""Whether OpenTelemetry is switched on (only then is its SDK loaded, which costs memory and time), and a
span's ids for log lines.
"""

from collections.abc import Mapping
from typing import Final

from opentelemetry.trace import Span, format_span_id, format_trace_id

OTEL_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""The standard variable that turns OpenTelemetry on; the others refine where and how it is sent."""


def is_wanted(endpoint: str, environ: Mapping[str, str]) -> bool:
    """Whether an endpoint is set, by a setting or by the standard variable."""
    return bool(endpoint or environ.get(OTEL_ENDPOINT))


def trace_ids(span: Span) -> dict[str, str]:
    """The ids of a span as log lines carry them; none where it is not traced."""
    context = span.get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": format_trace_id(context.trace_id), "span_id": format_span_id(context.span_id)}
