"""Traces of what was counted last, as exemplars: where a series tells one, and OpenMetrics is asked for."""

import re
from typing import Final, NamedTuple

from api.rows import decoded
from streaming.trace import SPAN_ID, TRACE_ID, TRACED_MS

MS_PER_S: Final = 1_000
_HEX = re.compile("[0-9a-f]{16,32}")


class Exemplar(NamedTuple):
    """One of the things that were counted: its trace, and when it was."""

    trace_id: str
    span_id: str
    at_ms: int

    def __str__(self) -> str:
        """As it stands behind a sample."""
        labels = f'{SPAN_ID}="{self.span_id}",{TRACE_ID}="{self.trace_id}"'
        return f" # {{{labels}}} 1.0 {self.at_ms / MS_PER_S}"


def exemplar_of(detail: str) -> Exemplar | None:
    """The trace among the facts of a series; None: it has none."""
    if TRACE_ID not in detail:  # nearly none has: ten thousand are asked at every scrape
        return None
    told = decoded(detail)
    if not isinstance(told, dict):
        return None
    match told.get(TRACE_ID), told.get(SPAN_ID), told.get(TRACED_MS):
        case str(trace_id), str(span_id), int(at_ms) if _HEX.fullmatch(trace_id) and _HEX.fullmatch(span_id):
            return Exemplar(trace_id, span_id, at_ms)
    return None
