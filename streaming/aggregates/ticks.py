"""When something happened, as narrow as the store will tell it: the wider the bucket, the older it is.

An aggregate with the tick among its keys gives a row for every bucket of a backlog; live, one row as ever.
What is older than every bucket has one tick, 0.
"""

from functools import cache, reduce

import polars as pl
from pyspark.sql import Column
from pyspark.sql import functions as F

from streaming.store.buckets import TIERS


@cache
def tick_ms(happened: str) -> Column:
    """The begin of the bucket of the column ``happened``, in ms since the epoch."""
    return _tick_ms(F.col(happened))


@cache
def event_tick_ms() -> Column:
    """That of a decoded row: when its event happened, else the time of the record."""
    return _tick_ms(F.coalesce("event.happened_at_ms", "timestamp_ms"))


def _tick_ms(happened: Column) -> Column:
    minute = F.date_trunc("minute", F.current_timestamp())  # in the code that Spark compiles: rarely new
    age_ms = F.unix_millis(minute) - happened
    return reduce(
        lambda older, width: F.when(
            age_ms < width[1], happened - F.pmod(happened, F.lit(width[0]))
        ).otherwise(older),
        reversed(_widths()),
        F.lit(0).cast("long"),
    )


def _widths() -> list[tuple[int, int]]:
    """Of every tier the width of a bucket and how old a failure may be, in ms.

    A tier reaches back by up to one bucket of the next one more than it is kept: until that has passed.
    """
    wider = (*TIERS[1:], TIERS[-1])
    return [
        (tier.step_s * 1_000, (tier.kept_s + next_tier.step_s) * 1_000)
        for tier, next_tier in zip(TIERS, wider, strict=True)
    ]


def tick_at_ms(happened_ms: int, now_ms: int) -> int:
    """The same of one time, as it is at ``now_ms``."""
    for width_ms, reach_ms in _widths():
        if now_ms - happened_ms < reach_ms:
            return happened_ms - happened_ms % width_ms
    return 0


def polars_tick_ms(happened: pl.Expr, now_ms: int) -> pl.Expr:
    """The same in Polars, as it is at ``now_ms``."""
    older = pl.lit(0, pl.Int64)
    for width_ms, reach_ms in reversed(_widths()):
        older = pl.when(now_ms - happened < reach_ms).then(happened - happened % width_ms).otherwise(older)
    return older
