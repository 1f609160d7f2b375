"""A batch of Kafka records, decoded: every row is an event, a refused event or a dead letter, never nothing.

Columns out: topic, partition, offset, timestamp_ms, key, value, headers as Kafka has them, and

* ``event``: the struct of ``event_schema``, null unless the record is an event with all fields of its kind,
* ``refused``: why a record of the events topic is no such event, else null; rows with neither are dead
  letters, which ``streaming.dead_letter`` reads further.
"""

import dataclasses
from collections.abc import Sequence
from functools import cache, partial, reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from collector.contract.events import KINDS, Event
from collector.contract.headers import REDRIVE_ID, REDRIVE_PARKED_REASON
from streaming import refusals
from streaming.event_rows import NESTED
from streaming.event_schema import POSITION_PARTS, event_schema, required_fields

KAFKA = ("topic", "partition", "offset", "timestamp_ms", "key", "value", "headers")
REDRIVEN_RECORD = (
    f"coalesce(array_contains(headers.key, '{REDRIVE_ID}'), false)"
    f" AND NOT coalesce(array_contains(headers.key, '{REDRIVE_PARKED_REASON}'), false)"
)
"""Whether a dead letter is one that a redrive has moved before; one that it parked is none."""


def decode(records: DataFrame, events_topic: str) -> DataFrame:
    """Decode records of Kafka's source with headers; all topics but ``events_topic`` have dead letters."""
    return reduce(lambda frame, step: frame.select(*step), _steps(events_topic), records)


@cache
def _steps(events_topic: str) -> tuple[tuple[Column, ...], ...]:
    """What every step selects; made once, because every part of an expression is a call into the JVM."""
    is_event = F.col("topic") == events_topic
    kafka = [
        F.unix_millis("timestamp").alias(name) if name == "timestamp_ms" else F.col(name) for name in KAFKA
    ]
    parsed = F.from_json(F.col("value").cast("string"), event_schema())
    accepted = is_event & F.col("refused").isNull()
    return (
        (*kafka, F.when(is_event, parsed).alias("parsed")),
        (F.col("*"), F.when(is_event, _refusal()).alias("refused")),
        (*map(F.col, KAFKA), F.when(accepted, F.col("parsed")).alias("event"), F.col("refused")),
    )


def is_letter() -> Column:
    """Whether a decoded row is a dead letter."""
    return F.col("event").isNull() & F.col("refused").isNull()


def is_redriven() -> Column:
    """Whether a decoded row is a dead letter that a redrive has moved before; one that it parked is none."""
    return is_letter() & F.expr(REDRIVEN_RECORD)


def _refusal() -> Column:
    complete, kind = _complete(), F.col("parsed.kind")
    return (
        F.when(complete, None)
        .when(F.json_object_keys(F.col("value").cast("string")).isNull(), refusals.NOT_JSON)
        .when(F.coalesce(~kind.isin(*KINDS), F.lit(True)), refusals.UNKNOWN_KIND)
        .otherwise(refusals.INCOMPLETE)
    )


def _complete() -> Column:
    """Whether every field that the row's kind must have is there, positions and what lists hold in full.

    What every event has is looked at once: the smaller the expression, the sooner the JVM compiles it.
    """
    position = F.col("parsed.position")
    parts = [F.get(position, F.lit(index)).isNotNull() for index in range(POSITION_PARTS)]
    common = required_fields(Event)
    complete = F.lit(False)
    for kind, cls in reversed(KINDS.items()):
        present = [_present(name) for name in required_fields(cls) if name not in common]
        complete = F.when(F.col("parsed.kind") == kind, reduce(and_, present)).otherwise(complete)
    everywhere = reduce(and_, (*map(_present, common), F.size(position) == POSITION_PARTS, *parts))
    return F.coalesce(everywhere & complete, F.lit(False))


def _present(name: str) -> Column:
    field = F.col(f"parsed.{name}")
    if name not in NESTED:
        return field.isNotNull()
    parts = [part.name for part in dataclasses.fields(NESTED[name])]
    return field.isNotNull() & F.forall(field, partial(_whole, parts))


def _whole(parts: Sequence[str], one: Column) -> Column:
    return reduce(and_, (one[part].isNotNull() for part in parts))
