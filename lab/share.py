"""A share group that rejects records: the broker writes them to the group's dead letter queue (KIP-1191).

Mended, it accepts what it is given.
"""

import time
from typing import Final

from confluent_kafka import AcknowledgeType, ShareConsumer
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from lab.errors import LabError

GROUP: Final = "g1"
TOPIC: Final = "orders"
DLQ: Final = "dlq.orders-g1"
_WITHIN_S: Final = 60
_POLL_S: Final = 0.5


def configure(bootstrap_servers: str, group: str = GROUP, dlq: str = DLQ) -> None:
    """Give the group its dead letter queue and let it begin with the oldest record."""
    settings = {"errors.deadletterqueue.topic.name": dlq, "share.auto.offset.reset": "earliest"}
    admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers)
    try:
        admin.alter_configs([ConfigResource(ConfigResourceType.GROUP, group, settings)])
    finally:
        admin.close()


def reject(bootstrap_servers: str, count: int, group: str = GROUP, topic: str = TOPIC) -> int:
    """Consume ``count`` records in the group, more if more wait there, and reject every one: how many."""
    return _consume(bootstrap_servers, count, AcknowledgeType.REJECT, group, topic)


def accept(bootstrap_servers: str, count: int, group: str = GROUP, topic: str = TOPIC) -> int:
    """Consume ``count`` records in the group, more if more wait there, and accept every one: how many."""
    return _consume(bootstrap_servers, count, AcknowledgeType.ACCEPT, group, topic)


def _consume(bootstrap_servers: str, count: int, how: AcknowledgeType, group: str, topic: str) -> int:
    consumer = ShareConsumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
            "log_level": 0,
        }
    )
    try:
        consumer.subscribe([topic])
        return _acknowledge(consumer, count, how, group)
    finally:
        consumer.close()


def _acknowledge(consumer: ShareConsumer, count: int, how: AcknowledgeType, group: str) -> int:
    deadline_s = time.monotonic() + _WITHIN_S
    given = 0
    while given < count:
        if time.monotonic() > deadline_s:
            raise LabError(f"share group {group} was given {given} of {count} records in {_WITHIN_S} s")
        for message in consumer.poll(timeout=_POLL_S):
            if message.error() is None:
                consumer.acknowledge(message, how)
                given += 1
        consumer.commit_sync()
    return given
