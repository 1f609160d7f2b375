"""The network client of the events producer, and how long an outcome is waited for."""

import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any
from unittest.mock import Mock

import pytest
from kafka import TopicPartition
from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError
from kafka.net.compat import KafkaNetClient
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.producer.sender import Sender
from kafka.producer.transaction_manager import TransactionManager
from kafka.protocol.metadata import MetadataRequest

from collector.publish import producer
from collector.publish.dead_letters import KafkaDeadLetterProducer
from collector.publish.producer import KafkaEventProducer, Producer, ProducerClient, Record, within
from collector.settings import CollectorSettings
from deadwatch.runtime.kafka import KafkaConnection
from tests.tables import named
from tests.waiting import until


@pytest.fixture
def silent() -> Iterator[dict[str, Any]]:
    """The options of a client whose broker takes connections and does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as broker:
        address = f"127.0.0.1:{broker.getsockname()[1]}"
        limits = {"socket_connection_setup_timeout_ms": 50, "reconnect_backoff_ms": 60_000}
        yield {"bootstrap_servers": address, "request_timeout_ms": 50, **limits}


@pytest.mark.parametrize(
    ("client_class", "left"),
    [
        (KafkaNetClient, ["FindCoordinatorHandler"]),
        (ProducerClient, ["FindCoordinatorHandler", "InitProducerIdHandler"]),
    ],
    ids=["kafka-python's client loses it", "ours does not"],
)
def test_a_request_is_not_forgotten_while_its_coordinator_is_not_ready(
    client_class: type[KafkaNetClient], left: list[str], silent: dict[str, Any]
) -> None:
    """The first row is the reason for the second: once it fails, kafka-python has fixed this itself."""
    with closing(client_class(**silent)) as client:
        manager = TransactionManager(transactional_id="collector", retry_backoff_ms=1)
        manager.initialize_transactions()
        manager._transaction_coordinator = client.cluster.bootstrap_brokers()[0].node_id
        accumulator = RecordAccumulator(transaction_manager=manager)
        options = {"transaction_manager": manager, "request_timeout_ms": 50, "retry_backoff_ms": 1}
        Sender(client, client.cluster, accumulator, **options).run_once()
        handlers = iter(lambda: manager.next_request_handler(has_incomplete_batches=False), None)
        assert [type(handler).__name__ for handler in handlers] == left


@pytest.mark.parametrize("in_transaction", [True, False])
def test_a_request_of_a_transaction_without_an_answer_is_a_doubt(
    silent: dict[str, Any], in_transaction: bool
) -> None:
    with closing(ProducerClient(**silent)) as client:
        client.in_transaction = in_transaction
        assert not client.doubtful
        sent = client.send(client.cluster.bootstrap_brokers()[0].node_id, MetadataRequest())
        client.poll(timeout_ms=5_000, future=sent)
        assert isinstance(sent.exception, KafkaError)
        assert client.doubtful is in_transaction


PLACE = TopicPartition("events", 1)


class Counting(KafkaEventProducer):
    """Has no broker; ``used`` is the number of the producer of each transaction.

    Of the first transactions, as many as ``left_out`` keep the markers from their partition; those of these
    numbers end in ``doubts``. Where readers come to an end is answered after so many ``silences``.
    """

    def __init__(self, left_out: int = 0, doubts: Sequence[int] = (), silences: int = 0) -> None:
        self._delivery_timeout_ms, self.used, self.opened, self.asked = 5_000, list[int](), 0, 0
        self._left_out, self._doubts, self._silences = left_out, doubts, silences
        self._open()

    def _open(self) -> None:
        self.opened += 1
        self._client = ProducerClient(bootstrap_servers="127.0.0.1:1")

    def _transact(self, records: Sequence[Record]) -> dict[TopicPartition, int]:
        assert records
        self.used.append(self.opened)
        self._client.doubtful = len(self.used) in self._doubts
        return {PLACE: len(self.used) - 1}

    def _ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        self.asked += 1
        if self.asked <= self._silences:
            raise KafkaConnectionError
        return dict.fromkeys(partitions, len(self.used) if len(self.used) > self._left_out else 0)

    def close(self) -> None:
        self._client.close()


TRANSACTIONS = [
    ("after a doubt the next one has a new producer", {"doubts": (2,)}, 4, [1, 1, 2, 2]),
    ("what is committed and cannot be read is committed once more", {"left_out": 1}, 1, [1, 1]),
    ("and no more: what hides it is another producer's transaction", {"left_out": 2}, 1, [1, 1]),
    ("a doubt of what cannot be read has a new producer at once", {"left_out": 1, "doubts": (1,)}, 1, [1, 2]),
]


@pytest.mark.parametrize(("broker", "times", "used"), named(TRANSACTIONS))
def test_which_producer_makes_a_transaction(
    broker: dict[str, Any], times: int, used: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "left_out" in broker:
        monkeypatch.setattr(producer, "READABLE_WITHIN_MS", 20)
    with closing(Counting(**broker)) as counting:
        for _ in range(times):
            counting.transact([(b"k", b"v")])
    assert counting.used == used


@pytest.mark.parametrize("silences", [0, 2])
def test_where_readers_come_to_an_end_is_asked_until_they_get_past(silences: int) -> None:
    with closing(Counting(silences=silences)) as counting:
        counting.transact([(b"k", b"v")])
    assert (counting.asked, counting.used) == (silences + 1, [1])


@pytest.mark.parametrize("connect", [KafkaEventProducer, KafkaDeadLetterProducer])
def test_an_attempt_to_reach_a_cluster_that_is_away_leaves_no_thread(
    connect: Callable[[CollectorSettings], object], silent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made again and again for as long as the cluster is away."""
    monkeypatch.setattr(producer, "BOOTSTRAP_TIMEOUT_MS", 50)
    before = threading.active_count()
    with pytest.raises(KafkaError):
        connect(CollectorSettings(kafka=KafkaConnection(bootstrap_servers=silent["bootstrap_servers"])))
    until(lambda: threading.active_count() == before, within_s=5)


def test_a_producer_that_is_closed_ends_its_thread_though_a_record_has_no_outcome() -> None:
    closed = Producer.__new__(Producer)
    closed.config, closed._metrics, closed._closed = Producer.DEFAULT_CONFIG, None, False
    closed._sender, closed._accumulator = Mock(), RecordAccumulator()
    closed._accumulator.append(PLACE, None, None, b"x", [])
    closed.close(timeout=0)
    closed._sender.force_close.assert_called_once_with()


def test_an_outcome_is_not_waited_for_for_ever() -> None:
    never = threading.Event()
    with pytest.raises(KafkaTimeoutError, match="delivery_timeout_ms"):
        within(20, lambda: never.wait(5))
    never.set()


def test_a_failure_within_the_time_is_the_callers() -> None:
    with pytest.raises(KafkaConnectionError):
        within(5_000, Mock(side_effect=KafkaConnectionError))
