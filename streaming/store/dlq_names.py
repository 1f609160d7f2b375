"""Dead letter topics that configurations name, whatever they are called."""

from sqlalchemy import Connection, select

from streaming.store.schema import dead_letter_topics


def named_topics(connection: Connection) -> frozenset[str]:
    """As the latest snapshots tell: dead letter queues of share groups and connectors."""
    column = dead_letter_topics.c
    return frozenset(connection.scalars(select(column.dlq_topic).where(column.named_by != "")))
