"""Time buckets: what a series grew by in ten seconds, later in a minute, later in an hour.

| tier | step | kept |
|---|---|---|
| 0 | 10 s | 6 hours |
| 1 | 1 min | 7 days |
| 2 | 1 h | 365 days |

Buckets are by the time something happened. What comes late goes into the tier of its age, what claims to
come from the future counts now, what is older than a year is in the totals alone. Every batch moves the
buckets of a few series on to their next tier: a bounded step in the batch's own transaction.

What is read is the growth of a counter in every step of a window, by some of its labels. A step without
growth has no point. Steps begin at multiples of their width since the epoch. Every tier is read, so what came
late, and what has just moved to its next tier, counts where it happened.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, delete, func, select

from deadwatch.runtime.clock import HOUR_S
from deadwatch.store.batch import SeriesDelta, by_series
from deadwatch.store.schema import bucketed_series, buckets
from deadwatch.store.series import Series
from deadwatch.store.statements import add_up, chunks, count, rows_with, upsert
from deadwatch.store.storable import counted
from deadwatch.store.write.counters import OTHER, admitted, other_key, shared

SERIES_A_BATCH: Final = 20
"""How many series one batch moves to their next tiers."""
PAUSE_MS: Final = 10_000
"""The shortest time between two rounds over all series: the width of the narrowest bucket."""

Cell = tuple[int, int]
"""Tier and start in seconds."""
Bucket = tuple[int, int, int]
"""Number of the series, tier, start in seconds."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Buckets of one width, and how far back they reach."""

    step_s: int
    kept_s: int


TIERS: Final = (Tier(10, 6 * HOUR_S), Tier(60, 7 * 24 * HOUR_S), Tier(HOUR_S, 365 * 24 * HOUR_S))


def horizon_s(tier: int, now_s: int) -> int:
    """The first second for which ``tier`` has buckets; a bucket of the next tier begins there."""
    step_s = TIERS[min(tier + 1, len(TIERS) - 1)].step_s
    return (now_s - TIERS[tier].kept_s) // step_s * step_s


def cell(time_ms: int, now_ms: int) -> Cell | None:
    """Tier and start in seconds of the bucket of ``time_ms``; None when it is older than everything kept."""
    time_s, now_s = min(time_ms, now_ms) // 1_000, now_ms // 1_000
    for number, tier in enumerate(TIERS):
        start_s = time_s // tier.step_s * tier.step_s
        if start_s >= horizon_s(number, now_s):
            return number, start_s
    return None


def split(delta: SeriesDelta, now_ms: int) -> Counter[Cell]:
    """The value of a delta by bucket."""
    cells: Counter[Cell] = Counter()
    for time_ms, value in (delta.buckets or {delta.last_ms: delta.value}).items():
        place = cell(time_ms, now_ms)
        if place is not None and value:
            cells[place] += value
    return cells


