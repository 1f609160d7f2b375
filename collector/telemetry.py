"""What the collector tells of itself by OpenTelemetry: nothing, at no cost, unless an endpoint is set."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from collector.abandonment import Count
from collector.dead_letters import LetterCounts

OTEL_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""The standard variable that turns OpenTelemetry on; the others refine where and how it is sent."""


@dataclass(frozen=True, slots=True)
class Polled:
    """One poll of a source; times in ms since the epoch, ``error_type`` is empty for one that went well."""

    source: str
    kind: str
    events: int
    began_ms: int
    ended_ms: int
    error_type: str = ""


class Telemetry:
    """Tells nothing."""

    def polled(self, poll: Polled) -> None:
        """A source was polled."""

    @contextmanager
    def publishing(self, topic: str, events: int) -> Iterator[None]:  # noqa: ARG002 - told by who tells
        """Around a transaction; what is raised inside has failed it."""
        yield

    def observe(
        self, letters: Callable[[], LetterCounts], tasks: Callable[[], Count], connectors: Callable[[], Count]
    ) -> None:
        """What is asked for whenever metrics are told."""

    def close(self, timeout_ms: float) -> None:
        """Tell what is left, for no longer than that."""


SILENT = Telemetry()


def telemetry_of(endpoint: str, collector: str, environ: Mapping[str, str]) -> Telemetry:
    """OpenTelemetry where an endpoint is set; its SDK costs memory and time, so it is only imported then."""
    if not endpoint and not environ.get(OTEL_ENDPOINT):
        return SILENT
    from collector.telemetry_otlp import OtlpTelemetry  # noqa: PLC0415 - as said above

    return OtlpTelemetry(endpoint, collector)
