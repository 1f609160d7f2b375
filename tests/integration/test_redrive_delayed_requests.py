"""Requests that arrive late at a real broker: a network may hold one longer than the client waits for it.

The client sends the request again over another connection and goes on. What it sent first arrives in the
next transaction, which it would end in its middle (KIP-890).
"""

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from deadwatch.orders.errors import KafkaUnavailableError
from deadwatch.runtime.kafka import KafkaConnection, Options
from lab.broker import LoneBroker
from lab.faults import Api, Delay
from lab.proxy import Proxy
from lab.topics import Topics
from redrive.cluster import Cluster
from redrive.move.failures import AbortedError, FencedError
from redrive.move.rewrite import ProducerRecord
from redrive.move.transaction import TransactionalProducer
from tests.kafka_topics import committed, messages
from tests.waiting import until

REQUEST_TIMEOUT_MS = 1_000
COUNT, TOGETHER = 8, 2
"""Records of the dead letter topic, and how many are moved in a transaction."""


class Moving:
    """What a redrive is for Kafka: from the committed offset on, some records and their offset together."""

    def __init__(self, broker: LoneBroker, proxy: Proxy, name: str) -> None:
        self._name, self._options = name, options(proxy.address)
        self.dlq, self.target = f"{name}.dlq", f"{name}.target"
        topics = Topics(broker.bootstrap_servers)
        for topic in (self.dlq, self.target):
            topics.create(topic, partitions=1)
        self._consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": name})
        self._servers = broker.bootstrap_servers
        self._producer: TransactionalProducer | None = None

    def step(self) -> bool:
        """Move the next records; false when there is none left."""
        first = self.committed()
        if first == COUNT:
            return False
        try:
            if self._producer is None:
                self._producer = TransactionalProducer(self._options, self._name, 30_000, lambda: False)
                self._producer.open()
            for number in range(first, first + TOGETHER):
                record = ProducerRecord(self.target, 0, 1, None, b"%d" % number, ())
                self._producer.write(record, alone=True)
            offset = TopicPartition(self.dlq, 0, first + TOGETHER)
            self._producer.commit([offset], self._consumer.consumer_group_metadata())
        except AbortedError:
            pass
        except (FencedError, KafkaException):
            self._producer = None
        return True

    def committed(self) -> int:
        """The committed offset."""
        (found,) = committed(self._consumer, [TopicPartition(self.dlq, 0)])
        return max(0, found.offset)

    def moved(self) -> list[int]:
        """What a reader of committed records sees on the target."""
        return [int(one.value() or b"") for one in messages(self._servers, self.target)]


def options(address: str) -> Options:
    timeout_ms = REQUEST_TIMEOUT_MS
    return {"bootstrap.servers": address, "request.timeout.ms": timeout_ms, "socket.timeout.ms": timeout_ms}


@pytest.mark.parametrize(
    ("arrives_before", "skipped"),
    [
        pytest.param(Api.ADD_PARTITIONS_TO_TXN, 0, id="the first partition"),
        pytest.param(Api.PRODUCE, 0, id="the first record"),
        pytest.param(Api.PRODUCE, 1, id="the second record"),
        pytest.param(Api.TXN_OFFSET_COMMIT, 0, id="the offsets"),
        pytest.param(Api.END_TXN, 1, id="the end"),
    ],
)
def test_an_end_that_arrives_in_the_next_transaction_moves_nothing_twice(
    broker: LoneBroker, proxy: Proxy, arrives_before: Api, skipped: int, request: pytest.FixtureRequest
) -> None:
    moving = Moving(broker, proxy, request.node.callspec.id.replace(" ", "-"))
    moving.step()
    delay = Delay(Api.END_TXN, arrives_before, skipped)
    proxy.inject(delay)
    until(lambda: not moving.step(), "not all records were moved", 120)
    assert delay.happened.is_set(), "the delayed request never arrived: nothing was tried"
    assert moving.moved() == list(range(COUNT))


def test_offsets_of_a_broker_that_does_not_answer_in_time_are_not_known(broker: LoneBroker) -> None:
    Topics(broker.bootstrap_servers).create("late.dlq", partitions=2)
    cluster = Cluster(KafkaConnection(bootstrap_servers=broker.bootstrap_servers), timeout_s=1)
    assert cluster.extents("late.dlq", 2).end == {0: 0, 1: 0}
    late = r"late\.dlq does not tell its offsets: .*[Tt]imed out"
    with broker.stopped(), pytest.raises(KafkaUnavailableError, match=late):
        cluster.extents("late.dlq", 2)
