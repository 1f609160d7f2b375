"""The events topic as its readers see it."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tests.kafka_topics import messages

Event = dict[str, Any]


def events(bootstrap_servers: str, topic: str) -> list[Event]:
    """Everything committed, in the order of each partition."""
    return [_event(message.key(), message.value()) for message in messages(bootstrap_servers, topic)]


def counted_once(every: Iterable[Event]) -> Iterator[Event]:
    """What is left when a reader drops all that is at or below what it has seen of a source."""
    highest: dict[str, list[int]] = {}
    for event in every:
        if event["position"] > highest.get(event["source"], []):
            highest[event["source"]] = event["position"]
            yield event


def _event(key: bytes | None, value: bytes | None) -> Event:
    event: Event = json.loads(value or b"")
    assert key == event["source"].encode()
    return event
