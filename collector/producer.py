"""Transactions on the events topic, with kafka-python; one upper bound from hand-over to outcome (KIP-91)."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

from kafka import KafkaProducer
from kafka.errors import (
    InvalidProducerEpochError,
    InvalidRecordError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    ProducerFencedError,
    RecordListTooLargeError,
    UnsupportedForMessageFormatError,
)

from collector.outgoing import Record
from collector.own_topics import client_options, create_events_topic
from collector.settings import CollectorSettings

REFUSALS: Final = (
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    InvalidRecordError,
    UnsupportedForMessageFormatError,
)
"""What a broker says of a record that it would refuse for ever. A lack of permission is not the record's
fault, a time that is too far off is our clock's: such an event is good as soon as that is mended.
"""


class FencedError(Exception):
    """Another producer has taken over our transactional id."""


class RecordRefusedError(KafkaError):  # type: ignore[misc]  # kafka-python has no types
    """One of the records at least is refused for what it is; nothing was committed."""


class Producer(Protocol):
    """What the publisher needs; a failure is a ``KafkaError``, and afterwards only ``close`` is called."""

    def transact(self, records: Sequence[Record]) -> None:
        """Commit all of them or none.

        Raises ``RecordRefusedError``, or ``FencedError`` where another one has taken over.
        """

    def close(self) -> None:
        """Give up what is not committed."""


class KafkaEvents:
    """Appends to the events topic; several processes with one name fence each other."""

    def __init__(self, settings: CollectorSettings) -> None:
        self._topic = settings.events_topic
        self._delivery_timeout_ms = settings.delivery_timeout_ms
        if settings.create_topics:
            create_events_topic(settings)
        self._producer = KafkaProducer(
            **client_options(settings),
            transactional_id=settings.name,
            acks="all",
            linger_ms=settings.linger_ms,
            delivery_timeout_ms=settings.delivery_timeout_ms,
            max_block_ms=settings.request_timeout_ms,
            retry_backoff_ms=settings.retry_backoff_ms,
        )
        try:
            self._producer.init_transactions()
        except BaseException:
            self.close()
            raise

    def transact(self, records: Sequence[Record]) -> None:
        """One transaction; not knowing its outcome in time is a failure too."""
        try:
            within(self._delivery_timeout_ms, lambda: self._transact(records))
        except (ProducerFencedError, InvalidProducerEpochError):
            raise FencedError from None
        except REFUSALS as error:
            raise RecordRefusedError(str(error)) from None

    def _transact(self, records: Sequence[Record]) -> None:
        """Every record has its outcome before the commit: kafka-python commits without those that failed.

        Its ``send`` refuses what comes after a failure without saying what that was; those before it know.
        """
        self._producer.begin_transaction()
        sent, refused = list[Sent](), list[KafkaError]()
        try:
            for key, value in records:
                sent.append(self._producer.send(self._topic, key=key, value=value))
        except KafkaError as error:
            refused.append(error)
        raise_first([*outcomes(sent, self._delivery_timeout_ms), *refused])
        self._producer.commit_transaction()

    def close(self) -> None:
        """Close without waiting; what is not sent is given up."""
        with suppress(KafkaError):
            self._producer.close(timeout=0)


class Sent(Protocol):
    """What kafka-python's ``send`` returns."""

    def get(self, timeout: float) -> object:
        """The record's place. Raises ``KafkaError``."""


def outcomes(sent: Sequence[Sent], timeout_ms: int) -> list[KafkaError | None]:
    """Why each record was not written, None where it was; at most ``timeout_ms`` for all."""
    deadline_s = time.monotonic() + timeout_ms / 1_000
    found: list[KafkaError | None] = []
    for one in sent:
        try:
            one.get(timeout=max(deadline_s - time.monotonic(), 0))
        except KafkaError as error:
            found.append(error)
        else:
            found.append(None)
    return found


def raise_first(found: Sequence[KafkaError | None]) -> None:
    """Raise a refusal if there is one: the records beside a refused one fail with it for another reason."""
    errors = sorted((one for one in found if one), key=lambda error: not isinstance(error, REFUSALS))
    if errors:
        raise errors[0]


def within(timeout_ms: int, call: Callable[[], None]) -> None:
    """Do ``call``; ``KafkaTimeoutError`` when it has not ended in time (kafka-python waits for ever)."""
    outcome: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()

    def attempt() -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - raised in the caller's thread
            outcome.put(error)
        else:
            outcome.put(None)

    threading.Thread(target=attempt, name="transaction", daemon=True).start()
    try:
        error = outcome.get(timeout=timeout_ms / 1_000)
    except queue.Empty:
        raise KafkaTimeoutError(f"no outcome within {timeout_ms} ms (delivery_timeout_ms)") from None
    if error is not None:
        raise error
