"""Where an entry of a log begins, and when it was written.

An entry is a line that begins with a time, and every line up to the next such line: stack traces,
configuration dumps and further lines of one message. Understood are log4j2's and Python's ``2026-11-21
06:36:31,123`` (with or without brackets, dot or comma, with or without milliseconds) and ISO 8601 with ``T``
and an optional zone.
"""

import re
from datetime import UTC, datetime, tzinfo

HEADER = re.compile(
    rb"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{3,9})?(?:Z|[+-]\d\d:?\d\d)?(?=[\] \t|])", re.ASCII
)
_TIME = re.compile(
    r"\[?(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{3})\d*)?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)


def last_header(block: bytes, start: int, end: int) -> int:
    """Offset of the last header line that begins in ``[start, end)``; -1 for none. ``start`` begins a
    line.
    """
    while start < end:
        line = max(block.rfind(b"\n", start, end - 1) + 1, start)
        if HEADER.match(block, line):
            return line
        end = line
    return -1


def time_ms(header: str, zone: tzinfo) -> int | None:
    """When the entry was written, in ms since the epoch; ``zone`` is that of times which carry none."""
    match = _TIME.match(header)
    if match is None:
        return None
    day, clock, milliseconds, offset = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{_iso(offset)}")
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return int(moment.astimezone(UTC).timestamp()) * 1_000 + int(milliseconds or 0)


def _iso(offset: str | None) -> str:
    return "+00:00" if offset == "Z" else offset or ""
