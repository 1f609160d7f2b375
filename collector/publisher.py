"""The only one that publishes, and the only one that saves positions: after the commit, never before.

What cannot be sent stays in hand and is tried again, in the same order, with backoff (KIP-580). A transaction
whose outcome is unknown is sent again: its events carry their positions, and readers drop what they have
counted.
"""

import logging
import queue
import threading
from collections.abc import Callable, Iterable
from random import Random
from typing import Final

from collector.contract.backoff import Backoff
from collector.outbox import Parcel, Parcels
from collector.positions import Positions, PositionsError
from collector.producer import FencedError, KafkaError, Producer, Record
from collector.records import record
from collector.sources.source import State

log = logging.getLogger(__name__)

MAX_EVENTS: Final = 5_000
"""A transaction takes no further parcel once it has so many."""

_WAKE_UP: Final = Parcel((), {}, lambda: None)


class Publisher:
    """Publishes parcels until it is told to stop and has no more; ``failure`` is why it ended before."""

    def __init__(
        self,
        parcels: Parcels,
        positions: Positions,
        connect: Callable[[], Producer],
        *,
        kafka: str,
        backoff: Backoff,
        rng: Random,
    ) -> None:
        self.failure = ""
        self.ended = threading.Event()
        self._parcels = parcels
        self._positions = positions
        self._connect = connect
        self._kafka = kafka
        self._backoff = backoff
        self._rng = rng
        self._producer: Producer | None = None
        self._stopping = threading.Event()
        self._trouble = ""

    def start(self) -> threading.Thread:
        """Run in a thread of its own."""
        thread = threading.Thread(target=self.run, name="publisher", daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        """Publish what is in the queue, then end."""
        self._stopping.set()
        self._parcels.put(_WAKE_UP)

    def run(self) -> None:
        """Publish until stopped, fenced, or unable to save."""
        try:
            while parcels := self._gather():
                if not self._publish(parcels):
                    break
        except FencedError:
            self.failure = "another collector with the same name has taken over; give each its own name"
        except PositionsError as error:
            self.failure = str(error)
        except Exception as error:  # a process loop: nobody may wait for a publisher that is gone
            log.exception("Publishing failed")
            self.failure = f"publishing failed: {error!r}"
        finally:
            self._hang_up()
            self.ended.set()

    def _gather(self) -> list[Parcel]:
        """What is in the queue, waiting for a first one; nothing once stopped."""
        gathered: list[Parcel] = []
        while sum(len(parcel.events) for parcel in gathered) < MAX_EVENTS:
            try:
                gathered.append(self._parcels.get(block=not gathered and not self._stopping.is_set()))
            except queue.Empty:
                break
        return gathered

    def _publish(self, parcels: list[Parcel]) -> bool:
        """Whether it has been done; it is not only when stopped while Kafka is away."""
        records = [record(event) for parcel in parcels for event in parcel.events]
        failures = 0
        while records and not self._sent(records):
            failures += 1
            if self._stopping.wait(self._backoff.delay_ms(failures, self._rng) / 1_000):
                log.warning(
                    "%d events are not published; they are read again at the next start", len(records)
                )
                return False
        self._positions.save(_states(parcels))
        for parcel in parcels:
            parcel.sent()
        return True

    def _sent(self, records: list[Record]) -> bool:
        try:
            if self._producer is None:
                self._producer = self._connect()
            self._producer.transact(records)
        except KafkaError as error:
            self._hang_up()
            self._say(str(error))
            return False
        self._say("")
        return True

    def _say(self, trouble: str) -> None:
        """One line at each change."""
        if trouble and not self._trouble:
            log.error("Cannot publish to Kafka at %s (%s); nothing is lost, retrying", self._kafka, trouble)
        if self._trouble and not trouble:
            log.info("Publishing to Kafka at %s again", self._kafka)
        self._trouble = trouble

    def _hang_up(self) -> None:
        if self._producer is not None:
            self._producer.close()
            self._producer = None


def _states(parcels: Iterable[Parcel]) -> dict[str, State]:
    return {source: state for parcel in parcels for source, state in parcel.states.items()}
