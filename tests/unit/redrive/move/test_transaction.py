"""A client that does not come back from a call, without a Kafka: the worker does."""

import gc
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message

from redrive.librdkafka import CONNECTION_FAILED, EXPIRED, WRONG_STATE, ClientLog
from redrive.move import transaction
from redrive.move.failures import AbortedError, GivenUpError, UnansweredError
from redrive.move.rewrite import ProducerRecord
from redrive.move.transaction import TransactionalProducer

FOREVER_MS = 3_600_000


class Client:
    """Answers the call that sends offsets once ``answers`` is set."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.refusals: list[KafkaException] = []
        self.failed: KafkaError | None = None
        self.produces: list[BufferError | KafkaException] = []
        self.late: list[tuple[KafkaError, Message]] = []
        """Reports of the record that was produced last, which come with the next poll."""
        self.held = 0
        """Records that it has and does not send any more; one of them expires with each look."""
        self.done: list[str] = []
        self.log = ClientLog()
        self.back = True
        """Whether Kafka answers what else it is asked."""

    def init_transactions(self, _timeout_s: float) -> None:
        self.done.append("init")

    def begin_transaction(self) -> None:
        if "begin" in self.done:
            state: Any = self.failed or KafkaError(WRONG_STATE)
            raise KafkaException(state)
        self.done.append("begin")

    def produce(self, *arguments: object, **_names: object) -> None:
        if self.produces:
            raise self.produces.pop()
        self.report: Any = arguments[4]

    def flush(self, _timeout_s: float) -> int:
        self.held = max(self.held - 1, 0)
        return self.held

    def poll(self, _timeout_s: float) -> int:
        while self.late:
            self.report(*self.late.pop())
        return 0

    def send_offsets_to_transaction(self, *_arguments: object) -> None:
        assert self.answers.wait(30)
        if self.refusals:
            raise self.refusals.pop()
        self.done.append("offsets")

    def list_topics(self, _topic: str, _timeout_s: float) -> None:
        if not self.back:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    def commit_transaction(self, _timeout_s: float) -> None:
        self.done.append("commit")

    def abort_transaction(self, _timeout_s: float) -> None:
        self.done.append("abort")


class Asked:
    """Passes calls on: while an exception is handled there is none, for the real client would keep that."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> object:
        assert sys.exception() is None
        return getattr(self._client, name)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    made = Client()

    def again(_config: object, logger: ClientLog) -> Asked:
        made.log = logger
        made.done.append("made")
        return Asked(made)

    monkeypatch.setattr(transaction, "Producer", again)
    yield made
    made.answers.set()  # lets the thread end


def transactions(within_ms: int, *, gives_up: bool = False) -> TransactionalProducer:
    return TransactionalProducer({}, "order", within_ms, lambda: gives_up)


@pytest.mark.parametrize(
    ("within_ms", "gives_up", "raised"),
    [(1, False, UnansweredError), (FOREVER_MS, True, GivenUpError)],
    ids=["its time is over", "the worker has to stop"],
)
def test_a_call_that_does_not_come_back_is_left_behind(
    client: Client, within_ms: int, raised: type[Exception], *, gives_up: bool
) -> None:
    with pytest.raises(raised):
        transactions(within_ms, gives_up=gives_up).commit([], None)
    assert client.done == ["made", "begin"]


def test_a_call_that_went_down_with_its_connection_is_left_behind_once_kafka_answers_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "BACK_S", 0)
    producer = transactions(FOREVER_MS)
    producer.flush()  # the transaction has begun
    client.log.log(3, "", CONNECTION_FAILED, "producer-1", "Disconnected (after 9ms in state UP)")
    with pytest.raises(UnansweredError):
        producer.commit([], None)
    assert client.done == ["made", "begin"]


@pytest.mark.parametrize("back", [True, False], ids=["Kafka is there", "Kafka does not answer"])
def test_an_answer_that_is_late_is_an_answer(client: Client, *, back: bool) -> None:
    producer = transactions(FOREVER_MS)
    producer.flush()  # the transaction has begun
    client.back, client.log.doubtful = back, not back
    threading.Timer(2 * transaction.TRY_S, client.answers.set).start()
    producer.commit([], None)
    assert client.done == ["made", "begin", "offsets", "commit"]


def test_a_refusal_in_the_other_thread_aborts_as_any(client: Client) -> None:
    error: Any = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "no")
    client.refusals.append(KafkaException(error))
    client.answers.set()
    with pytest.raises(AbortedError, match="no"):
        transactions(FOREVER_MS).commit([], None)
    assert client.done == ["made", "begin", "abort"]


