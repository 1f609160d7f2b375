"""A backlog of dead letters of all dialects, from Kafka to the committed store, few and many causes.

Beside two peers that read the same topic of one broker in turns; a ratio is the median over the rounds:

* Spark's Kafka source on the same cores, in the same warm JVM, which only adds up the records' lengths:
  nobody who reads with Spark is quicker;
* what a user writes: confluent-kafka, two regular expressions, a Counter and SQLite, on one core.

All must come to the same totals, else the benchmark fails. ``DEADWATCH_BENCH_LETTERS`` is the number of dead
letters of each topic, ``DEADWATCH_BENCH_ROUNDS`` that of the rounds. All run once before they are measured.
"""

import hashlib
import os
import re
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, Message, TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks import dead_letters
from benchmarks.backlog import Ours
from benchmarks.dead_letters import Written
from benchmarks.peers import seconds
from benchmarks.row import Row, place, require
from lab.topics import Topics

LETTERS: Final = int(os.environ.get("DEADWATCH_BENCH_LETTERS", "1000000"))
ROUNDS: Final = int(os.environ.get("DEADWATCH_BENCH_ROUNDS", "3"))
PARTITIONS: Final = 6
LENGTHS: Final = {10: 0.5, 1_000: 0.5, 100_000: 0.3}
"""By the number of causes: how near ours comes to Spark's source."""
LOOP: Final = 0.75
READING: Final = {
    "includeHeaders": "true",
    "startingOffsets": "earliest",
    "kafka.isolation.level": "read_committed",
    "kafka.max.partition.fetch.bytes": str(8 << 20),
    "kafka.max.poll.records": "5000",
}
"""The quickest for large backlogs of this size; what ours chooses is its own affair."""
NUMBER, LINE = re.compile(rb"\d+"), re.compile(rb":\d+\)")
HEADERS: Final = (
    (
        "__connect.errors.topic",
        "__connect.errors.connector.name",
        "__connect.errors.exception.class.name",
        "__connect.errors.exception.message",
        "__connect.errors.exception.stacktrace",
    ),
    ("__dlq.errors.topic", "__dlq.errors.group", "", "__dlq.errors.message", ""),
    (
        "__streams.errors.topic",
        "",
        "__streams.errors.exception",
        "__streams.errors.message",
        "__streams.errors.stacktrace",
    ),
    (
        "kafka_dlt-original-topic",
        "kafka_dlt-original-consumer-group",
        "kafka_dlt-exception-fqcn",
        "kafka_dlt-exception-message",
        "kafka_dlt-exception-stacktrace",
    ),
    (
        "kafka_original-topic",
        "kafka_dlt-original-consumer-group",
        "kafka_exception-fqcn",
        "kafka_exception-message",
        "kafka_exception-stacktrace",
    ),
)
"""By dialect: topic, who failed, exception, message, stack trace."""
ADD: Final = """
INSERT INTO causes VALUES (?, ?) ON CONFLICT DO UPDATE SET records = records + excluded.records
"""

Rates = tuple[float, float, float]


def rows() -> Iterator[Row]:
    source, loop = "Spark's source that adds up lengths", "confluent-kafka and a Counter into SQLite"
    with place() as (servers, directory), Ours(servers, "letters.none", directory) as ours:
        for number, (causes, goal) in enumerate(LENGTHS.items()):
            topic = f"dlq.letters-{causes}"
            Topics(servers).create(topic, partitions=PARTITIONS)
            written = dead_letters.produce(servers, topic, LETTERS, causes)
            if number == 0:
                _round(servers, ours, topic, written, causes)
            rates = [_round(servers, ours, topic, written, causes) for _ in range(ROUNDS)]
            work = f"count dead letters of {causes:,} causes, beside"
            yield Row.of_rounds(f"{work} {source}", [rate[:2] for rate in rates], goal)
            yield Row.of_rounds(f"{work} {loop}", [rate[::2] for rate in rates], LOOP)


def _round(servers: str, ours: Ours, topic: str, written: Written, causes: int) -> Rates:
    """Dead letters per second: ours, Spark's source, the user's loop."""
    return (
        ours.run({"dead_letters": written.records}, dlq_topic=topic).rate,
        rate_of_spark(ours.spark, servers, topic, written),
        rate_of_loop(servers, topic, written.records, causes),
    )


def rate_of_spark(spark: SparkSession, servers: str, topic: str, written: Written) -> float:
    """Records per second of Spark's Kafka source, from the plan to the sums of lengths.

    Raises:
        BenchmarkError: they are not those of what was written.
    """
    began_s = time.perf_counter()
    reader = spark.read.format("kafka").options(**READING).option("kafka.bootstrap.servers", servers)
    sums = (F.count(F.lit(1)), F.sum(F.length("value")), F.sum(F.size("headers")))
    found = Written(*reader.option("subscribe", topic).load().agg(*sums).collect()[0])
    took_s = time.perf_counter() - began_s
    require(found, written)
    return written.records / took_s


def rate_of_loop(servers: str, topic: str, records: int, causes: int) -> float:
    """Dead letters per second of what a user writes: one process, one core, no look back.

    Numbers go out of the message and lines out of the stack trace; what is left is the cause. It keeps
    neither samples nor times nor offsets, and counts twice what it reads twice.

    Raises:
        BenchmarkError: the loop did not count what is there.
    """
    counts: Counter[str] = Counter()
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"loop-{topic}",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "queued.max.messages.kbytes": 262_144,
        }
    )
    partitions = consumer.list_topics(topic).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    with tempfile.TemporaryDirectory(prefix="deadwatch-bench-") as name:
        connection = sqlite3.connect(Path(name) / "causes.db")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE causes(cause PRIMARY KEY, records)")

        def add(found: list[Message]) -> None:
            counts.update(_cause(message.headers()) for message in found)

        def commit() -> None:
            connection.executemany(ADD, counts.items())
            connection.commit()
            counts.clear()

        took_s = seconds(lambda: consumer.consume(5_000, 1.0), add, commit, records)
        found = connection.execute("SELECT sum(records), count(*) FROM causes").fetchone()
        connection.close()
    consumer.close()
    require(found, (records, min(causes, records)))
    return records / took_s


def _cause(headers: Any) -> str:  # noqa: ANN401 -- pairs, as of every message here
    values = dict(headers)
    for topic, who, exception, message, trace in HEADERS:
        if topic in values:
            parts = [values[topic], values.get(who, b""), values.get(exception, b"")]
            parts += [
                NUMBER.sub(b"#", values.get(message, b"")),
                LINE.sub(b")", values.get(trace, b"")[:4_096]),
            ]
            return hashlib.sha1(b"\0".join(parts), usedforsecurity=False).hexdigest()
    return "unknown"
