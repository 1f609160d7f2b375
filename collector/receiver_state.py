"""What the receiver remembers, and what each delivery adds to it; pure.

Shippers send again what was not acknowledged in time. A request of logs is known again by its bytes, a
reported event by its id: the last ``MAX_BODIES`` and ``MAX_IDS`` are remembered, and what is known is not
counted again.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from collector.contract.events import Event, Position, Quarantined
from collector.sources.otlp import LogRecord
from collector.sources.otlp_scan import MAX_RECORD_CHARS, Resource, scan

MAX_BODIES: Final = 1_000
MAX_IDS: Final = 5_000
RECORD_TOO_LONG: Final = "record_too_long"
EXCERPT_CHARS: Final = 200

_UNPLACED: Final = Position(0)
_KEY_HEX_DIGITS: Final = 32


@dataclass(frozen=True, slots=True)
class Saved:
    """``position_ms`` is the epoch of the last positions; ``ahead`` are events that may not be out yet."""

    position_ms: int = 0
    bodies: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    resources: Mapping[str, Resource] = field(default_factory=dict)
    ahead: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """What an event is given that its text does not tell."""

    source: str
    kafka_cluster: str
    now_ms: int

    def quarantined(self, reason: str, excerpt: str) -> Quarantined:
        """That some input was passed over."""
        return Quarantined(
            source=self.source,
            position=_UNPLACED,
            happened_at_ms=self.now_ms,
            observed_at_ms=self.now_ms,
            kafka_cluster=self.kafka_cluster,
            reason=reason,
            excerpt=excerpt[:EXCERPT_CHARS],
        )


class Delivery(Protocol):
    """Something received; its events lack their positions."""

    def taken(self, saved: Saved) -> tuple[Saved, list[Event]]:
        """What is remembered after it, and the events that are new."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Input that could not be read."""

    origin: Origin
    reason: str
    excerpt: str

    def taken(self, saved: Saved) -> tuple[Saved, list[Event]]:
        """It is counted."""
        return saved, [self.origin.quarantined(self.reason, self.excerpt)]


@dataclass(frozen=True, slots=True)
class Shipment:
    """One request of log records; ``body`` is the key of its bytes."""

    origin: Origin
    body: str
    records: tuple[LogRecord, ...]

    @property
    def rejected(self) -> int:
        """How many records are too long to be read."""
        return sum(len(record.text) > MAX_RECORD_CHARS for record in self.records)

    def taken(self, saved: Saved) -> tuple[Saved, list[Event]]:
        """Its records are read in their order, once."""
        if self.body in saved.bodies:
            return saved, []
        resources, events = saved.resources, list[Event]()
        for record in self.records:
            if len(record.text) > MAX_RECORD_CHARS:
                events.append(self.origin.quarantined(RECORD_TOO_LONG, record.text))
                continue
            resources, found = scan(resources, record, self.origin.now_ms)
            events += [
                one.cause.event(
                    source=self.origin.source,
                    position=_UNPLACED,
                    happened_at_ms=_first_known(record.at_ms, one.at_ms, self.origin.now_ms),
                    observed_at_ms=self.origin.now_ms,
                    kafka_cluster=self.origin.kafka_cluster,
                )
                for one in found
            ]
        return replace(saved, bodies=(*saved.bodies, self.body)[-MAX_BODIES:], resources=resources), events


@dataclass(frozen=True, slots=True)
class Reports:
    """Events that a client reports for itself, by the keys of their ids."""

    events: tuple[tuple[str, Event], ...]

    def taken(self, saved: Saved) -> tuple[Saved, list[Event]]:
        """Each id counts once, also within one body."""
        known = set(saved.ids)
        new = {key: event for key, event in reversed(self.events) if key not in known}
        fresh = [key for key in dict.fromkeys(key for key, _ in self.events) if key in new]
        return replace(saved, ids=(*saved.ids, *fresh)[-MAX_IDS:]), [new[key] for key in fresh]


def key_of(*parts: bytes) -> str:
    """A short name of some bytes that nothing else has."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:_KEY_HEX_DIGITS]


def _first_known(*times_ms: int | None) -> int:
    return next(at_ms for at_ms in times_ms if at_ms is not None)


def placed(events: Iterable[Event], epoch_ms: int, after: int) -> tuple[Event, ...]:
    """The events at the positions that follow ``after`` in the epoch."""
    return tuple(
        replace(event, position=Position(epoch_ms, number)) for number, event in enumerate(events, after + 1)
    )
