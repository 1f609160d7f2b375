"""Dead letter topics: sums over every cause, and what Kafka holds; newest record first, in a total order."""

from collections import defaultdict
from dataclasses import dataclass, field

from sqlalchemy import Connection

from api.brokers import QueueRow, queue_rows
from api.cursor import MAX_TIME_MS, Key
from api.rows import series_growth, series_labels
from streaming.store.series import DEAD_LETTERS

Place = tuple[str, str]
"""Cluster and topic."""


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A dead letter topic: sums over every cause; ``queue`` is how it is in Kafka, if that is known."""

    kafka_cluster: str
    dlq_topic: str
    records: int
    dialects: tuple[str, ...]
    source_topics: tuple[str, ...]
    first_ms: int
    last_ms: int
    queue: QueueRow | None

    @property
    def key(self) -> Key:
        """Its place in the list."""
        return self.last_ms, self.dlq_topic, self.kafka_cluster


@dataclass(slots=True)
class _Sum:
    """Over the causes of one topic."""

    records: int = 0
    first_ms: int = MAX_TIME_MS
    last_ms: int = 0
    source_topics: set[str] = field(default_factory=set)
    dialects: set[str] = field(default_factory=set)


def read(connection: Connection) -> list[TopicRow]:
    """The topics of which dead letters were counted or that Kafka holds, latest first."""
    sums: dict[Place, _Sum] = defaultdict(_Sum)
    for labels, records, first_ms, last_ms in series_growth(connection, DEAD_LETTERS):
        cluster, topic, source_topic, dialect, *_ = labels
        one = sums[cluster, topic]
        one.records += records
        one.first_ms, one.last_ms = min(one.first_ms, first_ms), max(one.last_ms, last_ms)
        one.source_topics.add(source_topic)
        one.dialects.add(dialect)
    queues = {(queue.kafka_cluster, queue.dlq_topic): queue for queue in queue_rows(connection)}
    found = [_topic(place, sums.get(place), queues.get(place)) for place in {**sums, **queues}]
    return sorted(found, key=lambda row: row.key, reverse=True)


def count(connection: Connection) -> int:
    """How many topics there are of which dead letters were counted."""
    return len({labels[:2] for labels in series_labels(connection, DEAD_LETTERS)})


def _topic(place: Place, counted: _Sum | None, queue: QueueRow | None) -> TopicRow:
    cluster, topic = place
    told = counted or _Sum(first_ms=0)
    return TopicRow(
        kafka_cluster=cluster,
        dlq_topic=topic,
        records=told.records,
        dialects=tuple(sorted(told.dialects - {""})),
        source_topics=tuple(sorted(told.source_topics - {""})),
        first_ms=told.first_ms,
        last_ms=told.last_ms,
        queue=queue,
    )


def topics_after(rows: list[TopicRow], after: Key | None, limit: int) -> list[TopicRow]:
    """Up to ``limit`` topics that come behind ``after``."""
    return [row for row in rows if after is None or row.key < after][:limit]
