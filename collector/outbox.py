"""The way from the sources to the publisher: one queue, and for each source a bound on what it has in it.

A source that finds its share used up waits; it holds up nobody else.
"""

import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from collector.contract.events import Event
from collector.sources.source import State

PARCELS_OF_A_SOURCE: Final = 4


@dataclass(frozen=True, slots=True)
class Parcel:
    """Events, and the states to save once they are committed; ``sent`` is called after that."""

    events: tuple[Event, ...]
    states: Mapping[str, State]
    sent: Callable[[], None] = field(compare=False)


Parcels = queue.SimpleQueue[Parcel]


class Outlet:
    """One source's access to the queue."""

    def __init__(self, parcels: Parcels) -> None:
        self._parcels = parcels
        self._room = threading.Semaphore(PARCELS_OF_A_SOURCE)

    def offer(
        self, events: tuple[Event, ...], states: Mapping[str, State], stop: threading.Event | None = None
    ) -> bool:
        """Whether the queue took it. With ``stop``, wait for room until that is set."""
        while not self._room.acquire(blocking=stop is not None, timeout=None if stop is None else 0.1):
            if stop is None or stop.is_set():
                return False
        self._parcels.put(Parcel(events, states, self._room.release))
        return True
