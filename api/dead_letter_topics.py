"""Dead letter topics: sums over every cause, and what Kafka holds; in total orders."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from sqlalchemy import Connection, func, select

from api import cursor
from api.brokers import QueueRow, queue_rows
from api.cursor import MAX_TIME_MS, Key
from api.rows import series_growth
from streaming.store.schema import dead_letter_topics
from streaming.store.series import DEAD_LETTERS, REDRIVE_RECORDS

Place = tuple[str, str]
"""Cluster and topic."""
SENT, PARKED = "sent", "parked"
HANDLED: Final = frozenset({SENT, PARKED})
"""Outcomes of a redrive after which nobody has to look at the record on its dead letter topic again."""


class Order(StrEnum):
    """What comes first: the newest record, or most that waits (then the newest record)."""

    LATEST = "latest"
    WAITING = "waiting"


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
    handled: int
    gone: bool
    """Whether a look at Kafka since its last record has not found it."""

    @property
    def place(self) -> Place:
        """Its cluster and name."""
        return self.kafka_cluster, self.dlq_topic

    @property
    def waiting(self) -> int:
        """What has arrived less what was moved or parked, and no more than lies there: the rule of
        ``dashboards.counts.unhandled``.
        """
        if self.queue is None:
            return 0 if self.gone else max(0, self.records - self.handled)
        arrived = self.records or self.queue.records  # nobody counts a topic that is not read
        return min(max(0, arrived - self.handled), self.queue.records)

    def has_lost(self, records: int, last_ms: int) -> bool:
        """Whether retention has removed so many records of which the newest has this time.

        All are older than what lies there, and no fewer have gone. What lies there is counted in offsets: it
        is too much rather than too little.
        """
        if self.queue is None:
            return False
        return last_ms < self.queue.oldest_at_ms and records <= self.records - self.queue.records


@dataclass(slots=True)
class _Sum:
    """Over the causes of one topic."""

    records: int = 0
    first_ms: int = MAX_TIME_MS
    last_ms: int = 0
    source_topics: set[str] = field(default_factory=set)
    dialects: set[str] = field(default_factory=set)


def read(connection: Connection) -> list[TopicRow]:
    """The topics of which dead letters were counted or that Kafka holds."""
    sums: dict[Place, _Sum] = defaultdict(_Sum)
    for labels, records, first_ms, last_ms in series_growth(connection, DEAD_LETTERS):
        cluster, topic, source_topic, dialect, *_ = labels
        one = sums[cluster, topic]
        one.records += records
        one.first_ms, one.last_ms = min(one.first_ms, first_ms), max(one.last_ms, last_ms)
        one.source_topics.add(source_topic)
        one.dialects.add(dialect)
    handled: Counter[Place] = Counter()
    for (cluster, topic, _, outcome), records, *_ in series_growth(connection, REDRIVE_RECORDS):
        if outcome in HANDLED:
            handled[cluster, topic] += records
    queues = {(queue.kafka_cluster, queue.dlq_topic): queue for queue in queue_rows(connection)}
    looks = _looks(connection)
    return [
        _topic(place, sums.get(place), queues.get(place), handled[place], looks.get(place[0], 0))
        for place in {**sums, **queues}
    ]


def _looks(connection: Connection) -> dict[str, int]:
    """When the topics of each cluster were looked at last."""
    table = dead_letter_topics.c
    query = select(table.kafka_cluster, func.max(table.observed_at_ms).label("at_ms")).group_by(
        table.kafka_cluster
    )
    return {row.kafka_cluster: row.at_ms for row in connection.execute(query)}


def _topic(
    place: Place, counted: _Sum | None, queue: QueueRow | None, handled: int, looked_ms: int
) -> TopicRow:
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
        handled=handled,
        gone=queue is None and looked_ms > told.last_ms,
    )


def page(
    rows: Iterable[TopicRow], order: Order, after: str | None, limit: int
) -> tuple[list[TopicRow], str | None]:
    """Up to ``limit`` topics that come behind ``after``, and the cursor of the next ones."""
    by_waiting = order is Order.WAITING
    begin = None if after is None else cursor.decode(after, names=2, numbers=1 + by_waiting)

    def key(row: TopicRow) -> Key:
        latest = row.last_ms, row.dlq_topic, row.kafka_cluster
        return (row.waiting, *latest) if by_waiting else latest

    behind = sorted((row for row in rows if begin is None or key(row) < begin), key=key, reverse=True)
    return behind[:limit], cursor.encode(key(behind[limit - 1])) if len(behind) > limit else None
