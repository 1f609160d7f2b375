"""What an event becomes on the events topic."""

import logging
from typing import Final

from collector.contract.events import Event, Quarantined, encode

log = logging.getLogger(__name__)

MAX_EVENT_BYTES: Final = 900_000
"""Just below what a broker takes by default; a larger event is quarantined."""

EVENT_TOO_LARGE: Final = "event_too_large"
EXCERPT_BYTES: Final = 200


def record(event: Event) -> tuple[bytes, bytes]:
    """Key and value; in the place of an event that no broker would take, that it was passed over."""
    key, value = encode(event)
    if len(value) <= MAX_EVENT_BYTES:
        return key, value
    log.error("An event of %s has %d bytes and is quarantined", event.source, len(value))
    return encode(
        Quarantined(
            source=event.source,
            position=event.position,
            happened_at_ms=event.happened_at_ms,
            observed_at_ms=event.observed_at_ms,
            kafka_cluster=event.kafka_cluster,
            reason=EVENT_TOO_LARGE,
            excerpt=value[:EXCERPT_BYTES].decode(errors="replace"),
        )
    )
