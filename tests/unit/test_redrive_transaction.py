"""A client that does not come back from a call, without a Kafka: the worker does."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streaming.redrive import transaction
from streaming.redrive.moved import Record
from streaming.redrive.received import EXPIRED, STATE
from streaming.redrive.transaction import AbortedError, GivenUpError, Transactions, UnansweredError

FOREVER_MS = 3_600_000


class Client:
    """Says nothing of offsets until it is told to."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.refusal: KafkaException | None = None
        self.failed: KafkaError | None = None
        self.produces: list[KafkaException] = []
        self.held = 0
        """Records that it has and does not send any more; one of them expires with each look."""
        self.done: list[str] = []

    def begin_transaction(self) -> None:
        if "begin" in self.done:
            state: Any = self.failed or KafkaError(STATE)
            raise KafkaException(state)
        self.done.append("begin")

    def produce(self, *_arguments: object, **_names: object) -> None:
        if self.produces:
            raise self.produces.pop()

    def flush(self, _timeout_s: float) -> int:
        self.held = max(self.held - 1, 0)
        return self.held

    def poll(self, _timeout_s: float) -> int:
        return 0

    def send_offsets_to_transaction(self, *_arguments: object) -> None:
        assert self.answers.wait(30)
        if self.refusal:
            raise self.refusal
        self.done.append("offsets")

    def commit_transaction(self, _timeout_s: float) -> None:
        self.done.append("commit")

    def abort_transaction(self, _timeout_s: float) -> None:
        self.done.append("abort")


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    made = Client()
    monkeypatch.setattr(transaction, "Producer", lambda _config: made)
    yield made
    made.answers.set()  # lets the thread end


def transactions(within_ms: int, *, gives_up: bool = False) -> Transactions:
    return Transactions({}, "order", within_ms, lambda: gives_up)


def test_a_call_that_does_not_come_back_is_left_behind(client: Client) -> None:
    with pytest.raises(UnansweredError):
        transactions(1).commit([], None)
    assert client.done == ["begin"]


def test_who_has_to_stop_does_not_wait_for_it(client: Client) -> None:
    with pytest.raises(GivenUpError):
        transactions(FOREVER_MS, gives_up=True).commit([], None)
    assert client.done == ["begin"]


def test_an_answer_that_is_late_is_an_answer(client: Client) -> None:
    threading.Timer(2 * transaction.TRY_S, client.answers.set).start()
    transactions(FOREVER_MS).commit([], None)
    assert client.done == ["begin", "offsets", "commit"]


def test_a_refusal_in_the_other_thread_aborts_as_any(client: Client) -> None:
    error: Any = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "no")
    client.refusal = KafkaException(error)
    client.answers.set()
    with pytest.raises(AbortedError, match="no"):
        transactions(FOREVER_MS).commit([], None)
    assert client.done == ["begin", "abort"]


def test_what_a_client_holds_that_has_failed_the_transaction_is_not_waited_for(client: Client) -> None:
    client.failed, client.held = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "too large"), FOREVER_MS
    with pytest.raises(AbortedError, match="too large") as raised:
        transactions(FOREVER_MS).delivered()
    assert raised.value.error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert client.done == ["begin", "abort"]
    assert client.held == FOREVER_MS - 1


@pytest.mark.parametrize("code", EXPIRED)
def test_what_has_timed_out_is_waited_for_so_that_all_that_stall_are_named(client: Client, code: int) -> None:
    client.failed, client.held = KafkaError(code), 5
    with pytest.raises(AbortedError):
        transactions(FOREVER_MS).delivered()
    assert client.held == 0


def test_a_client_that_holds_nothing_any_more_may_have_failed_the_transaction(client: Client) -> None:
    """What it has purged was not taken by Kafka."""
    client.failed = KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
    with pytest.raises(AbortedError):
        transactions(FOREVER_MS).write(Record("orders", 0, 0, None, b"value", ()), (0, 1), alone=True)
    assert client.done == ["begin", "abort"]


def test_a_transaction_that_goes_well_is_waited_for(client: Client) -> None:
    client.held = 5
    assert transactions(FOREVER_MS).delivered() == {}
    assert client.done == ["begin"]


def test_a_gap_after_a_refusal_is_nobody_s_fault_once(client: Client) -> None:
    refused: Any = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
    gap: Any = KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
    writing, follows = transactions(FOREVER_MS), []
    for error in (refused, gap, gap):
        client.done.clear()
        client.produces = [KafkaException(error)] if error is refused else []
        client.failed = None if error is refused else error
        with pytest.raises(AbortedError) as raised:
            writing.write(Record("orders", 0, 0, None, b"value", ()), (0, 1), alone=True)
        follows.append(raised.value.follows)
        assert [one.dead_letter for one in raised.value.refusals] == ([(0, 1)] if error is refused else [])
    assert follows == [False, True, False]
