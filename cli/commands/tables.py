"""Answers of the api as tables for people."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from deadwatch.runtime.logs import one_line

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult

COPIED: Final = frozenset({"id", "fingerprint"})
"""Columns that people copy from: they are broken last."""
COLOURS: Final = {
    **dict.fromkeys(("RUNNING", "enabled", "valid", "ok"), "green"),
    **dict.fromkeys(("PAUSED", "CANCELLING", "disabled", "expired", "warn"), "yellow"),
    **dict.fromkeys(("FAILED", "revoked", "FAIL"), "red"),
    **dict.fromkeys(("CANCELLED",), "dim"),
}
"""Colours of cells that show a state; a terminal without colours, or NO_COLOR, shows none."""

NARROWEST: Final = 8
"""Other columns become no narrower than this before one that people copy from is broken."""
MAX_WORD: Final = 24
"""A longer word, as the name of a class with its packages, is broken where there is no room for it."""
FRAME: Final = 3
"""Characters of a column's frame and blanks."""

INSTANT: Final = re.compile(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$")
"""A time of the api: people need no more of it than its second."""

Columns = Mapping[str, str | Callable[[Mapping[str, Any]], object]]
"""By heading: the field of an item, or what makes the cell of an item."""


@dataclass(frozen=True, slots=True)
class FittedTable:
    """A table that fits the width of the terminal (80 where there is none).

    Cells are wrapped by word; columns are left out, those of ``optional`` in their order, the least important
    first, until each of the others has room for its words. Numbers stand at the right, None is an empty cell,
    nothing is taken for markup. Without rows it is one line.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[object]]
    optional: Sequence[str] = ()

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """The table as Rich prints it, and what it leaves out."""
        from rich.table import Table
        from rich.text import Text

        del console
        if not self.rows:
            yield Text(f"{self.title}: none")
            return
        cells = [[_cell(row[index]) for row in self.rows] for index in range(len(self.headings))]
        columns = [_Column.of(*column) for column in zip(self.headings, cells, strict=True)]
        kept = self._kept(columns, options.max_width)
        made = Table()
        for index, width in zip(
            kept, _widths([columns[one] for one in kept], options.max_width), strict=True
        ):
            numeric = all(isinstance(row[index], int | float) for row in self.rows)
            justify: JustifyMethod = "right" if numeric else "left"
            made.add_column(self.headings[index], justify=justify, overflow="fold", width=width)
        for number, row in enumerate(self.rows):
            made.add_row(*(Text(cells[one][number], COLOURS.get(str(row[one]), "")) for one in kept))
        yield Text(self.title, "table.title")  # one of the table's own is wrapped where that is narrower
        yield made
        left_out = [heading for index, heading in enumerate(self.headings) if index not in kept]
        if left_out:
            names = ", ".join(left_out)
            yield Text(f"not shown: {names}; a wider terminal or --output json shows them", "dim")

    def _kept(self, columns: Sequence["_Column"], width: int) -> list[int]:
        kept = list(range(len(columns)))
        for heading in self.optional:
            if sum(columns[index].least + FRAME for index in kept) < width:
                break
            kept.remove(self.headings.index(heading))
        return kept


class _Column(NamedTuple):
    """How wide a column has to be for its words, and would be for its longest cell."""

    least: int
    most: int
    copied: bool

    @classmethod
    def of(cls, heading: str, cells: Sequence[str]) -> Self:
        most = max(map(len, (heading, *cells)))
        word = max((len(word) for cell in cells for word in cell.split()), default=0)
        copied = heading in COPIED
        return cls(most if copied else max(len(heading), min(word, MAX_WORD)), most, copied)


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """The width of each column: what it needs for its words, and a share of the room that is left."""
    room = width - 1 - FRAME * len(columns)
    widths = [column.least for column in columns]
    while sum(widths) > room and max(widths) > 1:
        others = [index for index, one in enumerate(columns) if not one.copied and widths[index] > NARROWEST]
        widths[max(others or range(len(columns)), key=widths.__getitem__)] -= 1
    by_want = sorted(range(len(columns)), key=lambda index: columns[index].most - widths[index])
    for place, index in enumerate(by_want):
        share = max(room - sum(widths), 0) // (len(columns) - place)
        widths[index] += max(min(columns[index].most - widths[index], share), 0)
    return widths


def of_items(
    title: str, columns: Columns, answer: Mapping[str, Any], optional: Sequence[str] = ()
) -> FittedTable:
    """A table of a list of the api, or of one item alone."""
    items = answer.get("items", [answer])
    rows = [[item[of] if isinstance(of, str) else of(item) for of in columns.values()] for item in items]
    return FittedTable(of_page(title, answer), list(columns), rows, optional)


def of_page(title: str, answer: Mapping[str, Any]) -> str:
    """The title of a list, which says where it is cut, and what shows the rest."""
    return f"{title}, and there are more: --limit" if answer.get("next") else title


def named(fields: str) -> Columns:
    """Columns whose headings are the fields of the items."""
    return {name: name for name in fields.split()}


def brief_class(item: Mapping[str, Any]) -> str:
    """The class of an error without its packages."""
    return str(item["error_class"]).rpartition(".")[2]


def duration(span_ms: int) -> str:
    """Seconds, minutes or hours, as people would write it."""
    for unit_ms, unit in ((3_600_000, "h"), (60_000, "min")):
        if span_ms >= 2 * unit_ms:
            return f"{span_ms / unit_ms:.1f} {unit}"
    return f"{span_ms / 1_000:.1f} s"


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = one_line(", ".join(map(str, value)) if isinstance(value, list) else str(value))
    return brief_time(text)


def brief_time(text: str) -> str:
    """A time of the api to the second; any other text as it is."""
    return INSTANT.sub(r"\1 \2Z", text)
