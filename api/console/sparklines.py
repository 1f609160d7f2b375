"""Small charts as they stand in a page: numbers in, coordinates out; drawn without a script."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from streaming.store import bucket_reader
from streaming.store.bucket_reader import Window
from streaming.store.series import Series

WIDTH: Final = 120
HEIGHT: Final = 32
STEPS: Final = 30
STEP_S: Final = 120
HOUR_S: Final = STEPS * STEP_S


@dataclass(frozen=True, slots=True)
class Trend:
    """What a counter grew by in each two minutes of the last hour, and in the hour before that."""

    values: tuple[int, ...]
    before: int

    @property
    def last_hour(self) -> int:
        """What it grew by in the last hour."""
        return sum(self.values)

    @property
    def points(self) -> str:
        """The line, as SVG wants it, without a step that has only begun and is low for that."""
        begun = self.values[-1] < self.values[-2]
        return line(self.values[:-1] if begun else self.values)

    @property
    def words(self) -> str:
        """How the hour compares with the one before."""
        now, before = self.last_hour, self.before
        if not now:
            return "quiet for an hour" if before else "quiet"
        if not before:
            return "began within the hour"
        if now > before * 1.1:
            return f"rising: {before:,} in the hour before"
        return f"falling: {before:,} in the hour before" if now < before * 0.9 else "steady"


def trend(connection: Connection, series: Series, where: Mapping[str, str], now_ms: int) -> Trend:
    """The counter's last two hours; the step that has begun is part of them."""
    end_s = (now_ms // 1_000 // STEP_S + 1) * STEP_S
    lines = bucket_reader.read(connection, series, where, (), Window(end_s - 2 * HOUR_S, end_s, STEP_S))
    grown = dict(lines[0].points) if lines else {}
    steps = [grown.get(end_s - (2 * STEPS - step) * STEP_S, 0) for step in range(2 * STEPS)]
    return Trend(tuple(steps[STEPS:]), sum(steps[:STEPS]))


def line(values: Sequence[int]) -> str:
    """A polyline through ``WIDTH`` by ``HEIGHT``, the greatest value at the top."""
    top = max(values, default=0) or 1
    across = WIDTH / max(1, len(values) - 1)
    return " ".join(
        f"{number * across:.1f},{HEIGHT - 2 - value / top * (HEIGHT - 4):.1f}"
        for number, value in enumerate(values)
    )
