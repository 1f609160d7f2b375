"""Times in answers: RFC 3339 in UTC, from milliseconds since the epoch."""

from datetime import UTC, datetime, timedelta
from typing import Final

MS: Final = timedelta(milliseconds=1)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def instant(time_ms: int) -> datetime | None:
    """The time; None for "not known" (0 or less) and for what no calendar has, as a record may claim it."""
    if time_ms <= 0:
        return None
    try:
        return EPOCH + timedelta(milliseconds=time_ms)
    except OverflowError:
        return None


def milliseconds(time: datetime | None) -> int | None:
    """Since the epoch; a time without zone is UTC."""
    if time is None:
        return None
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH) // MS
