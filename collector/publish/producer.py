"""Transactions on the events topic with kafka-python; one upper bound from hand-over to outcome (KIP-91).

Our own topics are created if they are missing and creation is allowed; existing topics stay as they are.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from random import Random
from typing import Any, Final, TypeVar

from kafka import KafkaProducer, TopicPartition, errors
from kafka.admin import OffsetSpec
from kafka.errors import KafkaConnectionError, KafkaError
from kafka.net.compat import KafkaNetClient
from kafka.protocol.consumer import IsolationLevel

from collector.settings import CollectorSettings
from deadwatch.contract.backoff import Backoff
from deadwatch.runtime.kafka import Options, create_no_topics
from deadwatch.runtime.kafka_topics import Admin, create

Record = tuple[bytes, bytes]
"""Key and value."""

T = TypeVar("T")

Sent = Any
"""What kafka-python's ``send`` has returned, or the ``KafkaError`` that it has raised."""

BOOTSTRAP_TIMEOUT_MS: Final = 3_000
"""How long one attempt to reach the cluster may take; whoever connects makes the next one."""

READABLE_WITHIN_MS: Final = 2_000
"""How long the markers of a transaction may take after its commit: they come within milliseconds, or never.

A transaction of somebody else may hide what was committed, too: sent again, it is counted once.
"""
ASK_AGAIN_MS: Final = 10
LEAST_TRANSACTION_MS: Final = 60_000
"""The shortest ``transaction.timeout.ms``, Kafka's default. A broker ends what takes longer by a new epoch;
a producer cannot tell that from another one with its name, so it has to give up before.
"""
TIMEOUT_REFUSED: Final = (
    "delivery_timeout_ms, {}, is more than the brokers' transaction.max.timeout.ms: lower it, or raise theirs"
)
ANSWER_WITHIN_MS: Final = 5_000
"""How long a broker may take to say where readers come to an end."""

REFUSALS: Final = (
    errors.MessageSizeTooLargeError,
    errors.RecordListTooLargeError,
    errors.InvalidRecordError,
    errors.UnsupportedForMessageFormatError,
)
"""Errors of a record that a broker refuses for ever. A missing permission, or a wrong time of our clock, is
not the record's fault: such an event is accepted as soon as that is fixed.
"""


def client_options(settings: CollectorSettings) -> Options:
    """The options of all our Kafka clients."""
    return {
        **settings.kafka.kafka_python(),
        "client_id": f"deadwatch-collector-{settings.name}",
        "bootstrap_timeout_ms": BOOTSTRAP_TIMEOUT_MS,
        "request_timeout_ms": settings.request_timeout_ms,
        "reconnect_backoff_ms": settings.retry_backoff_ms,
        "reconnect_backoff_max_ms": settings.retry_backoff_max_ms,
    }


@dataclass(frozen=True, slots=True)
class Retries:
    """The waits between attempts (KIP-580), until the publisher is ``stopping``."""

    backoff: Backoff
    rng: Random
    stopping: threading.Event

    def delay_s(self, failures: int) -> float:
        """Seconds to wait after the ``failures``-th consecutive failure."""
        return self.backoff.delay_ms(failures, self.rng) / 1_000


class FencedError(Exception):
    """Another producer has taken over our transactional id."""


class RecordRefusedError(KafkaError):  # type: ignore[misc]  # kafka-python has no types
    """One of the records at least is refused for what it is; nothing was committed."""


class ProducerClient(KafkaNetClient):  # type: ignore[misc]  # kafka-python has no types
    """The network client of a transactional producer, given by kafka-python's option ``kafka_client``.

    ``doubtful``: a request that was sent ``in_transaction`` had no answer, so it may still be on its way to
    the broker.
    """

    in_transaction = doubtful = False

    def await_ready(self, node_id: int, timeout_ms: int = 30_000) -> bool:
        """Whether the node is ready. The library's client raises instead of returning False (3.0.12).

        Its sender then forgets the transactional request that it was about to send, and waits for its answer
        although the broker may be back after a second.
        """
        try:
            return bool(super().await_ready(node_id, timeout_ms))
        except KafkaConnectionError:
            return False

    def send(self, node_id: int, request: object, **options: object) -> Any:  # noqa: ANN401 - the library's future
        """Send a request, and note when one of a transaction stays without an answer."""
        sent = super().send(node_id, request, **options)
        return sent.add_errback(self._doubt) if self.in_transaction else sent

    def _doubt(self, _error: object) -> None:
        self.doubtful = True


class Producer(KafkaProducer):  # type: ignore[misc]  # kafka-python has no types
    """A producer that creates no topics, and whose ``close`` ends its thread also while a record has no
    outcome: kafka-python 3.0.12 raises then, and leaks it.
    """

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        create_no_topics(self)

    def flush(self, timeout: float | None = None) -> None:
        """Wait for the outcomes, for no longer than ``timeout`` seconds."""
        with suppress(errors.KafkaTimeoutError):
            super().flush(timeout)


