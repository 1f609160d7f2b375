"""What a metric is told as: a sample, with the trace of one of the things it counts."""

import re
from typing import NamedTuple

from api.metrics.catalog import Metric
from api.signals.series import decoded
from deadwatch.contract.headers import SPAN_ID, TRACE_ID, TRACED_MS
from deadwatch.runtime.clock import MS_PER_S

_HEX = re.compile("[0-9a-f]{16,32}")


class Exemplar(NamedTuple):
    """The trace of one of the counted things, and when it happened."""

    trace_id: str
    span_id: str
    at_ms: int

    def __str__(self) -> str:
        """The text behind a sample's value."""
        labels = f'{SPAN_ID}="{self.span_id}",{TRACE_ID}="{self.trace_id}"'
        return f" # {{{labels}}} 1.0 {self.at_ms / MS_PER_S}"


def exemplar_of(detail: str) -> Exemplar | None:
    """The trace in the detail of a series; None: it has none."""
    if TRACE_ID not in detail:  # checked first: of ten thousand rows a scrape nearly none has one
        return None
    facts = decoded(detail)
    if not isinstance(facts, dict):
        return None
    match facts.get(TRACE_ID), facts.get(SPAN_ID), facts.get(TRACED_MS):
        case str(trace_id), str(span_id), int(at_ms) if _HEX.fullmatch(trace_id) and _HEX.fullmatch(span_id):
            return Exemplar(trace_id, span_id, at_ms)
    return None


class Sample(NamedTuple):
    """A value of a metric; label values in the order of the metric's labels."""

    metric: Metric
    labels: tuple[str, ...]
    value: float
    exemplar: Exemplar | None = None
