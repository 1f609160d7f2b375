"""A backlog of dead letters of all dialects, from Kafka to the committed store, few and many causes.

Beside two peers that read the same topic of one broker in turns; a ratio is the median over the rounds:

* Spark's Kafka source on the same cores, in the same warm JVM, which only adds up the records' lengths:
  nobody who reads with Spark is quicker;
* what a user writes: confluent-kafka, two regular expressions, a Counter and SQLite, on one core.

All must come to the same totals, else the benchmark fails. ``DEADWATCH_BENCH_LETTERS`` is the number of dead
letters of each topic, ``DEADWATCH_BENCH_ROUNDS`` that of the rounds. All run once before they are measured.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks import dead_letters, letters_loop
from benchmarks.backlog import Ours
from benchmarks.dead_letters import Written
from benchmarks.peers import PeerError
from benchmarks.row import Row
from lab.broker import LoneBroker
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

Rates = tuple[float, float, float]


def rows() -> Iterator[Row]:
    with LoneBroker() as broker, tempfile.TemporaryDirectory(prefix="deadwatch-bench-") as name:
        servers = broker.bootstrap_servers
        with Ours(servers, "letters.none", Path(name)) as ours:
            for number, (causes, goal) in enumerate(LENGTHS.items()):
                topic = f"dlq.letters-{causes}"
                Topics(servers).create(topic, partitions=PARTITIONS)
                written = dead_letters.produce(servers, topic, LETTERS, causes)
                if number == 0:
                    _round(servers, ours, topic, written, causes)
                rates = [_round(servers, ours, topic, written, causes) for _ in range(ROUNDS)]
                work = f"count dead letters of {causes:,} causes, beside"
                source, loop = (
                    "Spark's source that adds up lengths",
                    "confluent-kafka and a Counter into SQLite",
                )
                yield Row.of_rounds(f"{work} {source}", [rate[:2] for rate in rates], goal)
                yield Row.of_rounds(f"{work} {loop}", [rate[::2] for rate in rates], LOOP)


def _round(servers: str, ours: Ours, topic: str, written: Written, causes: int) -> Rates:
    """Dead letters per second: ours, Spark's source, the user's loop."""
    return (
        ours.run({"dead_letters": written.records}, dlq_topic=topic).rate,
        rate_of_spark(ours.spark, servers, topic, written),
        letters_loop.rate(servers, topic, written.records, causes),
    )


def rate_of_spark(spark: SparkSession, servers: str, topic: str, written: Written) -> float:
    """Records per second of Spark's Kafka source, from the plan to the sums of lengths.

    Raises:
        PeerError: they are not those of what was written.
    """
    began_s = time.perf_counter()
    reader = spark.read.format("kafka").options(**READING).option("kafka.bootstrap.servers", servers)
    sums = (F.count(F.lit(1)), F.sum(F.length("value")), F.sum(F.size("headers")))
    found = Written(*reader.option("subscribe", topic).load().agg(*sums).collect()[0])
    seconds = time.perf_counter() - began_s
    if found != written:
        raise PeerError(f"Spark's source found {found}, the truth is {written}")
    return written.records / seconds
