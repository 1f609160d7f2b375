"""A few batches that are thrown away, run before the first real one: the JVM compiles what every batch needs.

Without them the first failure after a start waits several seconds for class loading and code generation. They
hold one event of every kind and one dead letter of every dialect, and go the way of every batch up to the
store, which they never reach.
"""

import dataclasses
import json
import tempfile
import threading
import typing
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from collector.contract.events import KINDS, Position, encode
from streaming.dialects import Dialect, reading

ROUNDS = 3
SCHEMA = (
    "array<struct<key: binary, value: binary, topic: string, partition: int, offset: bigint, "
    "timestamp: timestamp, headers: array<struct<key: string, value: binary>>>>"
)
"""The columns of Spark's Kafka source that are read, headers included."""

_PLAIN: Mapping[object, Any] = {str: "warm-up", int: 1, bool: True, Position: Position(1)}


def run(
    spark: SparkSession, events_topic: str, rehearse: Callable[[DataFrame], None], stop: threading.Event
) -> None:
    """Hand batches to ``rehearse``, ``ROUNDS`` times or until ``stop`` is set; one that fails ends
    the warm-up alone.
    """
    done = threading.Event()

    def batch(records: DataFrame, batch_id: int) -> None:
        if batch_id < ROUNDS and not stop.is_set():
            rehearse(records)
        else:
            done.set()

    with tempfile.TemporaryDirectory(prefix="deadwatch-warm-up-") as checkpoint:
        stream = _records(spark, events_topic).writeStream
        query = stream.foreachBatch(batch).option("checkpointLocation", checkpoint).start()
        while query.isActive and not done.wait(0.02):
            continue
        query.stop()


def _records(spark: SparkSession, events_topic: str) -> DataFrame:
    """A stream of the same records in every batch, from one literal: no Python worker is started for them."""
    rows = json.dumps([*_events(events_topic), *_letters()])
    ticks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    return ticks.select(F.inline(F.from_json(F.lit(rows), SCHEMA)))


def _events(topic: str) -> Iterator[dict[str, object]]:
    for offset, cls in enumerate(KINDS.values()):
        key, value = encode(dataclasses.replace(_example(cls), position=Position(offset)))
        yield _record(topic, offset, key, value, {})


def _letters() -> Iterator[dict[str, object]]:
    for offset, dialect in enumerate(reading().dialects):
        yield _record("dlq.warm-up", offset, b"key", b"value", _headers(dialect))


def _headers(dialect: Dialect) -> dict[str, str]:
    return dict.fromkeys(dialect.headers, "1")


def _record(
    topic: str, offset: int, key: bytes, value: bytes, headers: Mapping[str, str]
) -> dict[str, object]:
    return {
        "key": b64encode(key).decode(),
        "value": b64encode(value).decode(),
        "topic": topic,
        "partition": 0,
        "offset": offset,
        "timestamp": "1970-01-01T00:00:00Z",
        "headers": [
            {"key": name, "value": b64encode(text.encode()).decode()} for name, text in headers.items()
        ],
    }


def _example(cls: type) -> Any:  # noqa: ANN401 -- of the class that is asked for
    """An instance with something in every field, lists of one element included."""
    hints = typing.get_type_hints(cls)
    return cls(**{field.name: _value(hints[field.name]) for field in dataclasses.fields(cls)})


def _value(hint: Any) -> Any:  # noqa: ANN401 -- a type is what it is
    if typing.get_origin(hint) is tuple:
        return (_value(typing.get_args(hint)[0]),)
    return _PLAIN[hint] if hint in _PLAIN else _example(hint)
