"""Parcels that follow one another to the publisher, and word of their commit."""

import threading
from collections import deque
from collections.abc import Sequence

from collector.contract.events import Event
from collector.outbox import Parcel, Parcels
from collector.sources.source import State

Leg = tuple[tuple[Event, ...], State]


class Flight:
    """Parcels that leave one after the other, each once the one before is committed."""

    def __init__(self, parcels: Parcels, legs: Sequence[Leg], name: str) -> None:
        self._parcels = parcels
        self._legs = deque(legs)
        self._name = name
        self._next()

    def landed(self, wait_ms: int) -> bool:
        """Whether the last one is committed; waits so long for each."""
        while self._committed.wait(wait_ms / 1_000):
            if not self._legs:
                return True
            self._next()
        return False

    def _next(self) -> None:
        self._committed = threading.Event()
        events, state = self._legs.popleft()
        self._parcels.put(Parcel(events, {self._name: state}, self._committed.set))
