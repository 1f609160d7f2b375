"""A share group that rejects records: the broker writes them to the group's dead letter queue (KIP-1191).

Fixed, it accepts what it is given.
"""

import time
from contextlib import closing
from functools import partial
from typing import Final

from confluent_kafka import AcknowledgeType, ShareConsumer
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from lab.processes import LabError

GROUP: Final = "g1"
TOPIC: Final = "orders"
DLQ: Final = "dlq.orders-g1"
_WITHIN_S: Final = 60
_POLL_S: Final = 0.5


def configure(bootstrap_servers: str, group: str = GROUP, dlq: str = DLQ) -> None:
    """Give the group its dead letter queue and let it begin with the oldest record."""
    settings = {"errors.deadletterqueue.topic.name": dlq, "share.auto.offset.reset": "earliest"}
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap_servers)) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.GROUP, group, settings)])


def _consume(
    how: AcknowledgeType, bootstrap_servers: str, count: int, group: str = GROUP, topic: str = TOPIC
) -> int:
    """Consume ``count`` records in the group, or more if more wait, and answer each; returns how many."""
    config = {"bootstrap.servers": bootstrap_servers, "group.id": group, "log_level": 0}
    deadline_s, given = time.monotonic() + _WITHIN_S, 0
    with closing(ShareConsumer(config | {"share.acknowledgement.mode": "explicit"})) as consumer:
        consumer.subscribe([topic])
        while given < count:
            if time.monotonic() > deadline_s:
                raise LabError(f"share group {group} was given {given} of {count} records in {_WITHIN_S} s")
            for message in consumer.poll(timeout=_POLL_S):
                if message.error() is None:
                    consumer.acknowledge(message, how)
                    given += 1
            consumer.commit_sync()
    return given


reject: Final = partial(_consume, AcknowledgeType.REJECT)
accept: Final = partial(_consume, AcknowledgeType.ACCEPT)
