"""What we could not read or publish goes to our own dead letter queue, as KIP-1191 has brokers write theirs.

Retriable errors are tried again with backoff (KIP-580); after any other, or when time or attempts are used
up, the letter is given up with an error line, counted, and all goes on. A letter may be written twice.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final, Protocol

from kafka.errors import KafkaError

from collector.contract.backoff import Backoff
from collector.outgoing import Letter

log = logging.getLogger(__name__)

ATTEMPTS: Final = 5
WITHIN_MS: Final = 10_000
"""How long the letters of one transaction may hold up the next one."""


@dataclass(frozen=True, slots=True)
class LetterCounts:
    """KIP-1191's DeadLetterQueueRecordCount, …TotalProduceRequestsPerSec and …FailedProduceRequestsPerSec, as
    totals since the process began; ``lost`` letters were given up.
    """

    records: int = 0
    produce_requests: int = 0
    failed_produce_requests: int = 0
    lost: int = 0


class LetterProducer(Protocol):
    """Writes letters; the queue is looked for when it is made."""

    def write(self, letters: Sequence[Letter]) -> list[tuple[Letter, KafkaError]]:
        """The letters that were not written, each with its reason. May raise ``KafkaError`` for all."""

    def close(self) -> None:
        """Let go of the connection."""


class DeadLetters:
    """Used by one thread; ``counts`` may be read by any."""

    def __init__(
        self,
        connect: Callable[[], LetterProducer],
        *,
        topic: str,
        backoff: Backoff,
        rng: Random,
        stopping: threading.Event,
    ) -> None:
        self.counts = LetterCounts()
        self._connect = connect
        self._topic = topic
        self._backoff = backoff
        self._rng = rng
        self._stopping = stopping
        self._producer: LetterProducer | None = None

    def write(self, letters: Sequence[Letter]) -> None:
        """Write them, or say what was not written; never raises ``KafkaError``."""
        deadline_s, attempts = time.monotonic() + WITHIN_MS / 1_000, 0
        while letters:
            attempts += 1
            failed = self._attempt(letters)
            again = [one for one in failed if one[1].retriable]
            self._give_up([one for one in failed if not one[1].retriable])
            wait_s = self._backoff.delay_ms(attempts, self._rng) / 1_000
            late = attempts == ATTEMPTS or time.monotonic() + wait_s > deadline_s
            if again and (late or self._stopping.wait(wait_s)):
                self._give_up(again)
                return
            letters = [letter for letter, _ in again]

    def close(self) -> None:
        """Let go of the connection."""
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    def _attempt(self, letters: Sequence[Letter]) -> list[tuple[Letter, KafkaError]]:
        try:
            if self._producer is None:
                self._producer = self._connect()
            failed = self._producer.write(letters)
        except KafkaError as error:
            failed = [(letter, error) for letter in letters]
        if failed:
            self.close()
        self.counts = replace(
            self.counts,
            records=self.counts.records + len(letters) - len(failed),
            produce_requests=self.counts.produce_requests + 1,
            failed_produce_requests=self.counts.failed_produce_requests + bool(failed),
        )
        return failed

    def _give_up(self, failed: Sequence[tuple[Letter, KafkaError]]) -> None:
        if not failed:
            return
        self.counts = replace(self.counts, lost=self.counts.lost + len(failed))
        log.error(
            "%d dead letters cannot be written to %s (%s) and are passed over; first: %s",
            len(failed),
            self._topic,
            failed[0][1],
            failed[0][0].context,
        )
