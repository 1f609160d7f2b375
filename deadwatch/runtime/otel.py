"""Whether OpenTelemetry is switched on; its SDK is loaded only then, since it costs memory and time."""

from collections.abc import Mapping
from typing import Final

OTEL_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""The standard variable that turns OpenTelemetry on; the others refine where and how it is sent."""


def is_wanted(endpoint: str, environ: Mapping[str, str]) -> bool:
    """Whether an endpoint is set, by a setting or by the standard variable."""
    return bool(endpoint or environ.get(OTEL_ENDPOINT))
