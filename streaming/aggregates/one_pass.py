"""One pass over a decoded batch sums it up for every signal.

An event that was sent twice (same source, same position) counts once. That happens after a crash alone, so
the pass only proves by hashes that no position came twice; a batch in which one did is gone through again and
its copies are taken out. What is no event, refused records and dead letters, is counted by topic. The rare
events that change a state are handed over one by one.

Expressions are made once: every part of one is a call into the JVM, and there are hundreds for every batch.
"""

from collections.abc import Mapping
from functools import cache

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from collector.contract import events
from collector.contract.events import Position
from streaming.aggregates import summary
from streaming.aggregates.summary import DETAILS, LABELS, MAX_RECORDS, Summary
from streaming.aggregates.ticks import event_tick_ms
from streaming.decode import is_redriven

STATEFUL = tuple(
    cls.kind
    for cls in (
        events.TaskAbandoned,
        events.ConnectorAbandoned,
        events.AbandonedEnded,
        events.WorkerStarted,
        events.WorkerSnapshot,
        events.TaskTimerStarted,
        events.TaskTimerEnded,
        events.BrokerSnapshot,
        events.DeadLetterTopicsSnapshot,
        events.FindingsSnapshot,
        events.ConnectTasksSnapshot,
        events.RedriveWritten,
        events.RedriveHandled,
        events.SourceStatus,
        events.CollectorSnapshot,
    )
)


def summarise(decoded: DataFrame) -> list[Summary]:
    """Run the pass; the columns in are those of ``streaming.decode``."""
    rows = _by_source(decoded.groupBy(*_keys()).agg(*_facts(), _places())).collect()
    if any(row.copies for row in rows):
        once = decoded.select("*", _copy()).where("copy = 1")
        return [summary.read(row) for row in once.groupBy(*_keys()).agg(*_facts()).collect()]
    return [summary.read(part) for row in rows for part in row.parts]


def _by_source(parts: DataFrame) -> DataFrame:
    """A row a source: its ``parts``, and whether two of its events may have one position."""
    places = F.flatten(F.collect_list("places"))
    by_source = parts.groupBy("source").agg(
        F.collect_list(F.struct(*(name for name in parts.columns if name != "places"))).alias("parts"),
        places.alias("places"),
    )
    return by_source.select("parts", (F.size(F.array_distinct("places")) < F.size("places")).alias("copies"))


def after(decoded: DataFrame, marks: Mapping[str, Position]) -> DataFrame:
    """``decoded`` without the events of these sources at or below their marks."""
    counted = F.lit(False)
    for source, mark in marks.items():
        counted |= (F.col("event.source") == source) & (
            _position() <= F.struct(*(F.lit(part).cast("long") for part in mark))
        )
    return decoded.where(~F.coalesce(counted, F.lit(False)))


def _position() -> Column:
    parts = [F.get("event.position", F.lit(index)) for index in range(len(Position._fields))]
    return F.struct(*(part.alias(name) for part, name in zip(parts, Position._fields, strict=True)))


@cache
def _copy() -> Column:
    """Counts the copies of every (source, position); what is no event is told apart by its own offset."""
    no_event = F.col("event").isNull()
    place = [F.when(no_event, F.col(name)) for name in ("topic", "partition", "offset")]
    position = [F.get("event.position", F.lit(index)) for index in range(len(Position._fields))]
    same = Window.partitionBy("event.source", *position, *place).orderBy("offset")
    return F.row_number().over(same).alias("copy")


@cache
def _places() -> Column:
    """A hash of every event's position: equal ones have equal hashes."""
    place = F.xxhash64(*(F.get("event.position", F.lit(index)) for index in range(len(Position._fields))))
    return F.collect_list(F.when(F.col("event").isNotNull(), place)).alias("places")


@cache
def _keys() -> tuple[Column, ...]:
    return (
        F.col("topic"),
        F.col("partition"),
        F.col("refused"),
        F.col("event.kind").alias("kind"),
        F.col("event.source").alias("source"),
        *(F.col(f"event.{name}").alias(f"label_{name}") for name in LABELS),
        event_tick_ms().alias("tick_ms"),
    )


@cache
def _facts() -> tuple[Column, ...]:
    happened = F.coalesce("event.happened_at_ms", "timestamp_ms")
    stateful = F.col("event.kind").isin(*STATEFUL)
    return (
        F.count(F.lit(1)).alias("count"),
        F.coalesce(F.sum(_bounded_records()), F.lit(0)).alias("records"),
        F.min(happened).alias("first_ms"),
        F.max(happened).alias("last_ms"),
        F.max(F.coalesce("event.observed_at_ms", "timestamp_ms")).alias("observed_ms"),
        F.min("offset").alias("first_offset"),
        F.max("offset").alias("last_offset"),
        F.count_if(is_redriven()).alias("redriven"),
        F.min(_position()).alias("first_position"),
        F.max(_position()).alias("last_position"),
        F.max_by(F.struct(*(f"event.{name}" for name in DETAILS)), F.struct(happened, "offset")).alias(
            "detail"
        ),
        F.collect_list(F.when(stateful, F.col("event"))).alias("stateful"),
    )


def _bounded_records() -> Column:
    """What an event says, as far as it can be true."""
    return F.least(F.greatest("event.records", F.lit(0)), F.lit(MAX_RECORDS))
