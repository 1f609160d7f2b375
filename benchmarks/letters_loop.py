"""What a user writes who wants dead letters counted by cause: one process, one core, no look back.

Numbers go out of the message and lines out of the stack trace; what is left is the cause. It keeps neither
samples nor times nor offsets, and counts twice what it reads twice.
"""

import hashlib
import re
import sqlite3
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, TopicPartition

from benchmarks.peers import PeerError

COMMIT_EVERY: Final = 100_000
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


def rate(servers: str, topic: str, records: int, causes: int) -> float:
    """Dead letters per second, from the first record to the last commit.

    Raises:
        PeerError: the loop did not count what is there.
    """
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
        seconds = _count(consumer, connection, records)
        found = connection.execute("SELECT sum(records), count(*) FROM causes").fetchone()
        connection.close()
    consumer.close()
    if found != (records, min(causes, records)):
        raise PeerError(f"the loop counted {found}, the truth is {records} of {causes} causes")
    return records / seconds


def _count(consumer: Consumer, connection: sqlite3.Connection, records: int) -> float:
    counts: Counter[str] = Counter()
    began_s, seen, committed = 0.0, 0, 0
    while seen < records:
        found = consumer.consume(5_000, 1.0)
        began_s = began_s or (time.perf_counter() if found else 0.0)
        counts.update(_cause(message.headers()) for message in found)
        seen += len(found)
        if seen - committed >= COMMIT_EVERY or seen >= records:
            connection.executemany(ADD, counts.items())
            connection.commit()
            counts.clear()
            committed = seen
    return time.perf_counter() - began_s


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
