"""What a reader takes of a topic whose beginning, or end, is removed, with librdkafka's own cluster."""

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition

from redrive.librdkafka import OFFSET_RESET, consume
from redrive.move.failures import TruncatedError
from redrive.move.open_offsets import OpenOffsets
from redrive.move.reader import POLL_S, PartitionState, Reader
from tests.waiting import until

RECORDS, FIRST, BYTES = 90, 10, 50_000
"""The cluster keeps some 5 MB of a partition: all of these, and few more."""
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

    def write(self, batch: bytes) -> None:
        """A request to produce as of version 3: no client of ours makes such a batch."""
        topic = struct.pack(">ih5siii", 1, 5, b"dlq.t", 1, 0, len(batch))
        request = struct.pack(">hhihhhi", 0, 3, 1, -1, -1, 1, 5_000) + topic + batch
        host, port = self.servers.split(":")
        with socket.create_connection((host, int(port))) as broker:
            broker.sendall(struct.pack(">i", len(request)) + request)
            assert broker.recv(100)

    def produce(self, records: int) -> None:
        for _ in range(records):
            self.client.produce("dlq.t", b"x" * BYTES, partition=0)
            self.client.flush(10)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    options = {"bootstrap.servers": "replaced", "test.mock.num.brokers": 1, "log_level": 0}
    made = Cluster(Producer(options))
    made.produce(RECORDS)
    yield made
    del made.client


def batch(records: int, codec: int, content: bytes) -> bytes:
    """A batch of Kafka's format as somebody's disk may give it; its checksum is not looked at."""
    rest = struct.pack(">hiqqqhii", codec, records - 1, 1, 1, -1, -1, -1, records) + content
    return struct.pack(">qiibI", 0, len(rest) + 9, 0, 2, 0) + rest


@pytest.fixture
def reader(cluster: Cluster) -> Iterator[Reader]:
    connection = {"bootstrap.servers": cluster.servers, "log_level": 0, **A_LITTLE}
    made = Reader(connection, "1", "dlq.t", {0: ((0, RECORDS - 20), (RECORDS - 10, RECORDS))})
    made.open()
    yield made
    made.close()


def read(reader: Reader, taken: list[int], end: int) -> bool:
    offsets = reader.partitions[0].offsets
    for message in reader.poll(FIRST):
        taken.append(message.offset())
        offsets.done(message.offset())
    return offsets.position >= end


def test_what_is_removed_while_a_reader_reads_is_counted(cluster: Cluster, reader: Reader) -> None:
    taken: list[int] = []
    until(lambda: read(reader, taken, FIRST))
    assert not reader.expired
    cluster.produce(4 * FIRST)
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
    reader._consumer.assign([TopicPartition("dlq.t", 0, 2 * RECORDS)])
    until(lambda: given_up(reader))
    reader.partitions[0].paused = True
    taken: list[int] = []
    until(lambda: read(reader, taken, FIRST))
    assert taken == [*range(FIRST)]


@pytest.mark.parametrize("codec", [1, 7], ids=["broken", "unknown"])
def test_a_batch_that_cannot_be_read_is_named(cluster: Cluster, reader: Reader, codec: int) -> None:
    """The client asks for it for ever."""
    reader._plan = {0: ((RECORDS, 2 * RECORDS),)}
    cluster.write(batch(RECORDS, codec, b"no gzip"))
    reader.open()
    with pytest.raises(
        KafkaException, match=rf"partition 0 of dlq\.t cannot be read from offset {RECORDS} on"
    ):
        until(lambda: bool(reader.poll(1)))


def opened(reader: Reader) -> None:
    reader.open()


def at_its_end(reader: Reader) -> None:
    """It has read all that is left."""
    reader._consumer.assign([TopicPartition("dlq.t", 0, RECORDS)])
    until(lambda: bool(reader.poll(1)))


def behind_its_end(reader: Reader) -> None:
    """It has read more than is left."""
    reader._consumer.assign([TopicPartition("dlq.t", 0, RECORDS + FIRST)])
    until(lambda: bool(reader.poll(1)))


@pytest.mark.parametrize("look", [opened, at_its_end, behind_its_end])
def test_a_partition_that_ends_before_the_order_has_lost_records(
    reader: Reader, look: Callable[[Reader], None]
) -> None:
    """Else the order would wait, and take what comes later at these offsets."""
    end = 2 * RECORDS
    reader._plan = {0: ((0, end),)}
    reader.partitions = {0: PartitionState(OpenOffsets(RECORDS), end)}
    with pytest.raises(TruncatedError, match=r"partition 0 of dlq\.t ends at 90, before 180"):
        look(reader)


def given_up_again(reader: Reader) -> None:
    """Its client reads the partition no further."""
    reader._start_again(0)


@pytest.mark.parametrize("look", [opened, given_up_again])
@pytest.mark.parametrize("waiting", [False, True], ids=["all is moved", "one record waits"])
def test_what_an_order_has_moved_may_be_lost(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, look: Callable[[Reader], None], *, waiting: bool
) -> None:
    end = RECORDS + FIRST
    offsets = OpenOffsets(end, open={end - 1} if waiting else set(), done_to=end)
    committed = [TopicPartition("dlq.t", 0, *offsets.commit())]
    monkeypatch.setattr(reader, "_committed", lambda _places: committed)
    reader._plan = {0: ((0, end),)}
    reader.partitions = {0: PartitionState(offsets, end)}
    with pytest.raises(TruncatedError) if waiting else nullcontext():
        look(reader)
    assert reader.partitions[0].offsets.commit() == offsets.commit()
