"""What the receiver remembers, and what each submission adds to it; pure.

Shippers send again what was not acknowledged in time. A request of logs is recognised by its bytes, a
reported event by its id: the last ``MAX_BODIES`` and ``MAX_IDS`` are remembered, and what is known is not
counted again.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Protocol

from collector.sources.logs.records import MAX_RECORD_CHARS, RECORD_TOO_LONG, LogRecord, Resource, scan
from deadwatch.contract.events import Event, Position, Quarantined

MAX_BODIES: Final = 1_000
MAX_IDS: Final = 5_000
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
    """What an event gets beyond its own content."""

    source: str
    kafka_cluster: str
    now_ms: int

    def event(self, make: Callable[..., Event], happened_at_ms: int) -> Event:
        """The event that ``make`` makes with the fields of every event; it has no position yet."""
        return make(
            source=self.source,
            position=_UNPLACED,
            happened_at_ms=happened_at_ms,
            observed_at_ms=self.now_ms,
            kafka_cluster=self.kafka_cluster,
        )

    def quarantined(self, reason: str, excerpt: str) -> Event:
        """The event that some input was skipped."""
        return self.event(partial(Quarantined, reason=reason, excerpt=excerpt[:EXCERPT_CHARS]), self.now_ms)


class Submission(Protocol):
    """Something received; its events have no positions yet."""

    def applied_to(self, saved: Saved) -> tuple[Saved, list[Event]]:
        """The state after the submission, and its new events."""


@dataclass(frozen=True, slots=True)
class RefusedSubmission:
    """Input that could not be read, and is counted."""

    origin: Origin
    reason: str
    excerpt: str

    def applied_to(self, saved: Saved) -> tuple[Saved, list[Event]]:
        """The state as it was, and the event of the refusal."""
        return saved, [self.origin.quarantined(self.reason, self.excerpt)]


@dataclass(frozen=True, slots=True)
class LogsSubmission:
    """One request of log records; ``body`` is the key of its bytes."""

    origin: Origin
    body: str
    records: tuple[LogRecord, ...]

    @property
    def rejected(self) -> int:
        """How many records are too long to be read."""
        return sum(len(record.text) > MAX_RECORD_CHARS for record in self.records)

    def applied_to(self, saved: Saved) -> tuple[Saved, list[Event]]:
        """The state after its records, which are read in order and once, and their events."""
        if self.body in saved.bodies:
            return saved, []
        resources, events = saved.resources, list[Event]()
        for record in self.records:
            if len(record.text) > MAX_RECORD_CHARS:
                events.append(self.origin.quarantined(RECORD_TOO_LONG, record.text))
                continue
            resources, found = scan(resources, record, self.origin.now_ms)
            for match in found:
                times_ms = (record.at_ms, match.at_ms, self.origin.now_ms)
                at_ms = next(time_ms for time_ms in times_ms if time_ms is not None)
                events.append(self.origin.event(match.cause.event, at_ms))
        return replace(saved, bodies=(*saved.bodies, self.body)[-MAX_BODIES:], resources=resources), events


@dataclass(frozen=True, slots=True)
class EventsSubmission:
    """Events that a client reports for itself, by the keys of their ids."""

    events: tuple[tuple[str, Event], ...]

    def applied_to(self, saved: Saved) -> tuple[Saved, list[Event]]:
        """The state after its ids, and the events of new ids; each id counts once, also within a body."""
        known = set(saved.ids)
        new = {key: event for key, event in reversed(self.events) if key not in known}
        fresh = [key for key in dict.fromkeys(key for key, _ in self.events) if key in new]
        return replace(saved, ids=(*saved.ids, *fresh)[-MAX_IDS:]), [new[key] for key in fresh]


def key_of(*parts: bytes) -> str:
    """A hash that identifies some bytes."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:_KEY_HEX_DIGITS]
