"""What Spark tells of the query's last batch, as figures for the store."""

from collections.abc import Mapping
from typing import Any

from streaming.store.stream_figures import PHASE, RATE, Figures


def figures(progress: Mapping[str, Any] | None) -> Figures:
    """Of ``StreamingQuery.lastProgress``; a trigger that found nothing tells nothing."""
    if progress is None or not progress.get("numInputRows"):
        return {}
    phases = {str(phase): int(took_ms) for phase, took_ms in progress["durationMs"].items()}
    return {PHASE: phases, RATE: {"": round(progress.get("processedRowsPerSecond") or 0)}}
