"""Topics that are truncated, deleted and made anew while the query runs or is away: counted, never silent.

The store is in PostgreSQL.
"""

import time
from collections import Counter
from pathlib import Path

import pytest

from lab import Lab
from lab.topics import Topics
from tests.integration.streaming_process import Streaming, Traffic, eventually
from tests.kafka_topics import delete, producing, truncate

PARTITIONS = 2
ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1)}
"""As brokers before 4.0 have it."""


class Queue:
    """A dead letter topic whose records, deletions and new lives are told."""

    def __init__(self, servers: str, name: str) -> None:
        self.name, self._servers = name, servers

    def create(self) -> None:
        """Make it."""
        Topics(self._servers).create(self.name, partitions=PARTITIONS, config=ANY_TIME)

    def delete(self) -> None:
        """Delete it, and return when it is gone."""
        delete(self._servers, self.name)

    def write(self, records: int) -> None:
        """As many to every partition, by a producer that has not known an earlier topic of this name."""
        with producing(self._servers) as producer:
            for number in range(records * PARTITIONS):
                producer.produce(self.name, b"v", partition=number % PARTITIONS)

    def write_nanoseconds(self) -> None:
        """One record to the first partition, by a producer that takes Kafka's times for nanoseconds."""
        with producing(self._servers) as producer:
            producer.produce(self.name, b"v", partition=0, timestamp=time.time_ns())

    def truncate(self, *offsets: int) -> None:
        """Delete what is before these offsets of the partitions."""
        truncate(self._servers, self.name, *offsets)


@pytest.fixture
def queue(lab: Lab, traffic: Traffic) -> Queue:
    return Queue(lab.bootstrap_servers, traffic.dlq_topic)


class Expected:
    """What has to be in the store, kept beside what is done to the queue."""

    def __init__(self, streaming: Streaming) -> None:
        self._streaming = streaming
        self.totals: Counter[tuple[str, ...]] = Counter()

    def add(self, *key: str, records: int) -> None:
        """Wait until they are counted as well."""
        self.totals[key] += records
        assert eventually(lambda: self._streaming.by_topic() == self.totals), (
            *(self._streaming.by_topic(), self.totals),
            self._streaming.log(),
        )


def test_whatever_happens_to_a_topic_is_counted_and_holds_nothing_up(
    lab: Lab, postgres: str, traffic: Traffic, queue: Queue, tmp_path: Path
) -> None:
    streaming = Streaming(lab.bootstrap_servers, traffic, tmp_path, postgres)
    expected, other = Expected(streaming), Queue(lab.bootstrap_servers, traffic.quarantine_topic)
    other.create()
    queue.delete()
    traffic.write_corrupt()
    with streaming.running():
        assert eventually(lambda: streaming.totals().get("quarantined") == 1), streaming.log()
        queue.create()
        expected.add(other.name, records=1)  # the event that was refused
        queue.write(30)
        other.write(20)
        expected.totals[other.name,] += 40
        expected.add(queue.name, records=60)
    queue.write(50)
    queue.truncate(60, 80)  # while nobody reads; in the second partition nothing is left to read
    other.delete()
    other.create()
    other.write(100)
    with streaming.running():
        expected.totals[queue.name, "deleted_unread"] += 30 + 50
        expected.totals[other.name,] += 200
        expected.add(queue.name, records=20)
        goes_on_behind_a_truncation(queue, expected)
        holds_up_no_other(queue, other, expected, streaming)
        is_made_anew(queue, expected)
        traffic.write(1)
        expected.add(queue.name, records=5)
        is_deleted(queue, other, expected)
    assert "Traceback" not in streaming.log()


def goes_on_behind_a_truncation(queue: Queue, expected: Expected) -> None:
    queue.truncate(70)  # of what was read
    queue.write(5)
    expected.add(queue.name, records=10)


def holds_up_no_other(queue: Queue, other: Queue, expected: Expected, streaming: Streaming) -> None:
    """A record whose time Spark cannot hold."""
    queue.write_nanoseconds()
    assert eventually(lambda: "partition 0, 85" in streaming.log()), streaming.log()
    queue.write(5)
    other.write(1)
    expected.add(other.name, records=PARTITIONS)
    queue.truncate(86)
    expected.totals[queue.name, "deleted_unread"] += 1
    expected.add(queue.name, records=10)


def is_made_anew(queue: Queue, expected: Expected) -> None:
    for records in (100, 10):  # more than before, and less
        queue.delete()
        queue.create()
        queue.write(records)
        expected.add(queue.name, records=2 * records)


def is_deleted(queue: Queue, other: Queue, expected: Expected) -> None:
    """Others are read all the while."""
    queue.delete()
    for _ in range(3):
        other.write(1)
        expected.add(other.name, records=PARTITIONS)
