"""Raw records of a backlog, summed up by Polars some at a time: what the workers of ``plain_pass`` do.

Columns in: ``at_partition``, ``at_offset``, ``at_ms`` (the time of the record); of an event ``value``; of a
dead letter ``topic`` and ``redriven``. Records of a partition stand in their order.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import polars as pl

from collector.contract.events import KINDS
from streaming.aggregates.one_pass import STATEFUL
from streaming.aggregates.summary import DETAILS, LABELS, MAX_RECORDS
from streaming.aggregates.ticks import polars_tick_ms
from streaming.plain_events import ORDINALS, fields_of, of_kind, taken_apart

PLAIN: Final = tuple(kind for kind in KINDS if kind not in STATEFUL)
KEYS: Final = {
    "topic": pl.String(),
    "at_partition": pl.Int32(),
    "kind": pl.String(),
    "source": pl.String(),
    "labels": pl.String(),
    "epoch": pl.Int64(),
    "tick_ms": pl.Int64(),
}
SUMS: Final = ("count", "records", "redriven")
LEAST: Final = ("first_ms", "first_offset", "first_place")
MOST: Final = ("last_ms", "observed_ms", "last_offset", "last_place")
PARTS: Final = {**KEYS, **dict.fromkeys((*SUMS, *LEAST, *MOST), pl.Int64()), "detail": pl.String()}
PLACES: Final = {
    "source": pl.String(),
    "at_partition": pl.Int32(),
    "at_offset": pl.Int64(),
    "epoch": pl.Int64(),
    "place": pl.Int64(),
}
LARGEST: Final = 2**63 - 1


class Chunk(NamedTuple):
    """Sums with the columns ``PARTS``; what ``lanes`` tells; of other events place, time and value."""

    parts: pl.DataFrame
    lanes: pl.DataFrame
    not_plain: pl.DataFrame


def summed_up(records: pl.DataFrame, now_ms: int) -> Chunk:
    """Sums of these records; times are told apart as narrow as the store tells them at ``now_ms``."""
    is_letter = pl.col("topic").is_not_null()
    parts, places, not_plain = [_letters(records.filter(is_letter), now_ms)], [], []
    rest = records.filter(~is_letter).drop("topic", "redriven")
    rest = rest.with_columns(_texts(rest["value"]).alias("text"))
    text = pl.col("text")
    for kind in PLAIN:
        is_mine = of_kind(text, kind).fill_null(value=False)
        mine, rest = rest.filter(is_mine), rest.filter(~is_mine)
        if mine.is_empty():
            continue
        apart = mine.with_columns(taken_apart(text, kind).alias("event"))
        is_plain = pl.col("event").struct.field("epoch").is_not_null()
        not_plain.append(apart.filter(~is_plain).drop("event"))
        events = apart.filter(is_plain).select("at_partition", "at_offset", "event").unnest("event")
        events = events.with_columns(pl.col("place") * ORDINALS + pl.col("ordinal"))
        places.append(events.select(*PLACES))
        parts.append(_events(events, kind, now_ms))
    odd = pl.concat([rest, *not_plain]).select("at_partition", "at_offset", "at_ms", "value")
    return Chunk(merged(parts), lanes([*places, _odd_places(odd)]), odd)


def _texts(values: pl.Series) -> pl.Series:
    """As text, null where it is none; rarely is there such a one, so these are looked for one by one."""
    try:
        return values.cast(pl.String)
    except pl.exceptions.ComputeError:
        return pl.Series([_text(value) for value in values], dtype=pl.String)


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def merged(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """One row for equal ``KEYS``; the later detail is kept, of those of one time that of the later part."""
    frames = pl.concat([pl.DataFrame(schema=PARTS), *parts], how="diagonal")
    return (
        frames.sort("last_ms", maintain_order=True)
        .group_by(list(KEYS))
        .agg(
            *(pl.col(name).sum() for name in SUMS),
            *(pl.col(name).min() for name in LEAST),
            *(pl.col(name).max() for name in MOST),
            pl.col("detail").last(),
        )
    )


def lanes(places: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """A row a source and partition: its first and last position, and whether they ``grow`` between them."""
    epoch, place = pl.col("epoch").diff(), pl.col("place").diff()
    return (
        pl.concat(places)
        .sort("at_partition", "at_offset")
        .group_by("source", "at_partition", maintain_order=True)
        .agg(
            pl.concat_list(pl.col("epoch", "place").first()).alias("first"),
            pl.concat_list(pl.col("epoch", "place").last()).alias("last"),
            ((epoch > 0) | ((epoch == 0) & (place > 0))).all().alias("grow"),
        )
    )


def meet(found: Iterable[pl.DataFrame]) -> bool:
    """Whether two lanes of a source overlap, or one does not grow, so that an event may stand twice."""
    bounds: dict[str, list[tuple[list[int], list[int]]]] = {}
    for each in found:
        if not each["grow"].all():
            return True
        for source, first, last in each.select("source", "first", "last").iter_rows():
            bounds.setdefault(source, []).append((first, last))
    return any(
        later[0] <= earlier[1] for each in bounds.values() for earlier, later in pairwise(sorted(each))
    )


def _events(events: pl.DataFrame, kind: str, now_ms: int) -> pl.DataFrame:
    labels, details = ([name for name in names if name in fields_of(kind)] for names in (LABELS, DETAILS))
    records = pl.col("records").clip(0, MAX_RECORDS).sum() if "records" in details else pl.lit(0, pl.Int64)
    summed = (
        events.sort("happened_at_ms", maintain_order=True)
        .with_columns(polars_tick_ms(pl.col("happened_at_ms"), now_ms).alias("tick_ms"))
        .group_by("at_partition", "source", "epoch", "tick_ms", *labels)
        .agg(
            *_counted("happened_at_ms", "observed_at_ms"),
            records.alias("sum_of_records"),
            pl.col("place").min().alias("first_place"),
            pl.col("place").max().alias("last_place"),
            *(pl.col(name).last().alias(f"last {name}") for name in details),
        )
    )
    detail = [pl.col(f"last {name}").alias(name) for name in details]
    return summed.select(
        *(
            "at_partition",
            "source",
            "epoch",
            "tick_ms",
            "count",
            *(name for name in LEAST),
            *(name for name in MOST),
        ),
        pl.lit(kind).alias("kind"),
        pl.struct(labels).struct.json_encode().alias("labels"),
        pl.col("sum_of_records").alias("records"),
        (pl.struct(detail).struct.json_encode() if detail else pl.lit("{}")).alias("detail"),
    )


def _letters(letters: pl.DataFrame, now_ms: int) -> pl.DataFrame:
    return (
        letters.with_columns(polars_tick_ms(pl.col("at_ms"), now_ms).alias("tick_ms"))
        .group_by("topic", "at_partition", "tick_ms")
        .agg(*_counted("at_ms", "at_ms"), pl.col("redriven").cast(pl.Int64).sum())
    )


def _counted(happened: str, observed: str) -> tuple[pl.Expr, ...]:
    return (
        pl.len().cast(pl.Int64).alias("count"),
        pl.col(happened).min().alias("first_ms"),
        pl.col(happened).max().alias("last_ms"),
        pl.col(observed).max().alias("observed_ms"),
        pl.col("at_offset").min().alias("first_offset"),
        pl.col("at_offset").max().alias("last_offset"),
    )


def _odd_places(odd: pl.DataFrame) -> pl.DataFrame:
    """Of those events that have a position at all; one out of all bounds is the largest there is."""
    rows = []
    for partition, offset, value in odd.select("at_partition", "at_offset", "value").iter_rows():
        try:
            event = json.loads(value)
            source, (epoch, place, ordinal) = str(event["source"]), map(int, event["position"])
        except (ValueError, TypeError, LookupError):
            continue
        rows.append(
            (source, partition, offset, *(min(one, LARGEST) for one in (epoch, place * ORDINALS + ordinal)))
        )
    return pl.DataFrame(rows, schema=PLACES, orient="row")
