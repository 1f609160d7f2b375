"""Draws a dashboard from what a Prometheus knows now, to judge a layout without a Grafana.

What Grafana would show is shown: the same panels in the same places, from the same queries.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from dashboards import expressions, picture_charts, picture_tables
from dashboards.drawing import FAINT, INK, LINE, PANEL, PAPER, box, fitted, text
from dashboards.expressions import Query
from dashboards.frame import Board, model
from dashboards.picture_data import Area, Drawn, Series

WIDTH: Final = 1_440
COLUMNS: Final = 24
UNIT: Final = 32
HEADER: Final = 64
GAP: Final = 4
TITLE: Final = 24
MARGIN: Final = 12
STEPS: Final = 120
SCRAPES_IN_RATE: Final = 4
TIMEOUT_S: Final = 60


class PictureError(Exception):
    """There is nothing to draw; the text says why."""


@dataclass(frozen=True, slots=True)
class Span:
    """The time that is drawn, in seconds since the epoch."""

    end: float
    seconds: int

    @property
    def step(self) -> int:
        """Seconds between two points."""
        return max(self.seconds // STEPS, 1)


def draw(board: Board, prometheus: str, minutes: int, at: float | None = None) -> str:
    """The dashboard as SVG.

    Raises:
        PictureError: Prometheus does not answer, or refuses a query.
    """
    span = Span(time.time() if at is None else at, minutes * 60)
    made = model(board)
    panels = made["panels"]
    height = HEADER + UNIT * max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in panels) + MARGIN
    with httpx2.Client(base_url=prometheus, trust_env=False, timeout=TIMEOUT_S) as client:
        drawn = [_panel(panel, client, span) for panel in panels]
    return "\n".join(
        (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}'"
            f" height='{height}' font-family='Inter, Roboto, Helvetica, Arial, sans-serif'>",
            box(0, 0, WIDTH, height, PAPER),
            _header(made, minutes),
            *drawn,
            "</svg>\n",
        )
    )


def _header(made: Mapping[str, Any], minutes: int) -> str:
    parts = [text(MARGIN, 26, made["title"], 17, weight=600)]
    x = float(MARGIN)
    for variable in made["templating"]["list"]:
        value = variable.get("current", {}).get("text") or "Prometheus"
        label = f"{variable['label']}: {value}"
        width = len(label) * 6.4 + 16
        parts += [box(x, 36, width, 20, PANEL, stroke=LINE, radius=3), text(x + 8, 50, label, 11, FAINT)]
        x += width + 6
    range_ = "Last minute" if minutes == 1 else f"Last {minutes} minutes"
    parts.append(text(WIDTH - MARGIN, 26, range_, 12, FAINT, anchor="end"))
    return "".join(parts)


def _panel(panel: Mapping[str, Any], client: httpx2.Client, span: Span) -> str:
    grid, column = panel["gridPos"], WIDTH / COLUMNS
    area = Area(
        grid["x"] * column + GAP,
        HEADER + grid["y"] * UNIT + GAP,
        grid["w"] * column - 2 * GAP,
        grid["h"] * UNIT - 2 * GAP,
    )
    if panel["type"] == "row":
        return text(area.x + 4, area.y + 18, f"▾ {panel['title']}", 14, INK, weight=600)
    rate_s = SCRAPES_IN_RATE * span.step
    found = [(query, _ask(client, query, span)) for query in expressions.queries(panel, span.seconds, rate_s)]
    series = [
        Series(query.ref, query.legend, labels, points) for query, told in found for labels, points in told
    ]
    drawn = Drawn(panel, area.below(TITLE), series, span.end - span.seconds, span.end)
    frame = box(area.x, area.y, area.width, area.height, PANEL, stroke=LINE, radius=3)
    title = text(area.x + 8, area.y + 17, fitted(panel["title"], area.width - 16, 12), 12, weight=600)
    return f"<g class='panel'>{frame}{_inside(drawn)}{title}</g>"


def _inside(drawn: Drawn) -> str:
    if not drawn.series:
        area = drawn.area
        said = drawn.defaults.get("noValue", "nothing")
        return text(area.x + area.width / 2, area.y + area.height / 2, said, 13, FAINT, anchor="middle")
    match drawn.panel["type"]:
        case "stat":
            return picture_tables.stat(drawn)
        case "table":
            return picture_tables.table(drawn)
        case "bargauge":
            return picture_tables.ranking(drawn)
        case _:
            return picture_charts.chart(drawn)


Told = list[tuple[dict[str, str], list[tuple[float, float]]]]


def _ask(client: httpx2.Client, query: Query, span: Span) -> Told:
    """The series of a query, oldest points first."""
    parameters: dict[str, Any] = {"query": query.text}
    if query.instant:
        path, parameters["time"] = "query", span.end
    else:
        path = "query_range"
        parameters |= {"start": span.end - span.seconds, "end": span.end, "step": span.step}
    try:
        told = client.post(f"/api/v1/{path}", data=parameters).json()
    except (httpx2.TransportError, ValueError) as error:
        raise PictureError(f"no answer of a Prometheus from {client.base_url} ({error})") from error
    if told["status"] != "success":
        raise PictureError(f"{query.panel}: {told.get('error')}: {query.text}")
    return [
        (one["metric"], [(float(at), float(value)) for at, value in one.get("values") or [one["value"]]])
        for one in told["data"]["result"]
    ]
