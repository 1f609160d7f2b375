"""What an event becomes on the way out: a record of the events topic, and where it must be, a dead letter.

What a source could not read goes to our own dead letter queue beside its event, and so does an event that no
broker takes: then the event says in its place that it was passed over.
"""

import logging
from dataclasses import dataclass, replace
from typing import Final

from collector.contract.events import Event, Quarantined, encode
from collector.contract.quarantine import Context
from collector.contract.topics import LOG_TOPIC

log = logging.getLogger(__name__)

Record = tuple[bytes, bytes]
"""Key and value."""

MAX_EVENT_BYTES: Final = 900_000
"""Just below what a broker takes by default; a larger event is not tried."""

EVENT_TOO_LARGE: Final = "event_too_large"
EVENT_REFUSED: Final = "event_refused"
EXCERPT_BYTES: Final = 200


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter; ``key`` and ``value`` are copied only where that is allowed."""

    context: Context
    key: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class Outgoing:
    """``record`` is None once nothing can be published in the place of the event."""

    event: Event
    record: Record | None
    letter: Letter | None = None


def outgoing(event: Event, topic: str) -> Outgoing:
    """The way of an event to ``topic``."""
    key, value = encode(event)
    if len(value) > MAX_EVENT_BYTES:
        return passed_over(
            Outgoing(event, (key, value)), topic, f"it has {len(value)} bytes", EVENT_TOO_LARGE
        )
    letter = _unread(event) if isinstance(event, Quarantined) else None
    return Outgoing(event, (key, value), letter)


def passed_over(one: Outgoing, topic: str, why: str, reason: str = EVENT_REFUSED) -> Outgoing:
    """In the place of an event that no broker takes, that it was; in the place of that, nothing."""
    event, (key, value) = one.event, one.record or (b"", b"")
    log.error("An event of %s is passed over: %s", event.source, why)
    if isinstance(event, Quarantined):
        return replace(one, record=None)
    instead = Quarantined(
        source=event.source,
        position=event.position,
        happened_at_ms=event.happened_at_ms,
        observed_at_ms=event.observed_at_ms,
        kafka_cluster=event.kafka_cluster,
        reason=reason,
        excerpt=value[:EXCERPT_BYTES].decode(errors="replace"),
    )
    return Outgoing(
        instead, encode(instead), Letter(Context(topic=topic, delivery_count=1, message=why), key, value)
    )


def _unread(event: Quarantined) -> Letter:
    """Input that a source passed over: its place is what the source itself calls it."""
    topic, partition = event.source, event.position.epoch
    if event.source.startswith(LOG_TOPIC):
        topic, _, number = event.source.removeprefix(LOG_TOPIC).rpartition("/")
        partition = int(number)
    context = Context(
        topic=topic,
        partition=partition,
        offset=event.position.offset,
        delivery_count=1,
        message=event.reason,
    )
    return Letter(context, event.source.encode(), event.excerpt.encode(errors="replace"))
