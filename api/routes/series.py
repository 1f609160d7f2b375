"""Counters over time, for charts: which queries the time buckets answer, and the answer."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, Field

from api.answers import TIME, Answer, Question, instant, milliseconds
from api.errors import InvalidSeriesError
from api.metrics import catalog
from api.service import Serving
from api.signals.series import SeriesPoint
from deadwatch.runtime.clock import HOUR_S, MS_PER_S
from deadwatch.store.series import Series
from deadwatch.store.write import buckets
from deadwatch.store.write.buckets import Line, Window, finest_step_s

MAX_STEPS: Final = 2_200
GOOD_STEPS: Final = 400
"""How many steps an answer has at most when the query names no step."""


class Step(StrEnum):
    """The widths of a step."""

    SECONDS_10 = "10s"
    MINUTE = "1m"
    MINUTES_5 = "5m"
    MINUTES_15 = "15m"
    HOUR = "1h"
    HOURS_6 = "6h"
    DAY = "1d"


UNIT_S: Final = {"s": 1, "m": 60, "h": HOUR_S, "d": 24 * HOUR_S}
WIDTH_S: Final = {step: int(step[:-1]) * UNIT_S[step[-1]] for step in Step}
COUNTERS: Final = {metric.name: metric.series for metric in catalog.ALL if metric.series is not None}


def _checked(metric: str, labels: Sequence[str], by: Sequence[str]) -> tuple[Series, dict[str, str]]:
    """The counter that is asked for, and the values that its labels must have.

    Raises ``InvalidSeriesError``: the metric has no buckets, or not these labels.
    """
    if metric not in COUNTERS:
        raise InvalidSeriesError("metric", f"must be one of {', '.join(sorted(COUNTERS))}")
    series = COUNTERS[metric]
    where: dict[str, str] = {}
    for text in labels:
        name, equals, value = text.partition("=")
        if not equals:
            raise InvalidSeriesError("label", f"must be NAME=VALUE, got {text[:100]!r}")
        if where.setdefault(name, value) != value:
            raise InvalidSeriesError("label", f"{name[:100]!r} cannot have two values")
    for parameter, names in (("label", where), ("by", by)):
        for name in names:
            if name not in series.labels:
                raise InvalidSeriesError(
                    parameter, f"{name[:100]!r} is no label of {metric}: {', '.join(series.labels)}"
                )
    return series, where


def _window(begin: datetime | None, end: datetime | None, step: Step | None, now_ms: int) -> Window:
    """The time range, widened to whole steps; by default the last hour.

    Raises ``InvalidSeriesError``: the range is empty or too long, or the step is too narrow for its age.
    """
    now_s = now_ms // MS_PER_S
    to_s = now_s if end is None else milliseconds(end) // MS_PER_S
    from_s = to_s - HOUR_S if begin is None else milliseconds(begin) // MS_PER_S
    if from_s >= to_s:
        raise InvalidSeriesError("from", "must be before 'to'")
    finest_s = finest_step_s(from_s, now_s)
    step_s = _good_step_s(finest_s, to_s - from_s) if step is None else WIDTH_S[step]
    if step_s < finest_s:
        least = next(wide for wide, width_s in WIDTH_S.items() if width_s >= finest_s)
        raise InvalidSeriesError("step", f"must be at least {least} for a 'from' of that age")
    if to_s - from_s > step_s * MAX_STEPS:
        raise InvalidSeriesError("step", f"gives more than {MAX_STEPS} steps: take a wider one")
    return Window(from_s // step_s * step_s, -(-to_s // step_s) * step_s, step_s)


def _good_step_s(finest_s: int, length_s: int) -> int:
    widths = [width_s for width_s in WIDTH_S.values() if width_s >= finest_s]
    return next((width_s for width_s in widths if length_s <= width_s * GOOD_STEPS), widths[-1])


class SeriesLine(Answer):
    """The counters with these labels, added up."""

    labels: dict[str, str] = Field(examples=[{"connector": "pipe"}])
    total: int = Field(examples=[3])
    points: list[SeriesPoint]


class SeriesAnswer(Answer, serialize_by_alias=True, validate_by_name=True):
    """A counter over time; a step without a point is 0."""

    metric: str = Field(examples=["deadwatch_dead_letter_queue_records_total"])
    begin: datetime | None = Field(alias="from", examples=[TIME])
    end: datetime | None = Field(alias="to", examples=[TIME])
    step_ms: int = Field(examples=[60_000])
    lines: list[SeriesLine]


router = APIRouter(tags=["series"])


class SeriesQuery(Question):
    """What to chart; anything else in the query is refused."""

    metric: str = Field(description="A counter of /metrics.", max_length=200)
    label: list[str] = Field([], max_length=10, description="NAME=VALUE; all must hold.")
    by: list[str] = Field([], max_length=10, description="A line for every value of these labels.")
    begin: AwareDatetime | None = Field(None, alias="from", description="Default: an hour before 'to'.")
    end: AwareDatetime | None = Field(None, alias="to", description="Not included. Default: now.")
    step: Step | None = Field(None, description="Default: so wide that there are at most 400 steps.")


@router.get("/series")
def series(service: Serving, query: Annotated[SeriesQuery, Query()]) -> SeriesAnswer:
    """What a counter grew by in every step, by the time it happened.

    Kept by 10 s for 6 hours, by 1 min for 7 days, by 1 h for a year. A step that is missing is 0. Lines
    beyond the hundred greatest are added up as ``other``.
    """
    window = _window(query.begin, query.end, query.step, service.now_ms())
    counted, where = _checked(query.metric, query.label, query.by)
    by = tuple(dict.fromkeys(query.by))
    with service.store.read() as connection:
        lines = buckets.read(connection, counted, where, by, window)
    return SeriesAnswer(
        metric=query.metric,
        begin=instant(window.from_s * MS_PER_S),
        end=instant(window.to_s * MS_PER_S),
        step_ms=window.step_s * MS_PER_S,
        lines=[_line(by, line) for line in lines],
    )


def _line(by: tuple[str, ...], line: Line) -> SeriesLine:
    return SeriesLine(
        labels=dict(zip(by, line.labels, strict=True)),
        total=sum(value for _, value in line.points),
        points=[SeriesPoint(at=instant(start_s * MS_PER_S), value=value) for start_s, value in line.points],
    )
