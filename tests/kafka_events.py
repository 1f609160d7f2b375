"""The events topic as its readers see it."""

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

from kafka import KafkaConsumer, TopicPartition

Event = dict[str, Any]

READ_WITHIN_S = 60


def events(bootstrap_servers: str, topic: str) -> list[Event]:
    """Everything committed, in the order of each partition."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap_servers, isolation_level="read_committed", group_id=None
    )
    try:
        partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        if not partitions:
            return []
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        return list(_read(consumer, consumer.end_offsets(partitions)))
    finally:
        consumer.close()


def counted_once(every: Iterable[Event]) -> Iterator[Event]:
    """What is left when a reader drops all that is at or below what it has seen of a source."""
    highest: dict[str, list[int]] = {}
    for event in every:
        if event["position"] > highest.get(event["source"], []):
            highest[event["source"]] = event["position"]
            yield event


def _read(consumer: KafkaConsumer, ends: dict[TopicPartition, int]) -> Iterator[Event]:
    deadline = time.monotonic() + READ_WITHIN_S
    while any(consumer.position(partition) < end for partition, end in ends.items()):
        assert time.monotonic() < deadline, "the topic could not be read to its end"
        for records in consumer.poll(timeout_ms=200).values():
            for record in records:
                event: Event = json.loads(record.value)
                assert record.key.decode() == event["source"]
                yield event
