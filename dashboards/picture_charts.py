"""Values over time: lines, or stacked bars."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from dashboards.drawing import FAINT, LINE, SERIES, box, fitted, line, shown, text
from dashboards.picture_data import Area, Drawn, Series, colour

LEGEND_LINE: Final = 16
LEGEND_LINES: Final = 4
LEFT, RIGHT, BOTTOM, TOP = 44, 12, 20, 6
TICKS: Final = 4
TIMES: Final = 5
SHORT_TICKS: Final = 1_000
NICE: Final = (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10)
"""A quarter of each is short to write."""


def chart(drawn: Drawn) -> str:
    """The chart with its axes and, below it, a legend with maximum and last value."""
    bars = drawn.defaults["custom"].get("drawStyle") == "bars"
    series = sorted(drawn.series, key=lambda one: -max(value for _, value in one.points))
    lines = min(len(series), LEGEND_LINES)
    height = drawn.area.height - lines * LEGEND_LINE - 4
    plot = Area(
        drawn.area.x + LEFT, drawn.area.y + TOP, drawn.area.width - LEFT - RIGHT, height - TOP - BOTTOM
    )
    top = _top(_stacked_maximum(series) if bars else max(v for one in series for _, v in one.points))
    scale = _Scale(plot, drawn.start, drawn.end, top)
    parts = [*_axes(drawn, scale), *(_bars(series, scale) if bars else _lines(series, scale))]
    if not bars:
        parts += _thresholds(drawn, scale)
    return "".join((*parts, *_legend(drawn, series[:lines], drawn.area.y + height + 2, len(series))))


class _Scale:
    """From time and value to pixels."""

    def __init__(self, plot: Area, start: float, end: float, top: float) -> None:
        self.plot, self.start, self.end, self.top = plot, start, end, top

    def x(self, at: float) -> float:
        """Of a time."""
        return self.plot.x + (at - self.start) / (self.end - self.start) * self.plot.width

    def y(self, value: float) -> float:
        """Of a value; below 0 is not drawn."""
        return self.plot.y + self.plot.height * (1 - min(max(value, 0), self.top) / self.top)


def _top(maximum: float) -> float:
    """The end of the axis: a round number."""
    if maximum <= 0:
        return 1
    magnitude: float = 10 ** math.floor(math.log10(maximum))
    return next(nice * magnitude for nice in NICE if nice * magnitude >= maximum * 0.999)


def _stacked_maximum(series: Sequence[Series]) -> float:
    sums: defaultdict[float, float] = defaultdict(float)
    for one in series:
        for at, value in one.points:
            sums[at] += value
    return max(sums.values())


def _axes(drawn: Drawn, scale: _Scale) -> Iterator[str]:
    plot = scale.plot
    for tick in range(TICKS + 1):
        value = scale.top * tick / TICKS
        y = scale.y(value)
        yield line([(plot.x, y), (plot.x + plot.width, y)], LINE, 1)
        yield text(plot.x - 6, y + 4, _tick(value, drawn.unit), 10, FAINT, anchor="end")
    for number in range(TIMES):
        at = scale.start + (scale.end - scale.start) * (number + 0.5) / TIMES
        clock = f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"
        yield text(scale.x(at), plot.y + plot.height + 14, clock, 10, FAINT, anchor="middle")


def _tick(value: float, unit: str) -> str:
    return f"{value:g}" if unit == "short" and value < SHORT_TICKS else shown(value, unit)


def _lines(series: Sequence[Series], scale: _Scale) -> Iterator[str]:
    for number, one in enumerate(series):
        points = [(scale.x(at), scale.y(value)) for at, value in one.points]
        yield line([*points, *points[-1:]], SERIES[number % len(SERIES)], 2)


def _bars(series: Sequence[Series], scale: _Scale) -> Iterator[str]:
    times = sorted({at for one in series for at, _ in one.points})
    gaps = [later - earlier for earlier, later in pairwise(times)]
    width = max(scale.plot.width * (min(gaps, default=1) / (scale.end - scale.start)) - 0.5, 2)
    below: defaultdict[float, float] = defaultdict(float)
    for number, one in enumerate(series):
        for at, value in one.points:
            y = scale.y(below[at] + value)
            yield box(scale.x(at) - width, y, width, scale.y(below[at]) - y, SERIES[number % len(SERIES)])
            below[at] += value


def _thresholds(drawn: Drawn, scale: _Scale) -> Iterator[str]:
    steps = drawn.defaults["thresholds"]["steps"]
    for step in steps[1:]:
        if step["value"] <= scale.top:
            y = scale.y(step["value"])
            ends = [(scale.plot.x, y), (scale.plot.x + scale.plot.width, y)]
            yield line(ends, colour(step["value"], steps), 1, "6 4")


def _legend(drawn: Drawn, series: Sequence[Series], y: float, count: int) -> Iterator[str]:
    x, width = drawn.area.x + 10, drawn.area.width - 20
    for number, one in enumerate(series):
        base = y + number * LEGEND_LINE + 10
        more = f"  (+{count - len(series)} more)" if number == len(series) - 1 and count > len(series) else ""
        maximum = max(value for _, value in one.points)
        yield box(x, base - 5, 12, 3, SERIES[number % len(SERIES)])
        yield text(x + 18, base, fitted(one.name + more, width - 190, 11), 11)
        yield text(x + width - 80, base, f"max {shown(maximum, drawn.unit)}", 11, FAINT, anchor="end")
        yield text(x + width, base, f"last {shown(one.last, drawn.unit)}", 11, FAINT, anchor="end")
