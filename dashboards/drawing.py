"""SVG by hand: text that cannot break out, colours of Grafana's light theme, values by unit."""

from datetime import UTC, datetime
from typing import Final
from xml.sax.saxutils import escape

COLOURS: Final = {
    "green": "#299c46",
    "yellow": "#e0b400",
    "orange": "#e8731a",
    "red": "#d6293e",
    "blue": "#1f60c4",
}
SERIES: Final = ("#1f60c4", "#e8731a", "#299c46", "#8f3bb8", "#d6293e", "#0f9b9b", "#b58900", "#705da0")
INK, FAINT, LINE, PAPER, PANEL = "#24292e", "#6e7680", "#e1e4e8", "#f4f5f5", "#ffffff"
CHAR: Final = 0.6
"""Width of a character, as a part of the font's size."""

_THOUSANDS: Final = ((1e9, "B"), (1e6, "M"), (1e3, "K"))
_SPANS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def text(
    x: float,
    y: float,
    content: str,
    size: float = 12,
    fill: str = INK,
    *,
    anchor: str = "start",
    weight: int = 400,
) -> str:
    """One line of text."""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size:g}' fill='{fill}' text-anchor='{anchor}'"
        f" font-weight='{weight}'>{escape(content)}</text>"
    )


def box(
    x: float, y: float, width: float, height: float, fill: str, *, stroke: str = "none", radius: float = 0
) -> str:
    """A rectangle."""
    return (
        f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width, 0):.1f}' height='{max(height, 0):.1f}'"
        f" fill='{fill}' stroke='{stroke}' rx='{radius:g}'/>"
    )


def line(points: list[tuple[float, float]], stroke: str, width: float = 1.5, dash: str = "") -> str:
    """A line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f" stroke-dasharray='{dash}'" if dash else ""
    return f"<polyline points='{path}' fill='none' stroke='{stroke}' stroke-width='{width:g}'{dashes}/>"


def fitted(content: str, width: float, size: float = 12) -> str:
    """The text, cut to what fits."""
    room = max(int(width / (size * CHAR)), 1)
    return content if len(content) <= room else content[: max(room - 1, 1)] + "…"


def shown(value: float, unit: str) -> str:
    """A value as Grafana shows it in this unit."""
    match unit:
        case "s":
            return _span(value)
        case "percentunit":
            return f"{value * 100:.3g} %"
        case "dateTimeAsIso":
            return f"{datetime.fromtimestamp(value / 1_000, UTC):%Y-%m-%d %H:%M:%S}"
        case "reqps":
            return f"{_short(value)} /s"
        case _:
            return _short(value)


def _short(value: float) -> str:
    for factor, letter in _THOUSANDS:
        if abs(value) >= factor:
            return f"{value / factor:.3g} {letter}"
    return f"{value:.0f}"


def _span(seconds: float) -> str:
    if 0 < abs(seconds) < 1:
        return f"{seconds * 1_000:.3g} ms"
    for length, letter in _SPANS:
        if abs(seconds) >= length:
            return f"{seconds / length:.3g} {letter}"
    return "0 s"
