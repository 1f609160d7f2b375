"""Transactions on the events topic, with kafka-python; one upper bound from hand-over to outcome (KIP-91)."""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic
from kafka.errors import (
    InvalidProducerEpochError,
    KafkaError,
    KafkaTimeoutError,
    ProducerFencedError,
    TopicAlreadyExistsError,
)

from collector.contract import topics
from collector.kafka import Options
from collector.settings import CollectorSettings

Record = tuple[bytes, bytes]
"""Key and value."""

BROKER_DEFAULT: Final = -1

BOOTSTRAP_TIMEOUT_MS: Final = 3_000
"""How long one attempt to reach the cluster may take; the publisher makes the next one."""


class FencedError(Exception):
    """Another producer has taken over our transactional id."""


class Producer(Protocol):
    """What the publisher needs; a failure is a ``KafkaError``, and afterwards only ``close`` is called."""

    def transact(self, records: Sequence[Record]) -> None:
        """Commit all of them or none. Raises ``FencedError`` where another one has taken over."""

    def close(self) -> None:
        """Give up what is not committed."""


class KafkaEvents:
    """Appends to the events topic; several processes with one name fence each other."""

    def __init__(self, settings: CollectorSettings) -> None:
        self._topic = settings.events_topic
        self._delivery_timeout_ms = settings.delivery_timeout_ms
        if settings.create_topics:
            create_topics(settings)
        self._producer = KafkaProducer(
            **_client(settings),
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

    def _transact(self, records: Sequence[Record]) -> None:
        self._producer.begin_transaction()
        for key, value in records:
            self._producer.send(self._topic, key=key, value=value)
        self._producer.commit_transaction()

    def close(self) -> None:
        """Close without waiting."""
        self._producer.close(timeout=0)


def create_topics(settings: CollectorSettings) -> None:
    """Create our own topics where they are missing; what exists stays as it is."""
    wanted = {settings.events_topic: settings.events_topic_partitions, topics.OWN_DLQ: 1}
    admin = KafkaAdminClient(**_client(settings))
    try:
        for topic in sorted(set(wanted) - set(admin.list_topics())):
            _create(admin, topic, wanted[topic])
    finally:
        admin.close()


def _client(settings: CollectorSettings) -> Options:
    return {
        **settings.kafka.kafka_python(),
        "client_id": f"deadwatch-collector-{settings.name}",
        "bootstrap_timeout_ms": BOOTSTRAP_TIMEOUT_MS,
        "request_timeout_ms": settings.request_timeout_ms,
        "reconnect_backoff_ms": settings.retry_backoff_ms,
        "reconnect_backoff_max_ms": settings.retry_backoff_max_ms,
    }


def _create(admin: KafkaAdminClient, topic: str, partitions: int) -> None:
    new = NewTopic(topic, num_partitions=partitions, replication_factor=BROKER_DEFAULT)
    try:
        admin.create_topics([new], wait_for_metadata=True)
    except TopicAlreadyExistsError:
        return


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


__all__ = ["FencedError", "KafkaError", "KafkaEvents", "Producer", "Record", "create_topics", "within"]
