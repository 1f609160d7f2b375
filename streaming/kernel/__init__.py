"""The kernel: from raw Kafka records to what a batch changes, without Spark, store, clock or network.

``partial``
    ``summarise`` makes a ``Partial`` of records, ``merge`` one of two. Start here.
``events`` and ``event_decoder``
    Events: decoded one at a time, counted by kind, source, labels and time.
``causes`` and ``headers``
    Dead letters: headers parsed for all records at once, counted by cause and time.

Large batches are summarised in Spark's executors, small ones in the driver, by the same functions. Here is
what both kinds of records need besides themselves: the ``Context``, and the ticks that follow from its clock.

A tick is the start of the time bucket that the store will count a failure in: the older the failure, the
wider the bucket. A sum with the tick in its key gives a row for every bucket of a backlog, and one row for
what happens now. What is older than every bucket has the tick 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from deadwatch.contract.events import Position
from deadwatch.deadletter.dialects import Reading
from deadwatch.store.write.buckets import TIERS

NO_POSITION: Final = Position(-1)
"""Below all positions."""


@dataclass(frozen=True, slots=True)
class Context:
    """``now_ms`` (since the epoch) decides the ticks; ``reading`` how headers of dead letters are read.

    ``replayed`` are the sources that may have sent events again, each with the position up to which its
    events were counted in earlier batches: events of these sources are told apart by position.
    """

    events_topic: str
    now_ms: int
    samples_per_group: int
    reading: Reading = field(default_factory=Reading)
    replayed: Mapping[str, Position] = field(default_factory=dict)


def ticks(now_ms: int) -> Callable[[int], int]:
    """The function from the time of a failure to its tick, both in ms since the epoch, at ``now_ms``."""
    widths = _widths()

    def tick_ms(happened_ms: int) -> int:
        for width_ms, reach_ms in widths:
            if now_ms - happened_ms < reach_ms:
                return happened_ms - happened_ms % width_ms
        return 0

    return tick_ms


def tick_column(happened: pl.Expr, now_ms: int) -> pl.Expr:
    """The same for a column."""
    older = pl.lit(0, pl.Int64)
    for width_ms, reach_ms in reversed(_widths()):
        older = pl.when(now_ms - happened < reach_ms).then(happened - happened % width_ms).otherwise(older)
    return older


def of_distinct(texts: pl.Series, function: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """What ``function`` makes of each text; it gets each distinct one once."""
    encoded = texts.to_arrow().dictionary_encode()
    distinct, numbers = (pl.Series(pl.from_arrow(part)) for part in (encoded.dictionary, encoded.indices))
    return function(distinct)[numbers]


def of_each_distinct(texts: pl.Series, make: Callable[[str], str]) -> pl.Series:
    """What ``make`` makes of each text, worked out once for each distinct one."""
    return of_distinct(texts, lambda distinct: pl.Series(map(make, distinct.to_list()), dtype=pl.String))


def _widths() -> list[tuple[int, int]]:
    """For every tier the width of a bucket and the age up to which it is used, in ms.

    A tier is used for one bucket of the next tier longer than it is kept: until that bucket is complete.
    """
    wider = zip(TIERS, (*TIERS[1:], TIERS[-1]), strict=True)
    return [(tier.step_s * 1_000, (tier.kept_s + next_tier.step_s) * 1_000) for tier, next_tier in wider]
