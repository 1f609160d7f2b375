"""A Streams application 4.3.1 that drops records in every way and goes on: ``StreamsDrops.java``."""

import struct
import time
from typing import Final

from confluent_kafka import Producer

from lab.processes import LabError
from lab.topics import Topics

INPUT: Final = "drops-in"
COUNTS: Final = "drops-counts"
"""Holds how many records the application has dropped by its own ``dropped-records-total``."""
REST: Final = "drops-rest"
LAYOUT: Final = "[%d] %p [%t] %m (%c:%L)%n"
_COUNT, _UNDATED, _LATE, _UNWRITABLE, _TOO_LARGE, _FAILS = (struct.pack(">i", number) for number in range(6))
_LONG_AGO_MS: Final = 1_000
_WITHIN_S: Final = 30.0
REASON_OF: Final = {
    "deserialization_error": ("a", b"unreadable"),
    "negative_timestamp": ("a", _UNDATED),
    "null_key": (None, _COUNT),
    "expired_window": ("a", _LATE),
    "serialization_error": ("a", _UNWRITABLE),
    "production_error": ("a", _TOO_LARGE),
    "processing_error": ("a", _FAILS),
}
"""Key and value of a record that is dropped, by reason."""


def drop(bootstrap_servers: str, count: int, topics: Topics) -> None:
    """Send ``count`` records for each reason, and return when the application has dropped them all."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    with topics.growing(COUNTS, 2):
        producer.produce(INPUT, _COUNT, "a")  # the time of the stream is now: what is older comes too late
        for _ in range(count):
            for key, value in REASON_OF.values():
                at_ms = _LONG_AGO_MS if value == _LATE else time.time_ns() // 1_000_000
                producer.produce(INPUT, value, key, timestamp=at_ms)
        producer.produce(INPUT, _COUNT, "a")
        if producer.flush(_WITHIN_S):
            raise LabError(f"records for {INPUT} were not acknowledged in {_WITHIN_S:.0f} s")
