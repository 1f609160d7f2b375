"""What a topic holds for those who read committed records only."""

import time
from collections.abc import Iterator

from confluent_kafka import Consumer, Message, TopicPartition


def reader(bootstrap_servers: str, isolation: str = "read_committed") -> Consumer:
    """A consumer that tells where a partition ends, and commits nothing."""
    config = {
        "group.id": "chaos",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "log_level": 0,
    }
    return Consumer(config | {"bootstrap.servers": bootstrap_servers, "isolation.level": isolation})


def messages(bootstrap_servers: str, topic: str, within_s: float) -> Iterator[Message]:
    """Every committed record, in the order of each partition."""
    consumer = reader(bootstrap_servers)
    left = set(consumer.list_topics(topic, timeout=within_s).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, number, 0) for number in left])
    deadline_s = time.monotonic() + within_s
    while left:
        assert time.monotonic() < deadline_s
        for message in consumer.consume(1_000, 0.1):
            if message.error() is None:
                yield message
            else:
                left.discard(message.partition() or 0)
    consumer.close()