def test_a_refusal_that_was_dealt_with_keeps_nobody(client: Client) -> None:
    client.refusals.append(KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)))
    client.answers.set()
    producer = transactions(FOREVER_MS)
    kept = weakref.ref(producer)
    gc.disable()  # a worker looks for cycles once in many orders
    try:
        with suppress(AbortedError):
            producer.commit([], None)
        del producer
        assert kept() is None
    finally:
        gc.enable()


def test_what_a_client_holds_that_has_failed_the_transaction_is_not_waited_for(client: Client) -> None:
    client.failed, client.held = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "too large"), FOREVER_MS
    with pytest.raises(AbortedError, match="too large") as raised:
        transactions(FOREVER_MS).flush()
    assert raised.value.error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert client.done == ["made", "begin", "abort"]
    assert client.held == FOREVER_MS - 1


@pytest.mark.parametrize("code", EXPIRED)
def test_what_has_timed_out_is_waited_for_so_that_all_that_stall_are_named(client: Client, code: int) -> None:
    client.failed, client.held = KafkaError(code), 5
    with pytest.raises(AbortedError):
        transactions(FOREVER_MS).flush()
    assert client.held == 0


def test_a_client_that_holds_nothing_any_more_may_have_failed_the_transaction(client: Client) -> None:
    """What it has purged was not taken by Kafka."""
    client.failed = KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
    with pytest.raises(AbortedError):
        transactions(FOREVER_MS).write(ProducerRecord("orders", 0, 0, None, b"value", ()), (0, 1), alone=True)
    assert client.done == ["made", "begin", "abort"]


def test_a_client_that_is_full_is_waited_for_and_given_the_record_again(client: Client) -> None:
    client.held, client.produces = 5, [BufferError("Local: Queue full")]
    producer = transactions(FOREVER_MS)
    producer.write(ProducerRecord("orders", 0, 0, None, b"value", ()), (0, 1))
    assert client.held == 0
    client.report(None, Message(topic="orders", partition=0, offset=7))
    assert producer.flush() == {("orders", 0): [(7, 8)]}
    assert client.done == ["made", "begin"]


def test_a_transaction_that_goes_well_is_waited_for(client: Client) -> None:
    client.held = 5
    assert transactions(FOREVER_MS).flush() == {}
    assert client.done == ["made", "begin"]


def test_a_late_report_of_the_transaction_before_is_none_of_the_next(client: Client) -> None:
    producer = transactions(FOREVER_MS)
    client.answers.set()
    producer.write(ProducerRecord("orders", 0, 0, None, b"value", ()), (0, 1))
    producer.commit([], None)
    client.done.clear()
    client.late = [(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), Message(topic="orders", partition=0))]
    client.failed = KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)
    with pytest.raises(AbortedError) as raised:
        producer.flush()
    assert (client.late, raised.value.refusals) == ([], [])


def test_a_gap_after_a_refusal_is_nobody_s_fault_once(client: Client) -> None:
    refused: Any = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
    gap: Any = KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
    writing, follows = transactions(FOREVER_MS), []
    for error in (refused, gap, gap):
        client.done.clear()
        client.produces = [KafkaException(error)] if error is refused else []
        client.failed = None if error is refused else error
        with pytest.raises(AbortedError) as raised:
            writing.write(ProducerRecord("orders", 0, 0, None, b"value", ()), (0, 1), alone=True)
        follows.append(raised.value.follows)
        assert [one.dead_letter for one in raised.value.refusals] == ([(0, 1)] if error is refused else [])
    assert follows == [False, True, False]


@pytest.mark.parametrize(
    ("facility", "text", "is_doubt"),
    [
        ("REQTMOUT", "[thrd:TxnCoordinator]: TxnCoordinator/1: Timed out EndTxnRequest in flight", True),
        (
            "FAIL",
            "127.0.0.1:9092/1: Disconnected: connection closed by peer (after 3965ms in state UP)",
            True,
        ),
        (
            "FAIL",
            "127.0.0.1:9092/2: Connect to ipv4#127.0.0.1:9092 failed (after 0ms in state CONNECT)",
            False,
        ),
        ("GETPID", "Failed to acquire transactional PID: Coordinator load in progress: retrying", False),
    ],
)
def test_after_a_request_that_may_still_be_on_its_way_a_new_producer_takes_over(
    client: Client, facility: str, text: str, is_doubt: bool
) -> None:
    producer = transactions(FOREVER_MS)
    client.answers.set()
    producer.commit([], None)
    client.log.log(20, "%s [%s] %s", facility, "rdkafka#producer-1", text)
    client.done.clear()
    producer.flush()
    assert client.done == (["made", "init", "begin"] if is_doubt else ["begin"])
