"""What a redrive worker tells of its transactions by OpenTelemetry: nothing, at no cost, unless asked to."""

from collections.abc import Mapping
from dataclasses import dataclass

from collector.telemetry import OTEL_ENDPOINT
from streaming.redrive.batch import Batch


@dataclass(frozen=True, slots=True)
class Transaction:
    """One that was committed, or undone: then ``error_type`` is not empty. Times in ms since the epoch."""

    order: str
    dlq_topic: str
    epoch: int
    number: int
    batch: Batch
    began_ms: int
    ended_ms: int
    error_type: str = ""


class Telemetry:
    """Tells nothing."""

    def ended(self, transaction: Transaction) -> None:
        """A transaction has come to its end."""

    def close(self, timeout_ms: float) -> None:
        """Tell what is left, for no longer than that."""


SILENT = Telemetry()


def telemetry_of(endpoint: str, worker: str, environ: Mapping[str, str]) -> Telemetry:
    """OpenTelemetry where an endpoint is set; its SDK costs memory and time, so it is only imported then."""
    if not endpoint and not environ.get(OTEL_ENDPOINT):
        return SILENT
    from streaming.redrive.telemetry_otlp import OtlpTelemetry, otlp  # noqa: PLC0415 - as said above

    return OtlpTelemetry(*otlp(endpoint, worker))
