"""Reading time buckets: the growth of a counter in every step of a window, by some of its labels.

A step without growth has no point. Steps begin at multiples of their width since the epoch. Every tier is
read, so what came late, and what has just moved to its next tier, counts where it happened.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from deadwatch.store.engine import chunks
from deadwatch.store.schema import bucketed_series, buckets
from deadwatch.store.series import Series
from deadwatch.store.write.buckets import TIERS, horizon_s
from deadwatch.store.write.counters import OTHER

MAX_LINES = 100
"""The lines of one answer; the lesser ones beyond are added up as ``other``."""

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A window of time and its step, in seconds; ``to_s`` is exclusive."""

    from_s: int
    to_s: int
    step_s: int


@dataclass(frozen=True, slots=True)
class Line:
    """The growth of the series with these labels: pairs of the start of a step, in seconds, and a value."""

    labels: Labels
    points: tuple[tuple[int, int], ...]


def finest_step_s(from_s: int, now_s: int) -> int:
    """The narrowest step for which there are buckets from ``from_s`` on."""
    return next(
        (tier.step_s for number, tier in enumerate(TIERS) if from_s >= horizon_s(number, now_s)),
        TIERS[-1].step_s,
    )


def read(
    connection: Connection, series: Series, where: Mapping[str, str], by: Sequence[str], window: Window
) -> list[Line]:
    """One line for each combination of the labels ``by``, the greatest first."""
    members = _members(connection, series, where, by)
    lines: defaultdict[Labels, Counter[int]] = defaultdict(Counter)
    for chunk in chunks(members):
        for number, start_s, value in _rows(connection, chunk, window):
            lines[members[number]][start_s] += value
    totals = {labels: points.total() for labels, points in lines.items()}
    ordered = sorted(lines, key=lambda labels: (-totals[labels], labels))
    result = {labels: lines[labels] for labels in ordered[:MAX_LINES]}
    for labels in ordered[MAX_LINES:]:
        result.setdefault((OTHER,) * len(by), Counter()).update(lines[labels])
    return [Line(labels, tuple(sorted(points.items()))) for labels, points in result.items()]


def _members(
    connection: Connection, series: Series, where: Mapping[str, str], by: Sequence[str]
) -> dict[int, Labels]:
    """The numbers of the series that match ``where``, and the line to which each belongs."""
    table = bucketed_series.c
    members: dict[int, Labels] = {}
    for number, text in connection.execute(select(table.id, table.labels).where(table.name == series.name)):
        labels = json.loads(text)
        if all(labels[name] == value for name, value in where.items()):
            members[number] = tuple(labels[name] for name in by)
    return members


def _rows(connection: Connection, numbers: Sequence[int], window: Window) -> list[tuple[int, int, int]]:
    table = buckets.c
    start_s = table.start_s - table.start_s % window.step_s
    query = select(table.series, start_s, func.sum(table.value)).where(
        table.series.in_(numbers),
        table.tier.in_(range(len(TIERS))),
        table.start_s >= window.from_s,
        table.start_s < window.to_s,
    )
    rows = connection.execute(query.group_by(table.series, start_s))
    return [(number, start, int(value)) for number, start, value in rows]
