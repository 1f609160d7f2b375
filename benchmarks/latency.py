"""From an event's send until ``/metrics`` counts it, at a steady rate; beside a sketch without exactness.

A row's ``ours`` and ``peer`` are milliseconds, the fewer the better, and ``ratio`` is the peer's by ours. The
sketch is what a first one of the stream would be: parse, group, add to SQLite; no marks, no detail. It gives
the latency that Spark's micro-batches allow on a machine, and is looked at in its own table, without an api.
The last row has ten times the events, beside our own figure without them. ``DEADWATCH_BENCH_RATE`` and
``DEADWATCH_BENCH_SECONDS`` size it.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks import probe
from benchmarks.row import Row, place
from benchmarks.service import Service
from lab.topics import Topics
from streaming import session
from streaming.settings import StreamingSettings

PER_SECOND: Final = int(os.environ.get("DEADWATCH_BENCH_RATE", "5000"))
SECONDS: Final = float(os.environ.get("DEADWATCH_BENCH_SECONDS", "30"))
WARM_UP_S: Final = 20.0
TIMES: Final = 10
LATER: Final = 1 / 3
"""With so many times the events, the slowest may take three times as long."""
PARTITIONS: Final = 3
SCHEMA: Final = "kind string, source string, happened_at_ms long"
ADD: Final = """
INSERT INTO counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value,
last_ms = max(last_ms, excluded.last_ms)
"""


def rows() -> Iterator[Row]:
    """A row a percentile, and one for ten times the rate."""
    with place() as (servers, directory):
        (ours, many), theirs = _ours(servers, directory), _sketch(servers, directory)
    until = "an event until /metrics at"
    for part in (0.5, 0.95):
        mine, peer = probe.percentile(ours, part), probe.percentile(theirs, part)
        yield Row.fewer(f"{until} {PER_SECOND:,}/s, p{part * 100:.0f} in ms, beside a sketch", mine, peer, 1)
    slow, quick = probe.percentile(many, 0.95), probe.percentile(ours, 0.95)
    work = f"{until} {TIMES * PER_SECOND:,}/s, p95 in ms, beside {PER_SECOND:,}/s"
    yield Row.fewer(work, slow, quick, LATER)


def _ours(servers: str, directory: Path) -> tuple[list[float], list[float]]:
    """At the rate, and at ``TIMES`` the rate."""
    topic = "latency.ours"
    Topics(servers).create(topic, partitions=PARTITIONS)
    with Service(servers, topic, directory) as service:
        latencies_ms = partial(probe.latencies_ms, servers, topic, service.events)
        latencies_ms("first", 10, 1)
        latencies_ms("warm", PER_SECOND, WARM_UP_S)
        ours = latencies_ms("probe", PER_SECOND, SECONDS)
        latencies_ms("warm-many", TIMES * PER_SECOND, WARM_UP_S)
        return ours, latencies_ms("many", TIMES * PER_SECOND, SECONDS)


def _sketch(servers: str, directory: Path) -> list[float]:
    topic = "latency.sketch"
    Topics(servers).create(topic, partitions=PARTITIONS)
    with _running(servers, topic, directory) as sketch:
        probe.latencies_ms(servers, topic, sketch.events, "warm", PER_SECOND, WARM_UP_S)
        return probe.latencies_ms(servers, topic, sketch.events, "probe", PER_SECOND, SECONDS)


class Sketch:
    """The table of counts, written by batches and read by whoever looks."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(
            "CREATE TABLE counts(source, kind, value, last_ms, PRIMARY KEY (source, kind))"
        )
        self._one_at_a_time = threading.Lock()

    def __call__(self, records: DataFrame, _batch_id: int) -> None:
        counted = records.groupBy("source", "kind").agg(F.count(F.lit(1)), F.max("happened_at_ms")).collect()
        with self._one_at_a_time:
            self._connection.execute("BEGIN")
            self._connection.executemany(ADD, [tuple(row) for row in counted])
            self._connection.execute("COMMIT")

    def events(self) -> Mapping[str, int]:
        with self._one_at_a_time:
            return dict(self._connection.execute("SELECT source, sum(value) FROM counts GROUP BY source"))


@contextmanager
def _running(servers: str, topic: str, directory: Path) -> Iterator[Sketch]:
    """The sketch on a topic, from its begin; a session of Spark of its own."""
    settings = StreamingSettings.model_validate(
        {"kafka": {"bootstrap_servers": servers}, "checkpoint": directory / "sketch"}
    )
    spark, sketch = session.start(settings), Sketch(directory / "counts.db")
    reader = spark.readStream.format("kafka").options(**settings.kafka.spark())
    parsed = F.from_json(F.col("value").cast("string"), SCHEMA).alias("event")
    records = reader.options(subscribe=topic, startingOffsets="earliest").load().select(parsed)
    writer = records.select("event.*").writeStream.option("checkpointLocation", settings.checkpoint.as_uri())
    query = writer.foreachBatch(sketch).start()
    try:
        yield sketch
    finally:
        query.stop()
        spark.stop()
