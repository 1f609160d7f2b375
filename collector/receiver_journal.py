"""The way of deliveries to Kafka, exactly once: what will be sent is saved first, then sent, then forgotten.

A crash between the two leaves the events in the saved state: the next start sends them again at the same
positions, before anything new, and readers drop what they have counted. So a request that was answered, or
that was taken although its answer came too late, is counted once.
"""

import json
import logging
import queue
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from collector.contract.events import Event, encode
from collector.outbox import Parcels
from collector.positions import PositionsError
from collector.receiver_body import Reason
from collector.receiver_events import InvalidEventError, event_of
from collector.receiver_flight import Flight, Leg
from collector.receiver_state import Delivery, Origin, Saved, placed
from collector.sources.source import State

log = logging.getLogger(__name__)

MAX_TOGETHER: Final = 64
"""Deliveries that are committed together."""

_SAVED: Final = TypeAdapter(Saved)


@dataclass(frozen=True, slots=True)
class Pending:
    """A delivery on its way; ``done`` is resolved when it is committed, and may be cancelled before."""

    delivery: Delivery
    done: Future[None]


class Journal:
    """Used by one thread, but for ``submit``; it outlives the receiver that uses it."""

    def __init__(self, name: str, parcels: Parcels, saved: State | None, now_ms: int, capacity: int) -> None:
        self._name = name
        self._parcels = parcels
        self._waiting: queue.Queue[Pending] = queue.Queue(capacity)
        known = _restored(saved)
        self._again = _events(known)
        self._saved = replace(known, position_ms=max(now_ms, known.position_ms + 1), ahead=())
        self._number = 0
        self._flight: Flight | None = None
        self._aboard: list[Pending] = []

    def submit(self, delivery: Delivery) -> Future[None] | None:
        """Resolved when the delivery is committed; None when too many are waiting."""
        pending = Pending(delivery, Future())
        try:
            self._waiting.put_nowait(pending)
        except queue.Full:
            return None
        return pending.done

    def step(self, wait_ms: int) -> None:
        """Wait for what is on its way; if that has arrived, send what has come meanwhile."""
        if self._again:
            self._flight = Flight(self._parcels, [(self._again, _state(self._saved))], self._name)
            self._again = ()
        if self._flight is not None:
            if not self._flight.landed(wait_ms):
                return
            self._land()
        self._aboard = self._gather(wait_ms)
        if self._aboard:
            self._depart()

    def _land(self) -> None:
        self._flight = None
        for pending in self._aboard:
            if not pending.done.done():
                pending.done.set_result(None)
        self._aboard = []

    def _gather(self, wait_ms: int) -> list[Pending]:
        """What nobody has given up, waiting for a first one."""
        gathered: list[Pending] = []
        try:
            while len(gathered) < MAX_TOGETHER:
                pending = self._waiting.get(timeout=0 if gathered else wait_ms / 1_000)
                if pending.done.set_running_or_notify_cancel():
                    gathered.append(pending)
        except queue.Empty:
            pass
        return gathered

    def _depart(self) -> None:
        fresh: list[Event] = []
        for pending in self._aboard:
            try:
                self._saved, events = pending.delivery.taken(self._saved)
            except Exception as error:  # a process loop: one delivery's failure stays its own
                log.exception("A delivery cannot be read")
                pending.done.set_exception(error)
            else:
                fresh += events
        ready = tuple(map(_readable, placed(fresh, self._saved.position_ms, self._number)))
        self._number += len(ready)
        ahead = replace(self._saved, ahead=tuple(_json(event) for event in ready))
        legs: list[Leg] = [((), _state(ahead))] if ready else []
        self._flight = Flight(self._parcels, [*legs, (ready, _state(self._saved))], self._name)


def _json(event: Event) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encode(event)[1])
    return body


def _readable(event: Event) -> Event:
    """The event, or that it was passed over: a log may tell a number that no reader takes."""
    try:
        return event_of(_json(event))
    except InvalidEventError as error:
        origin = Origin(event.source, event.kafka_cluster, event.observed_at_ms)
        return replace(origin.quarantined(Reason.INVALID_EVENT, str(error)), position=event.position)


def _state(saved: Saved) -> State:
    state: State = _SAVED.dump_python(saved, mode="json")
    return state


def _restored(saved: State | None) -> Saved:
    try:
        return Saved() if saved is None else _SAVED.validate_python(saved)
    except ValidationError:
        raise _not_one() from None


def _events(saved: Saved) -> tuple[Event, ...]:
    try:
        return tuple(event_of(dict(one)) for one in saved.ahead)
    except InvalidEventError:
        raise _not_one() from None


def _not_one() -> PositionsError:
    return PositionsError(
        "what the receiver has saved cannot be read; restore the positions, or give the collector another"
        " name"
    )
