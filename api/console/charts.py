"""The hours of a day as a table; the page's script draws it where there is one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.schemas import SeriesPoint
from api.times import instant
from streaming.store.trends import HOUR_S, HOURS, first_hour_s

HEIGHT: Final = 100


@dataclass(frozen=True, slots=True)
class Bar:
    """An hour; ``height`` is out of ``HEIGHT``, at least 2 where there is anything."""

    number: int
    at: datetime | None
    value: int
    height: int


def bars(points: Sequence[SeriesPoint], now_ms: int) -> list[Bar]:
    """Every hour of the last day, the oldest first."""
    known = {point.at: point.value for point in points}
    hours = [instant((first_hour_s(now_ms) + number * HOUR_S) * 1_000) for number in range(HOURS)]
    top = max(known.values(), default=0) or 1
    return [
        Bar(number, at, value, max(2 if value else 0, round(value / top * HEIGHT)))
        for number, at in enumerate(hours)
        for value in (known.get(at, 0),)
    ]
