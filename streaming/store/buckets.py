"""Time buckets: what a series grew by in ten seconds, later in a minute, later in an hour.

| tier | step | kept |
|---|---|---|
| 0 | 10 s | 6 hours |
| 1 | 1 min | 7 days |
| 2 | 1 h | 365 days |

Buckets are by the time something happened. What comes late goes into the tier of its age, what claims to
come from the future counts now, what is older than a year is in the totals alone. Every batch moves the
buckets of a few series on to their next tier: a bounded step in the batch's own transaction.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, delete, func, select

from streaming.store.batch import SeriesDelta, combined
from streaming.store.bucketed import numbered
from streaming.store.engine import insert, many, saturated
from streaming.store.limits import shared
from streaming.store.schema import bucketed_series, buckets
from streaming.store.storable import counted

HOUR_S: Final = 3_600
SERIES_A_BATCH: Final = 20
"""How many series a batch moves on."""
PAUSE_MS: Final = 10_000
"""A round over all series begins at most this often: nothing is due more often."""

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
    """The first second of which ``tier`` still has buckets: a whole bucket of the next tier begins there."""
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


class Keeper:
    """Adds buckets and moves them on; remembers only where its round over the series stands."""

    def __init__(self, max_series: int) -> None:
        self._max_series = max_series
        self._due: tuple[int, ...] = ()
        self._began_ms = -PAUSE_MS

    def merge(
        self, connection: Connection, deltas: Sequence[SeriesDelta], now_ms: int
    ) -> tuple[SeriesDelta, ...]:
        """Add the buckets of the deltas; returns the counts that say what shares those of others."""
        cells = [(delta, parts) for delta in combined(deltas) if (parts := split(delta, now_ms))]
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
    if not rows:
        return
    statement = insert(connection, buckets)
    many(
        connection,
        statement.on_conflict_do_update(
            index_elements=list(buckets.primary_key.columns),
            set_={"value": saturated(buckets.c.value, statement.excluded.value)},
        ),
        [
            {"series": series, "tier": tier, "start_s": start_s, "value": counted(value)}
            for (series, tier, start_s), value in sorted(rows.items())
        ],
    )


def move_on(connection: Connection, numbers: Sequence[int], now_s: int) -> None:
    """Add up in the next tier what has left its own; forget what has left the last, and empty series."""
    for tier in range(len(TIERS)):
        left = and_(
            buckets.c.series.in_(numbers), buckets.c.tier == tier, buckets.c.start_s < horizon_s(tier, now_s)
        )
        if tier + 1 < len(TIERS):
            add(connection, _summed(connection, tier + 1, left))
        connection.execute(delete(buckets).where(left))
    having = select(buckets.c.series).where(buckets.c.series.in_(numbers))
    empty = bucketed_series.c.id.in_(numbers) & bucketed_series.c.id.not_in(having)
    connection.execute(delete(bucketed_series).where(empty))


def _summed(connection: Connection, tier: int, left: ColumnElement[bool]) -> dict[Bucket, int]:
    start_s = buckets.c.start_s - buckets.c.start_s % TIERS[tier].step_s
    grouped = select(buckets.c.series, start_s, func.sum(buckets.c.value)).where(left)
    rows = connection.execute(grouped.group_by(buckets.c.series, start_s))
    return {(series, tier, start): int(value) for series, start, value in rows}
