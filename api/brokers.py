"""What brokers tell: what every dead letter topic holds, and their own meters of share groups."""

from dataclasses import dataclass, replace

from sqlalchemy import Connection, select

from collector.contract.topics import PARKED_SUFFIX
from streaming.store import schema


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A dead letter topic as it is in Kafka.

    ``partitions`` is 0 when it does not exist, ``oldest_at_ms`` 0 when it is empty. ``read`` is whether its
    records are counted by cause.
    """

    kafka_cluster: str
    dlq_topic: str
    partitions: int
    records: int
    oldest_at_ms: int
    named_by: str
    read: bool


@dataclass(frozen=True, slots=True)
class ShareGroupRow:
    """The meters of one group on one broker, added up over its restarts."""

    kafka_cluster: str
    consumergroup: str
    broker: str
    records_total: int
    produce_requests_total: int
    failed_produce_requests_total: int


def queue_rows(connection: Connection) -> list[QueueRow]:
    """Every dead letter topic that a collector has found."""
    return [row for row in _found(connection) if not row.dlq_topic.endswith(PARKED_SUFFIX)]


def parked_rows(connection: Connection) -> list[QueueRow]:
    """Every topic of parked records, by the dead letter topic that they were on."""
    return [
        replace(row, dlq_topic=row.dlq_topic.removesuffix(PARKED_SUFFIX))
        for row in _found(connection)
        if row.dlq_topic.endswith(PARKED_SUFFIX)
    ]


def _found(connection: Connection) -> list[QueueRow]:
    columns = [schema.dead_letter_topics.c[name] for name in QueueRow.__dataclass_fields__]
    return [QueueRow(**row) for row in connection.execute(select(*columns)).mappings()]


def share_group_rows(connection: Connection) -> list[ShareGroupRow]:
    """Every group of every broker."""
    columns = [schema.share_groups.c[name] for name in ShareGroupRow.__dataclass_fields__]
    return [ShareGroupRow(**row) for row in connection.execute(select(*columns)).mappings()]
