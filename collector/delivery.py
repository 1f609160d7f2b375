"""Records into Kafka, all in order: one transaction, or several where a broker refuses one of the records.

What fails for a reason of its own is tried again with backoff (KIP-580). A record that is refused for what it
is would be refused for ever: it is found by halving, and passed over.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from random import Random

from kafka.errors import KafkaError

from collector.contract.backoff import Backoff
from collector.contract.events import Event
from collector.outgoing import Outgoing, outgoing, passed_over
from collector.producer import Producer, RecordRefusedError
from collector.telemetry import SILENT, Telemetry

log = logging.getLogger(__name__)


class Delivery:
    """Used by one thread; ``topic`` and ``kafka`` are told in messages."""

    def __init__(
        self,
        connect: Callable[[], Producer],
        *,
        topic: str,
        kafka: str,
        backoff: Backoff,
        rng: Random,
        stopping: threading.Event,
        telemetry: Telemetry = SILENT,
    ) -> None:
        self._connect = connect
        self._topic = topic
        self._kafka = kafka
        self._backoff = backoff
        self._rng = rng
        self._stopping = stopping
        self._telemetry = telemetry
        self._producer: Producer | None = None
        self._trouble = ""

    def send(self, events: Sequence[Event]) -> list[Outgoing] | None:
        """What has become of each; None when stopped before all was committed."""
        waiting, done, failures = [[outgoing(event, self._topic) for event in events]], list[Outgoing](), 0
        while waiting:
            part = waiting.pop()
            try:
                self._transact(part)
            except RecordRefusedError as error:
                self.hang_up()
                waiting += self._parted(part, error)
            except KafkaError as error:
                self.hang_up()
                self._say(str(error))
                waiting.append(part)
                failures += 1
                if self._stopping.wait(self._backoff.delay_ms(failures, self._rng) / 1_000):
                    return None
            else:
                done += part
                failures = 0
        return done

    def hang_up(self) -> None:
        """Let go of the connection."""
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    def _transact(self, part: Sequence[Outgoing]) -> None:
        records = [one.record for one in part if one.record is not None]
        if not records:
            return
        with self._telemetry.publishing(self._topic, len(records)):
            if self._producer is None:
                self._producer = self._connect()
            self._producer.transact(records)
        self._say("")

    def _parted(self, part: list[Outgoing], error: RecordRefusedError) -> list[list[Outgoing]]:
        """The halves, the one to be sent next as the last; of a single record what comes in its place."""
        if len(part) == 1:
            return [[passed_over(part[0], self._topic, str(error.args[0]))]]
        middle = len(part) // 2
        return [part[middle:], part[:middle]]

    def _say(self, trouble: str) -> None:
        """One line at each change."""
        if trouble and not self._trouble:
            log.error("Cannot publish to Kafka at %s (%s); nothing is lost, retrying", self._kafka, trouble)
        if self._trouble and not trouble:
            log.info("Publishing to Kafka at %s again", self._kafka)
        self._trouble = trouble
