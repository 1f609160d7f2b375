"""Counters over time, for charts."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from api import time_series
from api.schemas import SeriesAnswer, SeriesLine, SeriesPoint
from api.service import Serving
from api.time_series import Asked, Step
from api.times import instant
from streaming.store import bucket_reader
from streaming.store.bucket_reader import Line

router = APIRouter(tags=["series"])


class SeriesQuery(BaseModel):
    """What to chart; anything else in the query is refused."""

    model_config = ConfigDict(extra="forbid")

    metric: str = Field(description="A counter of /metrics.", max_length=200)
    label: list[str] = Field([], max_length=10, description="NAME=VALUE; all must hold.")
    by: list[str] = Field([], max_length=10, description="A line for every value of these labels.")
    begin: datetime | None = Field(None, alias="from", description="Default: an hour before 'to'.")
    end: datetime | None = Field(None, alias="to", description="Not included. Default: now.")
    step: Step | None = Field(None, description="Default: what gives at most 400 steps.")


@router.get("/series")
def series(service: Serving, query: Annotated[SeriesQuery, Query()]) -> SeriesAnswer:
    """What a counter grew by in every step, by the time it happened.

    Kept by 10 s for 6 hours, by 1 min for 7 days, by 1 h for a year. A step that is missing is 0. Lines
    beyond the hundred greatest are added up as ``other``.
    """
    window = time_series.window(query.begin, query.end, query.step, service.now_ms())
    asked = time_series.asked(query.metric, query.label, query.by, window)
    with service.store.read() as connection:
        lines = bucket_reader.read(connection, asked.series, asked.where, asked.by, window)
    return SeriesAnswer(
        metric=query.metric,
        begin=instant(window.from_s * 1_000),
        end=instant(window.to_s * 1_000),
        step_ms=window.step_s * 1_000,
        lines=[_line(asked, line) for line in lines],
    )


def _line(asked: Asked, line: Line) -> SeriesLine:
    return SeriesLine(
        labels=dict(zip(asked.by, line.labels, strict=True)),
        total=sum(value for _, value in line.points),
        points=[SeriesPoint(at=instant(start_s * 1_000), value=value) for start_s, value in line.points],
    )
