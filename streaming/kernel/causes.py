"""Dead letter records counted by cause and time, the newest records of each cause, and those that came back.

The pattern of a message and the fingerprint of a cause are worked out once for each distinct shape of a
message, not for each record.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from deadwatch.contract.fingerprint import (
    MAX_MESSAGE_CHARS,
    MAX_PATTERN_CHARS,
    SEPARATOR,
    SUBSTITUTIONS,
    of_parts,
)
from deadwatch.deadletter.dialects import SHARE_GROUP
from streaming.kernel import Context, headers, of_distinct, of_each_distinct, tick_column

CAUSE: Final = (
    *("topic", "fingerprint", "dialect", "source_topic", "consumergroup", "connector", "consumer"),
    *("error_class", "message_pattern"),
)
"""What the records of a cause have in common; ``consumer`` is the connector, else the consumer group."""
IDENTITY: Final = ("topic", "fingerprint", "consumergroup", "connector")
"""What tells one cause from another."""
AGE: Final = ("timestamp_ms", "partition", "offset")
"""What is greatest for the newest record."""
RETURN: Final = ("topic", "source_topic", "order", "sent_from")
"""What tells records that came back from a redrive apart."""

TOTALS: Final = (pl.col("count").sum(), pl.col("first_ms").min(), pl.col("last_ms").max())
"""The aggregation of counted rows."""
SUMS: Final = (
    *TOTALS,
    pl.col("broken").sum(),
    pl.col("message").last(),
)
"""The aggregation of rows of ``Causes.sums`` that are sorted by ``newest``, but for ``traced``."""

MAX_SAMPLES: Final = 1_000
MAX_HEADERS: Final = 64
MAX_HEADER_BYTES: Final = 1_024
MAX_KEY_BYTES: Final = 1_024
MAX_VALUE_BYTES: Final = 4_096

_KEY: Final = (*CAUSE, "tick_ms")
_NEWEST: Final = pl.col("newest").last()
_RAW: Final = ("dialect", "source_topic", "consumergroup", "connector", "error_class", "shape")
"""What decides the cause of a record: equal ones are of one cause."""
_PARTS: Final = ("dialect", "source_topic", "consumer", "error_class", "message_pattern")
"""What a fingerprint is made of."""
_GROUP: Final = re.compile(r"\\g<(\d)>")
"""A group in a replacement as Python writes it; Rust writes it with a dollar."""
_ZERO: Final = ord("0")
_HEX_MARK: Final = ord("x")
_ANY_DIGIT: Final = np.arange(256, dtype=np.uint8)
_ANY_DIGIT[_ZERO : _ZERO + 10] = ord("1")


class Causes(NamedTuple):
    """Dead letter records, by cause.

    ``sums``: a row for every cause and tick, with the columns ``CAUSE``, ``tick_ms``, ``count``, ``broken``,
    ``first_ms``, ``last_ms``, ``message`` (of the newest record), ``newest`` (its ``AGE``) and ``traced``
    (the ``AGE`` and the ``traceparent`` of the newest record that has one, or null).
    ``samples``: the newest records of each cause, at most ``MAX_SAMPLES``, with ``IDENTITY`` and ``AGE``.
    ``returned``: how many records came back by ``RETURN``, with ``first_ms`` and ``last_ms``; none came back
    before it was moved, whatever its timestamp: Kafka Connect keeps that of the original.
    ``origins``: the original positions of share groups' dead letters that no redrive has sent.
    """

    sums: pl.DataFrame
    samples: pl.DataFrame
    returned: pl.DataFrame
    origins: pl.DataFrame


def merge(parts: Iterable[Causes], context: Context) -> Causes | None:
    """The records of all parts; None where there are no parts."""
    columns = [*zip(*parts, strict=True)]
    if not columns:
        return None
    sums, samples, returned, origins = map(pl.concat, columns)
    return Causes(
        added_up(sums, _KEY, _NEWEST),
        _newest(samples.lazy(), context),
        _returned(returned.lazy()),
        origins.unique(),
    )


def count(records: pa.Table, context: Context) -> Causes:
    """Count dead letter records; columns in: topic, partition, offset, timestamp_ms, key, value, key_bytes,
    value_bytes, headers.
    """
    rows = _rows(records, context)
    by = ("topic", *_RAW, "tick_ms")
    counted = rows.group_by(by).agg(
        pl.len().cast(pl.Int64).alias("count"),
        pl.col("broken").cast(pl.Int64).sum(),
        pl.col("timestamp_ms").first().alias("first_ms"),
        pl.col("timestamp_ms").last().alias("last_ms"),
        pl.col("message").last(),
        pl.struct(AGE).last().alias("newest"),
        pl.col("row").alias("rows"),
        pl.col("row").tail(context.samples_per_group).alias("newest_rows"),
    )
    counted = _with_causes(_with_traced(counted, by, rows))
    newest = counted.lazy().select(*IDENTITY, row="newest_rows").explode("row", empty_as_null=False)
    moved_ms = pl.min_horizontal("moved_at_ms", pl.lit(context.now_ms))  # anybody may write such a header
    came_back_ms = pl.max_horizontal("timestamp_ms", moved_ms)
    one = {"count": pl.lit(1, pl.Int64), "first_ms": came_back_ms, "last_ms": came_back_ms}
    return Causes(
        added_up(counted, _KEY, _NEWEST),
        _samples(records, _newest(newest.join(rows.lazy().select("row", *AGE), on="row"), context)),
        _returned(rows.lazy().filter("redriven").with_columns(**one)),
        _origins(rows, counted),
    )


def _rows(records: pa.Table, context: Context) -> pl.DataFrame:
    """The records by ``AGE``: what their headers say, ``row`` (their place in ``records``), ``shape`` and
    ``tick_ms``, and ``traced`` as in ``Causes.sums``.
    """
    read = pl.DataFrame(pl.from_arrow(records.select(["topic", *AGE])))
    said = headers.parse(records["headers"].combine_chunks(), read["topic"], context.reading)
    more = [pl.Series("row", range(len(read))), shapes(said.drop_in_place("whole_message")).alias("shape")]
    tick_ms = tick_column(pl.col("timestamp_ms"), context.now_ms)
    traced = pl.when(pl.col("traceparent") != "").then(pl.struct(*AGE, "traceparent"))
    rows = read.hstack([*said, *more]).lazy().sort(AGE)
    return rows.with_columns(tick_ms=tick_ms, traced=traced).collect()


def shapes(messages: pl.Series) -> pl.Series:
    """The messages, none of them null, with a 1 for every digit; messages of one shape have one pattern.

    The substitutions of ``deadwatch.contract.fingerprint`` replace every digit, and none of them depends on
    which digit it is, except for the 0 of ``0x``, which is kept.
    """
    texts = messages.to_arrow()
    _, offsets, data = texts.buffers()
    if data is None:
        return messages
    written = np.frombuffer(data, dtype=np.uint8)
    shaped = _ANY_DIGIT[written]
    shaped[np.flatnonzero((written[:-1] == _ZERO) & (written[1:] == _HEX_MARK))] = _ZERO
    array = pa.LargeStringArray.from_buffers(len(texts), offsets, pa.py_buffer(shaped), None, 0, texts.offset)
    return pl.Series(messages.name, pl.from_arrow(array))


def patterns(messages: pl.Expr) -> pl.Expr:
    """``deadwatch.contract.fingerprint.message_pattern`` of a column."""
    text = messages.str.slice(0, MAX_MESSAGE_CHARS)
    for pattern, replacement in SUBSTITUTIONS:
        text = text.str.replace_all(pattern, _GROUP.sub(r"${\1}", replacement))
    return text.str.slice(0, MAX_PATTERN_CHARS).str.strip_chars(" ")


def _with_causes(counted: pl.DataFrame) -> pl.DataFrame:
    """With the pattern, the consumer and the fingerprint that follow from the columns of ``_RAW``."""
    connector = pl.col("connector")
    pattern = of_distinct(counted["shape"], _patterns).alias("message_pattern")
    consumer = pl.when(connector != "").then(connector).otherwise("consumergroup").alias("consumer")
    parts = pl.concat_str(_PARTS, separator=SEPARATOR).alias("parts")
    named = counted.hstack([pattern]).lazy().with_columns(consumer).with_columns(parts).collect()
    return named.hstack([of_each_distinct(named["parts"], of_parts).alias("fingerprint")])


def _patterns(distinct: pl.Series) -> pl.Series:
    return distinct.to_frame("shape").select(patterns(pl.col("shape"))).to_series()


def added_up(sums: pl.DataFrame, by: Sequence[str], *more: pl.Expr) -> pl.DataFrame:
    """One row of ``Causes.sums`` for those with equal ``by``; ``more`` are further aggregations."""
    found = sums.lazy().sort("newest").group_by(by).agg(*SUMS, *more).collect()
    return _with_traced(found, by, sums)


def _with_traced(found: pl.DataFrame, by: Sequence[str], rows: pl.DataFrame) -> pl.DataFrame:
    """With the greatest ``traced`` of the rows with these ``by``, or null.

    Mostly nothing is traced: to look for it in each group would take twenty times as long as all else.
    """
    traced = rows["traced"]
    if traced.null_count() == len(rows):
        return found.hstack([traced.clear(len(found))])
    last = rows.lazy().drop_nulls("traced").sort("traced").group_by(by).agg(pl.col("traced").last())
    return found.lazy().join(last, on=by, how="left").collect()


def _samples(records: pa.Table, found: pl.DataFrame) -> pl.DataFrame:
    """These rows of the records, cut to a size that a page can show."""
    columns = ["key", "value", "key_bytes", "value_bytes", "headers"]
    taken = pl.DataFrame(pl.from_arrow(records.select(columns).take(found["row"].to_arrow())))
    header = pl.element().struct.with_fields(pl.field("value").bin.slice(0, MAX_HEADER_BYTES))
    return found.drop("row").hstack(
        taken.with_columns(
            pl.col("key").bin.slice(0, MAX_KEY_BYTES),
            pl.col("value").bin.slice(0, MAX_VALUE_BYTES),
            pl.col("headers").list.head(MAX_HEADERS).list.eval(header),
        )
    )


def _newest(samples: pl.LazyFrame, context: Context) -> pl.DataFrame:
    """The newest of each cause; where these are too many, rather one of each cause than all of some."""
    ordered = samples.sort(AGE, descending=True).with_row_index("place")
    ranked = (
        ordered.group_by(IDENTITY)
        .agg(pl.col("place").head(context.samples_per_group))
        .select("place", rank=pl.int_ranges(pl.col("place").list.len()))
        .explode("place", "rank", empty_as_null=False)
    )
    chosen = ordered.join(ranked, on="place").sort("rank", "place").head(MAX_SAMPLES)
    return chosen.drop("place", "rank").collect()


def _returned(rows: pl.LazyFrame) -> pl.DataFrame:
    return rows.group_by(RETURN).agg(TOTALS).collect()


def _origins(rows: pl.DataFrame, counted: pl.DataFrame) -> pl.DataFrame:
    shared = rows.lazy().filter(~pl.col("redriven") & (pl.col("dialect") == SHARE_GROUP.name))
    of_row = counted.lazy().select("fingerprint", row="rows").explode("row", empty_as_null=False)
    origin = ("topic", "fingerprint", "source_topic", "source_partition", "source_offset")
    return shared.join(of_row, on="row").select(origin).drop_nulls().unique().collect()