class BucketWriter:
    """Adds buckets and moves them to their next tiers; its only state is its round over the series."""

    def __init__(self, max_series: int) -> None:
        self._max_series = max_series
        self._due: tuple[int, ...] = ()
        self._began_ms = -PAUSE_MS

    def merge(
        self, connection: Connection, deltas: Sequence[SeriesDelta], now_ms: int
    ) -> tuple[SeriesDelta, ...]:
        """Add the deltas to their buckets; returns the counts of what went into the buckets of ``other``."""
        cells = [(delta, parts) for delta in deltas if (parts := split(delta, now_ms))]
        numbers, beyond = numbered(connection, [delta for delta, _ in cells], self._max_series)
        rows: Counter[Bucket] = Counter()
        for delta, parts in cells:
            number = numbers[delta.series.name, delta.labels]
            rows.update({(number, *part): value for part, value in parts.items()})
        add(connection, rows)
        self._move_on(connection, now_ms)
        return tuple(map(shared, beyond))

    def _move_on(self, connection: Connection, now_ms: int) -> None:
        if not self._due and abs(now_ms - self._began_ms) >= PAUSE_MS:
            self._due = tuple(connection.scalars(select(bucketed_series.c.id)))
            self._began_ms = now_ms
        now, self._due = self._due[:SERIES_A_BATCH], self._due[SERIES_A_BATCH:]
        if now:
            move_on(connection, now, now_ms // 1_000)


def add(connection: Connection, rows: Mapping[Bucket, int]) -> None:
    """Add values to buckets: (series, tier, start) -> value."""
    values = [
        {"series": series, "tier": tier, "start_s": start_s, "value": counted(value)}
        for (series, tier, start_s), value in sorted(rows.items())
    ]
    add_up(connection, buckets.c.value, values)


def move_on(connection: Connection, numbers: Sequence[int], now_s: int) -> None:
    """Move buckets that are too old for their tier to the next one; delete expired ones and empty series."""
    for tier in range(len(TIERS)):
        left = and_(
            buckets.c.series.in_(numbers), buckets.c.tier == tier, buckets.c.start_s < horizon_s(tier, now_s)
        )
        if tier + 1 < len(TIERS):
            summed = _summed(connection, TIERS[tier + 1].step_s, left)
            add(connection, {(series, tier + 1, start_s): value for series, start_s, value in summed})
        connection.execute(delete(buckets).where(left))
    having = select(buckets.c.series).where(buckets.c.series.in_(numbers))
    empty = bucketed_series.c.id.in_(numbers) & bucketed_series.c.id.not_in(having)
    connection.execute(delete(bucketed_series).where(empty))


def _summed(connection: Connection, step_s: int, *where: ColumnElement[bool]) -> list[tuple[int, int, int]]:
    """Number of the series, start of the step and value, of every step in which a series has buckets."""
    start_s = buckets.c.start_s - buckets.c.start_s % step_s
    grouped = select(buckets.c.series, start_s, func.sum(buckets.c.value)).where(*where)
    rows = connection.execute(grouped.group_by(buckets.c.series, start_s))
    return [(series, start, int(value)) for series, start, value in rows]


Numbers = dict[tuple[str, str], int]


def numbered(
    connection: Connection, deltas: Sequence[SeriesDelta], max_series: int
) -> tuple[Numbers, list[SeriesDelta]]:
    """The number of each delta's series, by name and labels, and the deltas beyond the bound.

    Those count in the series ``other``.
    """
    numbers: Numbers = {}
    beyond: list[SeriesDelta] = []
    for name, of_name in by_series(deltas):
        keys = [delta.labels for delta in of_name]
        known = _known(connection, name, keys)
        if len(known) < len(keys):
            rows = count(connection, bucketed_series, bucketed_series.c.name == name)
            admissible = admitted(keys, known, rows, max_series)
            outside = [delta for delta in of_name if delta.labels not in admissible]
            others = {delta.labels: other_key(delta.series, delta.labels) for delta in outside}
            admitted_keys = [key for key in keys if key in admissible]
            known = _add(connection, name, [*admitted_keys, *others.values()])
            known.update({key: known[other] for key, other in others.items()})
            beyond += outside
        numbers.update({(name, labels): number for labels, number in known.items()})
    return numbers, beyond


def _known(connection: Connection, name: str, keys: Iterable[str]) -> dict[str, int]:
    table = bucketed_series.c
    return {row.labels: row.id for row in rows_with(connection, table.labels, keys, table.name == name)}


def _add(connection: Connection, name: str, keys: Iterable[str]) -> dict[str, int]:
    """The numbers of the keys; keys without a number get new ones."""
    every = list(dict.fromkeys(keys))
    known = _known(connection, name, every)
    next_number = (connection.scalar(select(func.max(bucketed_series.c.id))) or 0) + 1
    new = {key: number for number, key in enumerate((key for key in every if key not in known), next_number)}
    rows = [{"id": number, "name": name, "labels": key} for key, number in new.items()]
    upsert(connection, bucketed_series, rows)
    return {**known, **new}


MAX_LINES: Final = 100
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
    column = buckets.c
    inside = (
        column.tier.in_(range(len(TIERS))),
        column.start_s >= window.from_s,
        column.start_s < window.to_s,
    )
    for chunk in chunks(members):
        for number, start_s, value in _summed(connection, window.step_s, column.series.in_(chunk), *inside):
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