class KafkaEventProducer:
    """Appends to the events topic; several processes with one name fence each other.

    After a ``KafkaError`` only ``close`` may be called.
    """

    def __init__(self, settings: CollectorSettings) -> None:
        self._topic = settings.events_topic
        self._delivery_timeout_ms = settings.delivery_timeout_ms
        options = client_options(settings)
        answer_within_ms = min(settings.request_timeout_ms, ANSWER_WITHIN_MS)
        self._admin_options = {**options, "request_timeout_ms": answer_within_ms}
        if settings.create_topics:
            with closing(Admin(**options)) as admin:
                if settings.events_topic not in admin.list_topics():
                    create(admin, settings.events_topic, settings.events_topic_partitions, {})
        self._options = {
            **options,
            "transactional_id": settings.name,
            "acks": "all",
            "linger_ms": settings.linger_ms,
            "delivery_timeout_ms": settings.delivery_timeout_ms,
            "transaction_timeout_ms": max(settings.delivery_timeout_ms, LEAST_TRANSACTION_MS),
            "max_block_ms": settings.request_timeout_ms,
            "retry_backoff_ms": settings.retry_backoff_ms,
        }
        self._open()

    def transact(self, records: Sequence[Record]) -> None:
        """Commit all of them or none. Raises ``RecordRefusedError``, ``FencedError`` and ``KafkaError``.

        Not knowing the outcome in time is a failure too. After a doubt a transaction begins with a new epoch,
        so that Kafka refuses what is still on its way of the one before: that could end the transaction in
        its middle (KIP-890).

        What was committed and cannot be read is committed once more. Where a partition has no leader for a
        moment, a broker may leave out the marker that ends the transaction there, and yet call it complete
        (KAFKA-20734); the marker of the next transaction there ends both.
        """
        deadline_s = time.monotonic() + self._delivery_timeout_ms / 1_000
        try:
            if not self._is_readable(self._commit(records, deadline_s)):
                self._commit(records, deadline_s)
        except (errors.ProducerFencedError, errors.InvalidProducerEpochError):
            raise FencedError from None
        except REFUSALS as error:
            raise RecordRefusedError(str(error)) from None

    def close(self) -> None:
        """Close without waiting; what is not sent is given up."""
        with suppress(KafkaError):
            self._opened.close()

    def _open(self) -> None:
        with ExitStack() as opened:
            self._admin = opened.enter_context(closing(Admin(**self._admin_options)))
            self._producer = Producer(kafka_client=self._connect, **self._options)
            opened.callback(self._producer.close, timeout=0)
            try:
                self._producer.init_transactions()
            except KafkaError as error:
                if errors.InvalidTransactionTimeoutError.__name__ in str(error):  # kafka-python has no class
                    raise KafkaError(TIMEOUT_REFUSED.format(self._delivery_timeout_ms)) from None
                raise
            self._opened = opened.pop_all()

    def _connect(self, **options: object) -> ProducerClient:
        self._client = ProducerClient(**options)
        return self._client

    def _commit(self, records: Sequence[Record], deadline_s: float) -> dict[TopicPartition, int]:
        """One transaction; the last offset that it has written to each partition."""
        if self._client.doubtful:
            self.close()
            self._open()
        self._client.in_transaction = True
        left_ms = max(0, round((deadline_s - time.monotonic()) * 1_000))
        written = within(left_ms, lambda: self._transact(records))
        self._client.in_transaction = False
        return written

    def _is_readable(self, written: Mapping[TopicPartition, int]) -> bool:
        """Whether readers of committed records get past these offsets in time."""
        deadline_s = time.monotonic() + READABLE_WITHIN_MS / 1_000
        while time.monotonic() < deadline_s:
            with suppress(KafkaError):  # without an answer it is not known, and sent again
                ends = self._ends(written)
                if all(ends[partition] > offset for partition, offset in written.items()):
                    return True
            time.sleep(ASK_AGAIN_MS / 1_000)
        return False

    def _ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Where readers of committed records come to an end. Raises ``KafkaError``."""
        specs = dict.fromkeys(partitions, OffsetSpec.LATEST)
        found = self._admin.list_partition_offsets(specs, IsolationLevel.READ_COMMITTED)
        return {partition: end.offset for partition, end in found.items()}

    def _transact(self, records: Sequence[Record]) -> dict[TopicPartition, int]:
        """Every record has its outcome before the commit: kafka-python commits without those that failed.

        Its ``send`` refuses what comes after a failure without saying what that was; those before it know.
        """
        self._producer.begin_transaction()
        sent: list[Sent] = []
        try:
            for key, value in records:
                sent.append(self._producer.send(self._topic, key=key, value=value))
        except KafkaError as error:
            sent.append(error)
        failures = list(filter(None, outcomes(sent, self._delivery_timeout_ms)))
        if failures:  # a refusal first: the records beside a refused one fail with it for another reason
            raise min(failures, key=lambda error: not isinstance(error, REFUSALS))
        self._producer.commit_transaction()
        return {record.value.topic_partition: record.value.offset for record in sent}


def outcomes(sent: Sequence[Sent], timeout_ms: int) -> list[KafkaError | None]:
    """Why each record was not written, None where it was; at most ``timeout_ms`` for all."""
    deadline_s = time.monotonic() + timeout_ms / 1_000
    found: list[KafkaError | None] = []
    for record in sent:
        try:
            if isinstance(record, KafkaError):
                raise record
            record.get(timeout=max(deadline_s - time.monotonic(), 0))
        except KafkaError as error:
            found.append(error)
        else:
            found.append(None)
    return found


def within(timeout_ms: int, call: Callable[[], T]) -> T:
    """What ``call`` returns. Raises ``KafkaTimeoutError`` if it does not end in time; kafka-python waits."""
    outcome: Future[T] = Future()

    def attempt() -> None:
        try:
            outcome.set_result(call())
        except Exception as error:  # noqa: BLE001 - raised in the caller's thread
            outcome.set_exception(error)

    threading.Thread(target=attempt, name="transaction", daemon=True).start()
    if not wait([outcome], timeout_ms / 1_000).done:
        raise errors.KafkaTimeoutError(f"no outcome within {timeout_ms} ms (delivery_timeout_ms)")
    return outcome.result()
