"""The only one that publishes, and the only one that saves positions: after the commit, never before.

What cannot be sent stays in hand and is tried again, in the same order, with backoff (KIP-580). A transaction
whose outcome is unknown is sent again: its events carry their positions, and readers drop what they have
counted.
"""

import logging
import queue
import threading
from collections.abc import Callable, Iterable
from typing import Final

from collector.dead_letters import DeadLetters, LetterCounts
from collector.delivery import Delivery
from collector.health import unheard
from collector.log_context import Scope, log_context
from collector.outbox import Parcel, Parcels
from collector.positions import Positions, PositionsError
from collector.producer import FencedError
from collector.sources.source import State

log = logging.getLogger(__name__)

NAME: Final = "publisher"
"""In the context of its lines, and where it is counted as abandoned (KIP-611)."""

MAX_EVENTS: Final = 5_000
"""A transaction takes no further parcel once it has so many."""

_WAKE_UP: Final = Parcel((), {}, lambda: None)


class Publisher:
    """Publishes parcels until it is told to stop and has no more; ``failure`` is why it ended before.

    ``stopping`` is the same event that ``delivery`` and ``letters`` wait on.
    """

    def __init__(
        self,
        parcels: Parcels,
        positions: Positions,
        delivery: Delivery,
        letters: DeadLetters,
        stopping: threading.Event,
        *,
        published: Callable[[], None] = unheard,
    ) -> None:
        self.failure = ""
        self.ended = threading.Event()
        self._parcels = parcels
        self._positions = positions
        self._delivery = delivery
        self._letters = letters
        self._stopping = stopping
        self._published = published

    @property
    def letter_counts(self) -> LetterCounts:
        """What has become of dead letters."""
        return self._letters.counts

    def start(self) -> threading.Thread:
        """Run in a thread of its own."""
        thread = threading.Thread(target=self.run, name=NAME, daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        """Publish what is in the queue, then end."""
        self._stopping.set()
        self._parcels.put(_WAKE_UP)

    def run(self) -> None:
        """Publish until stopped, fenced, or unable to save."""
        with log_context(NAME, Scope.TASK, 1):
            self._run()

    def _run(self) -> None:
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
        events = [event for parcel in parcels for event in parcel.events]
        done = self._delivery.send(events)
        if done is None:
            log.warning("%d events are not published; they are read again at the next start", len(events))
            return False
        self._letters.write([one.letter for one in done if one.letter is not None])
        self._positions.save(_states(parcels))
        if events:
            self._published()
        for parcel in parcels:
            parcel.sent()
        return True

    def _hang_up(self) -> None:
        self._delivery.hang_up()
        self._letters.close()


def _states(parcels: Iterable[Parcel]) -> dict[str, State]:
    return {source: state for parcel in parcels for source, state in parcel.states.items()}
