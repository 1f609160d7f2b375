"""Single numbers, tables and bars that rank."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dashboards.drawing import COLOURS, FAINT, INK, LINE, box, fitted, line, shown, text
from dashboards.picture_data import Drawn, colour

ROW: Final = 22
BAR: Final = 26
NAME_CHAR: Final = 7.2
CELL_CHAR: Final = 7.4
CELL_GAP: Final = 12


def stat(drawn: Drawn) -> str:
    """The number on its colour, over the whole panel."""
    area, value = drawn.area, drawn.series[0].last
    said, fill = _said(value, drawn.defaults)
    size = min(40.0, area.width / max(len(said), 1) / 0.62)
    middle = area.y + area.height / 2 + size / 3
    return box(area.x + 1, area.y, area.width - 2, area.height - 1, fill, radius=3) + text(
        area.x + area.width / 2, middle - 2, said, size, "#ffffff", anchor="middle", weight=600
    )


def ranking(drawn: Drawn) -> str:
    """Horizontal bars, the longest first."""
    area = drawn.area
    series = sorted(drawn.series, key=lambda one: -one.last)
    largest = max(1e-9, *(one.last for one in series))
    room = int((area.height - 8) // BAR)
    steps = drawn.defaults["thresholds"]["steps"]
    names = min(max(len(one.name) for one in series) * NAME_CHAR + 22, area.width * 0.45)
    whole = area.width - names - 90
    parts = []
    for number, one in enumerate(series[:room]):
        y = area.y + 6 + number * BAR
        parts.append(text(area.x + names, y + 15, fitted(one.name, names - 10, 12), 12, INK, anchor="end"))
        fill = colour(one.last, steps)
        parts.append(
            box(area.x + names + 8, y + 3, whole * max(one.last, 0) / largest, BAR - 9, fill, radius=2)
        )
        parts.append(
            text(area.x + area.width - 10, y + 15, shown(one.last, drawn.unit), 12, anchor="end", weight=600)
        )
    return "".join(parts)


def table(drawn: Drawn) -> str:
    """Rows as Grafana joins and sorts them."""
    columns, rows = _joined(drawn)
    area = drawn.area
    looks = {o["matcher"]["options"]: _looks(o) for o in drawn.panel["fieldConfig"]["overrides"]}
    places = widths(_longest(columns, rows, looks), area.width - 20)
    room = int((area.height - 10) // ROW) - 1
    parts = [*_cells(columns, columns, places, (area.x + 10, area.y + 14))]
    for number, row in enumerate(rows[:room]):
        y = area.y + 14 + (number + 1) * ROW
        parts.append(line([(area.x + 8, y - 15), (area.x + area.width - 8, y - 15)], LINE, 1))
        parts += _cells(row, columns, places, (area.x + 10, y), looks)
    if len(rows) > room:
        more = f"{len(rows) - room} more"
        parts.append(text(area.x + area.width - 10, area.y + area.height - 5, more, 10, FAINT, anchor="end"))
    return "".join(parts)


Cell = str | float | None
Looks = Mapping[str, Mapping[str, Any]]


def _joined(drawn: Drawn) -> tuple[list[str], list[list[Cell]]]:
    """Column names and rows after the panel's transformations."""
    options = next(t["options"] for t in drawn.panel["transformations"] if t["id"] == "organize")
    renamed, order = options["renameByName"], options["indexByName"]
    fields = sorted(order, key=lambda name: order[name])
    merged: dict[tuple[tuple[str, str], ...], dict[str, Cell]] = {}
    for one in drawn.series:
        labels = {name: value for name, value in one.labels.items() if name in order}
        value = f"Value #{one.ref}" if f"Value #{one.ref}" in order else "Value"
        merged.setdefault(tuple(sorted(labels.items())), {**labels})[value] = one.last
    rows = [[row.get(name) for name in fields] for row in merged.values()]
    (by,) = drawn.panel["options"]["sortBy"]
    columns = [renamed.get(name, name) for name in fields]
    place = columns.index(by["displayName"])
    rows.sort(key=lambda row: _number(row[place]), reverse=by["desc"])
    return columns, rows


def _number(cell: Cell) -> float:
    return cell if isinstance(cell, float) else float("-inf")


def _text(cell: Cell, look: Mapping[str, Any]) -> str:
    return _said(cell, look)[0] if isinstance(cell, float) else cell or ""


def _said(value: float, look: Mapping[str, Any]) -> tuple[str, str]:
    """Text and colour of a value."""
    for mapping in look.get("mappings", ()):
        if (result := mapping["options"].get(f"{value:g}")) is not None:
            return result["text"], COLOURS[result["color"]]
    fill = colour(value, look["thresholds"]["steps"]) if "thresholds" in look else INK
    return shown(value, look.get("unit", "short")), fill


def _looks(override: Mapping[str, Any]) -> Mapping[str, Any]:
    return {found["id"]: found["value"] for found in override["properties"]}


def _longest(columns: Sequence[str], rows: Sequence[Sequence[Cell]], looks: Looks) -> list[int]:
    """Characters of the longest text of each column."""
    return [
        max(len(name), *(len(_text(cell, looks.get(name, {}))) for cell in cells))
        for name, *cells in zip(columns, *rows, strict=True)
    ]


def widths(longest: Sequence[int], room: float) -> list[float]:
    """Of columns, by the characters of their longest texts; where room is short, the longest are cut."""
    wanted = [characters * CELL_CHAR + CELL_GAP for characters in longest]
    if sum(wanted) <= room:
        return [room * each / sum(wanted) for each in wanted]
    left, most = room, 0.0
    for place, each in enumerate(sorted(wanted)):
        most = left / (len(wanted) - place)
        left -= min(each, most)
    return [min(each, most) for each in wanted]


def _cells(
    row: Sequence[Cell],
    columns: Sequence[str],
    widths: Sequence[float],
    at: tuple[float, float],
    looks: Looks | None = None,
) -> Iterator[str]:
    """The cells of a row from ``at`` on; without ``looks`` it is the heading."""
    x, y = at
    for cell, name, width in zip(row, columns, widths, strict=True):
        if looks is None:
            yield text(x, y, fitted(str(cell), width - 6, 11), 11, FAINT, weight=600)
        elif isinstance(cell, float):
            said, fill = _said(cell, looks.get(name, {}))
            yield text(x, y, said, 12, fill, weight=600)
        elif cell:
            yield text(x, y, fitted(cell, width - 8, 12), 12)
        x += width
