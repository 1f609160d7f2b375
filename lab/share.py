"""A share group that rejects records: the broker writes them to the group's dead letter queue (KIP-1191)."""

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


def configure(bootstrap_servers: str) -> None:
    """Give the group its dead letter queue and let it begin with the oldest record."""
    settings = {"errors.deadletterqueue.topic.name": DLQ, "share.auto.offset.reset": "earliest"}
    admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers)
    try:
        admin.alter_configs([ConfigResource(ConfigResourceType.GROUP, GROUP, settings)])
    finally:
        admin.close()


def reject(bootstrap_servers: str, count: int) -> None:
    """Consume ``count`` records in the group and reject every one."""
    consumer = ShareConsumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": GROUP,
            "share.acknowledgement.mode": "explicit",
            "log_level": 0,
        }
    )
    try:
        consumer.subscribe([TOPIC])
        _reject(consumer, count)
    finally:
        consumer.close()


def _reject(consumer: ShareConsumer, count: int) -> None:
    deadline_s = time.monotonic() + _WITHIN_S
    rejected = 0
    while rejected < count:
        if time.monotonic() > deadline_s:
            raise LabError(f"share group {GROUP} was given {rejected} of {count} records in {_WITHIN_S} s")
        for message in consumer.poll(timeout=_POLL_S):
            if message.error() is None:
                consumer.acknowledge(message, AcknowledgeType.REJECT)
                rejected += 1
        consumer.commit_sync()
