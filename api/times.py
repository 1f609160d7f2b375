"""Times in answers: RFC 3339 in UTC, from milliseconds since the epoch."""

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def instant(time_ms: int) -> datetime | None:
    """The time; None for "not known" (0 or less) and for what no calendar has, as a record may claim it."""
    if time_ms <= 0:
        return None
    try:
        return EPOCH + timedelta(milliseconds=time_ms)
    except OverflowError:
        return None
