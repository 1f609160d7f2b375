"""What we could not read or publish goes to our own dead letter queue, as brokers write theirs (KIP-1191).

Only the context of a record is written, unless copying is enabled. Retriable errors are tried again with
backoff (KIP-580); after any other error, or when time or attempts are used up, the dead letter is given up
with an error line and counted, and the collector goes on. A dead letter may be written twice.
"""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Final

from kafka.errors import KafkaError
from kafka.serializer import Serializer

from collector.publish.producer import REFUSALS, Producer, Retries, Sent, client_options, outcomes
from collector.settings import CollectorSettings
from deadwatch.contract.quarantine import Context
from deadwatch.runtime.kafka_topics import Admin, create_queue

log = logging.getLogger(__name__)

ATTEMPTS: Final = 5
WITHIN_MS: Final = 10_000
"""How long the dead letters of one transaction may hold up the next one."""

REQUEST_TIMEOUT_MS: Final = 3_000
"""Of one attempt; a dead letter may not hold up the events for long."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead letter; ``key`` and ``value`` are copied only where that is allowed."""

    context: Context
    key: bytes
    value: bytes


Failure = tuple[DeadLetter, KafkaError]
"""A dead letter that was not written, and why."""


@dataclass(frozen=True, slots=True)
class DeadLetterCounts:
    """KIP-1191's three metrics as totals since the process began; ``lost`` dead letters were given up."""

    records: int = 0
    produce_requests: int = 0
    failed_produce_requests: int = 0
    lost: int = 0


class NoQueueError(KafkaError):  # type: ignore[misc]  # kafka-python has no types
    """Our dead letter queue does not exist, and we may not create it."""


def require_queue(settings: CollectorSettings) -> None:
    """Check that our dead letter queue exists; as in KIP-1191 it is created only if that is allowed.

    Raises ``NoQueueError``, which is not retriable, or another ``KafkaError``.
    """
    with closing(Admin(**client_options(settings))) as admin:
        if settings.quarantine_auto_create_topics_enable:
            create_queue(admin, settings.quarantine_topic)
        elif settings.quarantine_topic not in admin.list_topics():
            raise NoQueueError(
                "it does not exist; create it, or set quarantine_auto_create_topics_enable: true"
            )


class KafkaDeadLetterProducer:
    """Appends to our own dead letter queue; raises ``KafkaError`` when that is not there."""

    def __init__(self, settings: CollectorSettings) -> None:
        require_queue(settings)
        self._topic = settings.quarantine_topic
        self._copies = settings.quarantine_copy_record_enable
        self._producer = Producer(
            **{**client_options(settings), "request_timeout_ms": REQUEST_TIMEOUT_MS},
            acks="all",
            enable_idempotence=False,  # one refused record would end an idempotent producer for all others
            linger_ms=0,
            delivery_timeout_ms=REQUEST_TIMEOUT_MS + 1,
            max_block_ms=REQUEST_TIMEOUT_MS,
            retry_backoff_ms=settings.retry_backoff_ms,
            key_serializer=BytesOrNull(),
            value_serializer=BytesOrNull(),
        )

    def write(self, dead_letters: Sequence[DeadLetter]) -> list[Failure]:
        """Those that were not written, each with its reason. May raise ``KafkaError`` for all.

        One that is refused with its copy is written again without it.
        """
        failed = self._write(dead_letters, copies=self._copies)
        if not self._copies:
            return failed
        too_much = [dead_letter for dead_letter, error in failed if isinstance(error, REFUSALS)]
        rest = [failure for failure in failed if not isinstance(failure[1], REFUSALS)]
        return rest + self._write(too_much, copies=False)

    def close(self) -> None:
        """Close the connection without waiting."""
        self._producer.close(timeout=0)

    def _write(self, dead_letters: Sequence[DeadLetter], *, copies: bool) -> list[Failure]:
        sent = [self._send(dead_letter, copies=copies) for dead_letter in dead_letters]
        found = outcomes(sent, REQUEST_TIMEOUT_MS)
        return [(dead_letter, error) for dead_letter, error in zip(dead_letters, found, strict=True) if error]

    def _send(self, dead_letter: DeadLetter, *, copies: bool) -> Sent:
        key, value = (dead_letter.key, dead_letter.value) if copies else (b"", b"")
        try:
            return self._producer.send(
                self._topic, key=key, value=value, headers=dead_letter.context.headers()
            )
        except REFUSALS as error:
            return error


@dataclass(eq=False, repr=False)
class DeadLetterWriter:
    """Used by one thread; ``counts`` may be read by any."""

    connect: Callable[[], KafkaDeadLetterProducer]
    topic: str
    retries: Retries
    counts: DeadLetterCounts = field(default_factory=DeadLetterCounts, init=False)
    _producer: KafkaDeadLetterProducer | None = field(default=None, init=False)

    def write(self, dead_letters: Sequence[DeadLetter]) -> None:
        """Write them, or log what was not written; never raises ``KafkaError``."""
        deadline_s, attempts = time.monotonic() + WITHIN_MS / 1_000, 0
        while dead_letters:
            attempts += 1
            failed = self._attempt(dead_letters)
            again = [failure for failure in failed if failure[1].retriable]
            self._give_up([failure for failure in failed if not failure[1].retriable])
            wait_s = self.retries.delay_s(attempts)
            late = attempts == ATTEMPTS or time.monotonic() + wait_s > deadline_s
            if again and (late or self.retries.stopping.wait(wait_s)):
                self._give_up(again)
                return
            dead_letters = [dead_letter for dead_letter, _ in again]

    def close(self) -> None:
        """Close the connection if it is open."""
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    def _attempt(self, dead_letters: Sequence[DeadLetter]) -> list[Failure]:
        try:
            if self._producer is None:
                self._producer = self.connect()
            failed = self._producer.write(dead_letters)
        except KafkaError as error:
            failed = [(dead_letter, error) for dead_letter in dead_letters]
        if failed:
            self.close()
        self.counts = replace(
            self.counts,
            records=self.counts.records + len(dead_letters) - len(failed),
            produce_requests=self.counts.produce_requests + 1,
            failed_produce_requests=self.counts.failed_produce_requests + bool(failed),
        )
        return failed

    def _give_up(self, failed: Sequence[Failure]) -> None:
        if not failed:
            return
        self.counts = replace(self.counts, lost=self.counts.lost + len(failed))
        log.error(
            "%d dead letters cannot be written to %s (%s) and are passed over; first: %s",
            len(failed),
            self.topic,
            failed[0][1],
            failed[0][0].context,
        )


class BytesOrNull(Serializer):  # type: ignore[misc]  # kafka-python has no types
    """Serializes empty bytes as null: kafka-python refuses records whose key and value are None before."""

    def serialize(self, topic: str, headers: object, data: bytes) -> bytes | None:  # noqa: ARG002 - the interface
        """The bytes, or None if there are none."""
        return data or None
