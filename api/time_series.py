"""What may be asked of the time buckets, and what is refused with the way out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from api.errors import InvalidSeriesError
from api.metrics import catalog
from api.metrics.catalog import Metric
from streaming.store.bucket_reader import Window, finest_step_s
from streaming.store.series import Series

HOUR_S: Final = 3_600
MAX_STEPS: Final = 2_200
GOOD_STEPS: Final = 400
"""How many steps an answer has at most when the caller leaves the step to us."""


class Step(StrEnum):
    """The widths there are."""

    SECONDS_10 = "10s"
    MINUTE = "1m"
    MINUTES_5 = "5m"
    MINUTES_15 = "15m"
    HOUR = "1h"
    HOURS_6 = "6h"
    DAY = "1d"


WIDTH_S: Final[Mapping[Step, int]] = {
    Step.SECONDS_10: 10,
    Step.MINUTE: 60,
    Step.MINUTES_5: 300,
    Step.MINUTES_15: 900,
    Step.HOUR: HOUR_S,
    Step.HOURS_6: 6 * HOUR_S,
    Step.DAY: 24 * HOUR_S,
}
METRICS: Final[Mapping[str, tuple[Metric, Series]]] = {
    metric.name: (metric, metric.series) for metric in catalog.ALL if metric.series is not None
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that can be answered."""

    series: Series
    where: Mapping[str, str]
    by: tuple[str, ...]
    window: Window


def asked(metric: str, labels: Sequence[str], by: Sequence[str], window: Window) -> Asked:
    """The question.

    Raises:
        InvalidSeriesError: the metric has no buckets, or not these labels.
    """
    if metric not in METRICS:
        raise InvalidSeriesError("metric", f"must be one of {', '.join(sorted(METRICS))}")
    series = METRICS[metric][1]
    where = {}
    for text in labels:
        name, equals, value = text.partition("=")
        if not equals:
            raise InvalidSeriesError("label", f"must be NAME=VALUE, got {text[:100]!r}")
        where[name] = value
    for parameter, names in (("label", where), ("by", by)):
        for name in names:
            if name not in series.labels:
                raise InvalidSeriesError(
                    parameter, f"{name[:100]!r} is no label of {metric}: {', '.join(series.labels)}"
                )
    return Asked(series, where, tuple(dict.fromkeys(by)), window)


def window(begin: datetime | None, end: datetime | None, step: Step | None, now_ms: int) -> Window:
    """The time that is asked for, widened to whole steps; the last hour unless said otherwise.

    Raises:
        InvalidSeriesError: there is nothing in it, too much, or the step is too narrow for its age.
    """
    now_s = now_ms // 1_000
    to_s = now_s if end is None else _seconds("to", end)
    from_s = to_s - HOUR_S if begin is None else _seconds("from", begin)
    if from_s >= to_s:
        raise InvalidSeriesError("from", "must be before 'to'")
    finest_s = finest_step_s(from_s, now_s)
    step_s = _good_step_s(finest_s, to_s - from_s) if step is None else WIDTH_S[step]
    if step_s < finest_s:
        least = next(one for one, width_s in WIDTH_S.items() if width_s >= finest_s)
        raise InvalidSeriesError("step", f"must be at least {least} for a 'from' of that age")
    if to_s - from_s > step_s * MAX_STEPS:
        raise InvalidSeriesError("step", f"gives more than {MAX_STEPS} steps: take a wider one")
    return Window(from_s // step_s * step_s, -(-to_s // step_s) * step_s, step_s)


def _seconds(name: str, time: datetime) -> int:
    if time.tzinfo is None:
        raise InvalidSeriesError(name, "must have a time zone, as in 2026-11-21T12:00:00Z")
    return int(time.timestamp())


def _good_step_s(finest_s: int, length_s: int) -> int:
    widths = [width_s for width_s in WIDTH_S.values() if width_s >= finest_s]
    return next((width_s for width_s in widths if length_s <= width_s * GOOD_STEPS), widths[-1])
