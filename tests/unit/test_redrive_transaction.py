"""A client that does not come back from a call, without a Kafka: the worker does."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streaming.redrive import transaction
from streaming.redrive.transaction import AbortedError, GivenUpError, Transactions, UnansweredError

FOREVER_MS = 3_600_000


class Client:
    """Says nothing of offsets until it is told to."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.refusal: KafkaException | None = None
        self.done: list[str] = []

    def begin_transaction(self) -> None:
        self.done.append("begin")

    def flush(self, _timeout_s: float) -> int:
        return 0

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
