"""What a reader takes of a topic whose beginning is removed while it reads, with librdkafka's own cluster."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import Producer, TopicPartition

from redrive.librdkafka import OFFSET_RESET, consume
from redrive.move.reader import POLL_S, Reader
from tests.waiting import until

RECORDS, FIRST, BYTES = 90, 10, 100_000
"""The cluster keeps some 5 MB of a partition."""
A_LITTLE = {"queued.max.messages.kbytes": 100, "fetch.message.max.bytes": BYTES, "fetch.queue.backoff.ms": 1}
"""Options of a client that has little in hand: the rest is fetched when it is read."""


@dataclass
class Cluster:
    """It lives as long as its client; one topic has one partition."""

    client: Producer

    @property
    def servers(self) -> str:
        (broker,) = self.client.list_topics(timeout=10).brokers.values()
        return f"{broker.host}:{broker.port}"

    def produce(self, records: int) -> None:
        for _ in range(records):
            self.client.produce("dlq.t", b"x" * BYTES, partition=0)
            self.client.flush(10)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    options = {"bootstrap.servers": "replaced", "test.mock.num.brokers": 1, "log_level": 0}
    made = Cluster(Producer(options))
    made.produce(FIRST)
    yield made
    del made.client


@pytest.fixture
def reader(cluster: Cluster) -> Iterator[Reader]:
    connection = {"bootstrap.servers": cluster.servers, "log_level": 0, **A_LITTLE}
    made = Reader(connection, "1", "dlq.t", {0: ((0, RECORDS - 20), (RECORDS - 10, RECORDS))})
    made.open()
    yield made
    made.close()


def read(reader: Reader, taken: list[int], end: int) -> bool:
    offsets = reader.partitions[0].offsets
    for message in reader.poll(RECORDS):
        taken.append(message.offset())
        offsets.done(message.offset())
    return offsets.position >= end


def test_what_is_removed_while_a_reader_reads_is_counted(cluster: Cluster, reader: Reader) -> None:
    taken: list[int] = []
    until(lambda: read(reader, taken, FIRST))
    assert not reader.expired
    cluster.produce(RECORDS - FIRST)
    until(lambda: read(reader, taken, RECORDS))
    assert taken == sorted(set(taken))
    assert reader.expired[0] > 0
    assert len(taken) + reader.expired[0] == RECORDS - 10
    assert [*range(RECORDS - 10, RECORDS)] == taken[-10:]
    assert reader.partitions[0].offsets.commit() == (RECORDS, "")


def test_a_reader_whose_selection_is_removed_as_a_whole_comes_to_its_end(
    cluster: Cluster, reader: Reader
) -> None:
    taken: list[int] = []
    until(lambda: read(reader, taken, FIRST))
    cluster.produce(2 * RECORDS)
    until(lambda: read(reader, taken, RECORDS))
    assert len(taken) + reader.expired[0] == RECORDS - 10
    assert reader.partitions[0].read


def given_up(reader: Reader) -> bool:
    """Whether the client has told that it reads the partition no further."""
    errors = (message.error() for message in consume(reader._consumer, RECORDS, POLL_S))
    return OFFSET_RESET in {error.code() for error in errors if error is not None}


def test_a_reader_goes_on_where_its_client_has_given_a_partition_up_meanwhile(reader: Reader) -> None:
    reader._consumer.assign([TopicPartition("dlq.t", 0, RECORDS)])
    until(lambda: given_up(reader))
    reader.partitions[0].paused = True
    taken: list[int] = []
    until(lambda: read(reader, taken, FIRST))
    assert taken == [*range(FIRST)]
