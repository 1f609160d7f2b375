"""What a first sketch of the stream would be: parse, group, add to SQLite; no marks, no detail, no exactness.

It gives the latency that Spark's micro-batches allow on a machine, so that ours can be told from it.
"""

import contextlib
import sqlite3
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streaming import session
from streaming.settings import StreamingSettings

SCHEMA = "kind string, source string, happened_at_ms long"
ADD = """
INSERT INTO counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value,
last_ms = max(last_ms, excluded.last_ms)
"""


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


@contextlib.contextmanager
def running(servers: str, topic: str) -> Iterator[Sketch]:
    """The sketch on a topic, from its begin; a session of Spark of its own."""
    with tempfile.TemporaryDirectory(prefix="deadwatch-bench-") as name:
        directory = Path(name)
        settings = StreamingSettings.model_validate(
            {"kafka": {"bootstrap_servers": servers}, "checkpoint": directory / "checkpoint"}
        )
        spark, sketch = session.start(settings), Sketch(directory / "counts.db")
        reader = spark.readStream.format("kafka").options(**settings.kafka.spark())
        parsed = F.from_json(F.col("value").cast("string"), SCHEMA).alias("event")
        records = (
            reader.option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .load()
            .select(parsed)
            .select("event.*")
        )
        writer = records.writeStream.option("checkpointLocation", settings.checkpoint.as_uri())
        query = writer.foreachBatch(sketch).start()
        try:
            yield sketch
        finally:
            query.stop()
            spark.stop()
