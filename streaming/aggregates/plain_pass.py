"""One pass over the raw records of a backlog: what is plain is summed up without a parser and the wide row.

It gives what ``one_pass`` gives for plain events (``streaming.plain_events``) and for dead letters, of which
no more than the topic is told here. Unusual events are only counted: they go through ``one_pass``. Of a
position that came twice, plain or not, the pass tells by the same hashes as that one, which then gets the
whole batch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, reduce

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from collector.contract.events import KINDS, Position
from streaming.aggregates.one_pass import MAX_RECORDS, STATEFUL
from streaming.aggregates.summary import LABELS, NO_POSITION, Summary
from streaming.aggregates.ticks import tick_ms
from streaming.decode import is_redriven_record
from streaming.plain_events import FIELDS, ORDINALS, detail_of, fields, labels_of, replaced

PLAIN = tuple(kind for kind in KINDS if kind not in STATEFUL)
SAME_MS = 1 << 19
"""Of events of one millisecond that of the later offset has the detail: offsets are compared modulo this."""
NUMBERS = ("count", "first_ms", "last_ms", "observed_ms", "first_offset", "last_offset", "redriven")
NO_LABELS: Mapping[str, str] = dict.fromkeys(LABELS, "")


@dataclass(frozen=True, slots=True)
class PlainPass:
    """Plain events and dead letters, how many events are ``unusual``, and whether a position came twice."""

    summaries: list[Summary]
    unusual: int
    copies: bool


def read(records: DataFrame, events_topic: str) -> PlainPass:
    """Run the pass; the columns in are those of Spark's Kafka source with headers."""
    rows = _by_source(_read_fields(records, events_topic).groupBy(*_keys()).agg(*_facts())).collect()
    parts = [part for row in rows for part in row.parts]
    return PlainPass(
        [_summary(part) for part in parts if not part.unusual],
        sum(part["count"] for part in parts if part.unusual),
        any(row.copies for row in rows),
    )


def unusual(records: DataFrame, events_topic: str) -> DataFrame:
    """The records of the events topic that the pass only counted."""
    events = records.where(F.col("topic") == events_topic).select("*", _replaced().alias("replaced"))
    return events.where(fields(F.col("replaced")).isNull()).drop("replaced")


def _read_fields(records: DataFrame, events_topic: str) -> DataFrame:
    """A row a record: the fields of a plain event, source and position of an unusual one."""
    return reduce(lambda frame, step: frame.select(*step), _steps(events_topic), records)


@cache
def _steps(events_topic: str) -> tuple[tuple[Column, ...], ...]:
    is_event, is_plain = F.col("topic") == events_topic, F.col("plain").isNotNull()
    place = ("topic", "partition", "offset")
    parts = {name: F.get("plain", F.lit(index)) for index, name in enumerate(FIELDS)}
    numbers = {name: parts[name].cast("long") for name in ("epoch", "place", "ordinal", "records")}
    strange = F.from_json(F.col("value").cast("string"), "source string, position array<bigint>")
    odd_position = F.col("strange.position")
    odd = [F.get(odd_position, F.lit(index)) for index in range(len(Position._fields))]
    return (
        (
            *(F.col(name) for name in (*place, "value")),
            F.unix_millis("timestamp").alias("timestamp_ms"),
            F.when(is_event, _replaced()).alias("replaced"),
            F.when(~is_event, is_redriven_record()).alias("redriven"),
            is_event.alias("is_event"),
        ),
        (
            *(F.col(name) for name in (*place, "value", "timestamp_ms", "redriven", "is_event")),
            fields(F.col("replaced")).alias("plain"),
        ),
        (
            *(F.col(name) for name in (*place, "redriven")),
            parts["labels"].alias("labels"),
            parts["source"].alias("source"),
            F.coalesce(parts["happened_ms"].cast("long"), "timestamp_ms").alias("happened_ms"),
            F.coalesce(parts["observed_ms"].cast("long"), "timestamp_ms").alias("observed_ms"),
            *(number.alias(name) for name, number in numbers.items()),
            parts["detail"].alias("detail"),
            F.when(F.col("is_event") & ~is_plain, strange).alias("strange"),
            (F.col("is_event") & ~is_plain).alias("unusual"),
        ),
        (
            *(F.col(name) for name in (*place, "redriven", "labels", "unusual", "detail")),
            *(F.col(name) for name in ("happened_ms", "observed_ms", "epoch", "records")),
            F.coalesce("source", "strange.source").alias("source"),
            (F.col("place") * ORDINALS + F.col("ordinal")).alias("place"),
            F.when(F.get(odd_position, F.lit(len(Position._fields) - 1)).isNotNull(), F.xxhash64(*odd))
            .when(F.col("epoch").isNotNull(), F.xxhash64("epoch", "place", "ordinal"))
            .alias("hash"),
        ),
    )


@cache
def _replaced() -> Column:
    return replaced(F.col("value").cast("string"), PLAIN)


@cache
def _keys() -> tuple[Column, ...]:
    """What has no labels is told apart by topic alone: a letter, or an unusual event."""
    plain = (F.col(name) for name in ("topic", "partition", "unusual", "source", "labels", "epoch"))
    return *plain, tick_ms("happened_ms").alias("tick_ms")


@cache
def _facts() -> tuple[Column, ...]:
    latest = F.col("happened_ms") * SAME_MS + F.pmod("offset", F.lit(SAME_MS))
    return (
        F.count(F.lit(1)).alias("count"),
        F.sum(F.least(F.greatest("records", F.lit(0)), F.lit(MAX_RECORDS))).alias("records"),
        F.min("happened_ms").alias("first_ms"),
        F.max("happened_ms").alias("last_ms"),
        F.max("observed_ms").alias("observed_ms"),
        F.min("offset").alias("first_offset"),
        F.max("offset").alias("last_offset"),
        F.count_if("redriven").alias("redriven"),
        F.min("place").alias("first_place"),
        F.max("place").alias("last_place"),
        F.max_by("detail", latest).alias("detail"),
        F.collect_list("hash").alias("hashes"),
    )


def _by_source(parts: DataFrame) -> DataFrame:
    """A row a source: its ``parts``, and whether two of its events may have one position."""
    by_source = parts.groupBy("source").agg(
        F.collect_list(F.struct(*(name for name in parts.columns if name != "hashes"))).alias("parts"),
        F.flatten(F.collect_list("hashes")).alias("hashes"),
    )
    return by_source.select("parts", (F.size(F.array_distinct("hashes")) < F.size("hashes")).alias("copies"))


def _summary(row: Row) -> Summary:
    values = row.asDict()
    text, epoch = values["labels"], values["epoch"]
    kind, labels = ("", NO_LABELS) if text is None else labels_of(text)
    return Summary(
        topic=values["topic"],
        partition=values["partition"],
        kind=kind,
        source=values["source"] or "",
        refused="",
        labels=labels,
        detail=detail_of(kind, values["detail"]) if kind else {},
        records=values["records"] or 0,
        **{name: values[name] for name in NUMBERS},
        first_position=_position(epoch, values["first_place"]),
        last_position=_position(epoch, values["last_place"]),
        stateful=(),
    )


def _position(epoch: int | None, place: int) -> Position:
    return NO_POSITION if epoch is None else Position(epoch, *divmod(place, ORDINALS))
