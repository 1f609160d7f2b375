"""Dead letter topics: sums over every cause, and what Kafka holds; newest record first, in a total order."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection

from api.brokers import QueueRow, queue_rows
from api.cursor import Key
from api.rows import SeriesRow, series_rows
from streaming.store.series import DEAD_LETTERS

Place = tuple[str, str]
"""Cluster and topic."""


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A dead letter topic: sums over every cause; ``queue`` is how it is in Kafka, if that is known.

    ``counted``: dead letters of it were.
    """

    kafka_cluster: str
    dlq_topic: str
    records: int
    dialects: tuple[str, ...]
    source_topics: tuple[str, ...]
    first_ms: int
    last_ms: int
    queue: QueueRow | None
    counted: bool

    @property
    def key(self) -> Key:
        """Its place in the list."""
        return self.last_ms, self.dlq_topic, self.kafka_cluster


def read(connection: Connection) -> list[TopicRow]:
    """All of them, as ``topics`` has them."""
    return topics(series_rows(connection, DEAD_LETTERS), queue_rows(connection))


def topics(rows: Iterable[SeriesRow], queues: Iterable[QueueRow]) -> list[TopicRow]:
    """The topics of which dead letters were counted or that Kafka holds, latest first."""
    by_topic: dict[Place, list[SeriesRow]] = {}
    for row in rows:
        by_topic.setdefault((row.labels["kafka_cluster"], row.labels["dlq_topic"]), []).append(row)
    by_place = {(queue.kafka_cluster, queue.dlq_topic): queue for queue in queues}
    found = [
        _topic(place, by_topic.get(place, []), by_place.get(place)) for place in {**by_topic, **by_place}
    ]
    return sorted(found, key=lambda row: row.key, reverse=True)


def _topic(place: Place, members: list[SeriesRow], queue: QueueRow | None) -> TopicRow:
    cluster, topic = place
    return TopicRow(
        kafka_cluster=cluster,
        dlq_topic=topic,
        records=sum(row.value for row in members),
        dialects=_names(members, "dialect"),
        source_topics=_names(members, "source_topic"),
        first_ms=min((row.first_ms for row in members), default=0),
        last_ms=max((row.last_ms for row in members), default=0),
        queue=queue,
        counted=bool(members),
    )


def topics_after(rows: list[TopicRow], after: Key | None, limit: int) -> list[TopicRow]:
    """Up to ``limit`` topics that come behind ``after``."""
    return [row for row in rows if after is None or row.key < after][:limit]


def _names(rows: Iterable[SeriesRow], label: str) -> tuple[str, ...]:
    return tuple(sorted({row.labels[label] for row in rows} - {""}))
