"""The demo's table: what | expected | seen | after how long. A row holds only when both are equal."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.table import Table
from rich.text import Text

from deadwatch.demo_latency import Latencies

HEADINGS = ("what", "expected", "seen", "after (median)")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure, or the trail of its values; ``expected`` is None until it was provoked."""

    what: str
    expected: str | None
    seen: str
    latencies: Latencies = field(default_factory=Latencies)

    @property
    def holds(self) -> bool:
        """Exactly as many as there are: one too many is as wrong as one too few."""
        return self.seen == self.expected

    def cells(self) -> tuple[str, str, str, str]:
        """The row as text."""
        return self.what, self.expected or "…", self.seen, seconds(self.latencies.median_ms)


def all_hold(rows: Sequence[Row]) -> bool:
    """Whether everything was provoked and every figure is exact."""
    return all(row.holds for row in rows)


def arrived(rows: Sequence[Row]) -> bool:
    """Whether everything that was provoked so far is exact."""
    return all(row.holds for row in rows if row.expected is not None)


def missing(rows: Sequence[Row]) -> list[str]:
    """A line for every row that does not hold."""
    return [
        f"{row.what}: expected {row.expected or 'some, but none was provoked'}, seen {row.seen}"
        for row in rows
        if not row.holds
    ]


def plain(rows: Sequence[Row]) -> str:
    """The table in plain text, figures to the right."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    what, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
    return "\n".join(
        "  ".join([line[0].ljust(what), *map(str.rjust, line[1:], widths)]).rstrip() for line in lines
    )


def rich_table(rows: Sequence[Row], caption: str) -> Table:
    """The table for a terminal; what holds is green."""
    grid = Table(caption=caption, caption_justify="left")
    for heading in HEADINGS:
        grid.add_column(heading, justify="left" if heading == HEADINGS[0] else "right")
    for row in rows:
        grid.add_row(*(Text(cell, style="green" if row.holds else "") for cell in row.cells()))
    return grid


def summary(found: Latencies) -> str:
    """The one line about all latencies."""
    line = (
        f"event to /metrics: median {seconds(found.median_ms)}, p95 {seconds(found.p95_ms)} "
        f"over {len(found.delays_ms)} events"
    )
    if found.stalled:
        line += f" ({found.stalled} of them while the broker was stopped, counted from its return)"
    return line


def seconds(duration_ms: int | None) -> str:
    """Seconds for people."""
    return "" if duration_ms is None else f"{duration_ms / 1_000:.2f} s"
