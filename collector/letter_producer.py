"""Writes dead letters with kafka-python: context only, unless copying is enabled (KIP-1191)."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from kafka import KafkaProducer
from kafka.errors import KafkaError
from kafka.serializer import Serializer

from collector.kafka import create_no_topics
from collector.outgoing import Letter
from collector.own_topics import client_options, require_queue
from collector.producer import REFUSALS, Sent, outcomes
from collector.settings import CollectorSettings

REQUEST_TIMEOUT_MS: Final = 3_000
"""Of one attempt; a letter may not hold up the events for long."""


class KafkaLetters:
    """Appends to our own dead letter queue; raises ``KafkaError`` when that is not there."""

    def __init__(self, settings: CollectorSettings) -> None:
        require_queue(settings)
        self._topic = settings.quarantine_topic
        self._copies = settings.quarantine_copy_record_enable
        self._producer = KafkaProducer(
            **{**client_options(settings), "request_timeout_ms": REQUEST_TIMEOUT_MS},
            acks="all",
            enable_idempotence=False,  # one refused letter would end an idempotent producer for all others
            linger_ms=0,
            delivery_timeout_ms=REQUEST_TIMEOUT_MS + 1,
            max_block_ms=REQUEST_TIMEOUT_MS,
            retry_backoff_ms=settings.retry_backoff_ms,
            key_serializer=BytesOrNull(),
            value_serializer=BytesOrNull(),
        )
        create_no_topics(self._producer)

    def write(self, letters: Sequence[Letter]) -> list[tuple[Letter, KafkaError]]:
        """The letters that were not written; one that is refused with its record is written without it."""
        failed = self._write(letters, copies=self._copies)
        if not self._copies:
            return failed
        too_much = [letter for letter, error in failed if isinstance(error, REFUSALS)]
        rest = [one for one in failed if not isinstance(one[1], REFUSALS)]
        return rest + self._write(too_much, copies=False)

    def close(self) -> None:
        """Close without waiting."""
        with suppress(KafkaError):
            self._producer.close(timeout=0)

    def _write(self, letters: Sequence[Letter], *, copies: bool) -> list[tuple[Letter, KafkaError]]:
        sent = [self._send(letter, copies=copies) for letter in letters]
        found = outcomes(sent, REQUEST_TIMEOUT_MS)
        return [(letter, error) for letter, error in zip(letters, found, strict=True) if error]

    def _send(self, letter: Letter, *, copies: bool) -> Sent:
        try:
            sent: Sent = self._producer.send(
                self._topic,
                key=letter.key if copies else b"",
                value=letter.value if copies else b"",
                headers=letter.context.headers(),
            )
        except REFUSALS as error:
            return Refused(error)
        return sent


class BytesOrNull(Serializer):  # type: ignore[misc]  # kafka-python has no types
    """Null for nothing: kafka-python sends no record whose key and value were null from the beginning."""

    def serialize(self, topic: str, headers: object, data: bytes) -> bytes | None:  # noqa: ARG002 - the interface
        """The bytes as they are."""
        return data or None


class Refused:
    """A record that was not even sent."""

    def __init__(self, error: KafkaError) -> None:
        self._error = error

    def get(self, timeout: float) -> object:  # noqa: ARG002 - what was not sent is not waited for
        """Raise why."""
        raise self._error
