"""The trace that a record belongs to, by its header ``traceparent`` (W3C Trace Context, level 1)."""

import re
from typing import Final

HEADER: Final = "traceparent"
FORM: Final = "^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.{0,100})?$"
TRACE_ID: Final = "trace_id"
SPAN_ID: Final = "span_id"
TRACED_MS: Final = "traced_ms"
"""Facts of a series: the trace of the newest record that was counted and had one, and that record's time."""

_PARTS = re.compile("(?!ff)..-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-.*")


def facts(traceparent: str, timestamp_ms: int) -> dict[str, int | str]:
    """What a series keeps of it; nothing where it names no trace."""
    match = _PARTS.fullmatch(traceparent)
    return {} if match is None else {TRACE_ID: match[1], SPAN_ID: match[2], TRACED_MS: timestamp_ms}
