"""What streaming tells of itself by OpenTelemetry: nothing, at no cost, unless an endpoint is set."""

from collections.abc import Mapping

from collector.telemetry import OTEL_ENDPOINT
from streaming.store.batch import Batch
from streaming.store.stream_figures import Figures


class Telemetry:
    """Tells nothing."""

    def merged(self, batch: Batch, merge_ms: int) -> None:
        """A batch was merged, and how long the store took."""

    def failed(self, cause: str) -> None:
        """The query failed; ``cause`` is kafka or query."""

    def figures(self, figures: Figures) -> None:
        """What the query says of its own work now."""

    def close(self, timeout_ms: float) -> None:
        """Tell what is left, for no longer than that."""


SILENT = Telemetry()


def telemetry_of(endpoint: str, kafka_cluster: str, environ: Mapping[str, str]) -> Telemetry:
    """OpenTelemetry where an endpoint is set; its SDK costs memory and time, so it is only imported then."""
    if not endpoint and not environ.get(OTEL_ENDPOINT):
        return SILENT
    from streaming.telemetry_otlp import OtlpTelemetry  # noqa: PLC0415 - as said above

    return OtlpTelemetry(endpoint, kafka_cluster)
