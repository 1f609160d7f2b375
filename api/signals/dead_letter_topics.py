"""Dead letter topics: sums over every cause, and what Kafka holds."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from pydantic import Field
from sqlalchemy import Connection, func, select

from api import cursor
from api.answers import TIME, Answer, Page, answer_of, instant
from api.cursor import Key, PageQuery
from api.signals.series import SeriesRow, series_rows
from api.store import StoredRow, every_row
from deadwatch.contract.topics import PARKED_SUFFIX
from deadwatch.store import schema
from deadwatch.store.series import DEAD_LETTERS, REDRIVE_RECORDS

Place = tuple[str, str]
"""Cluster and topic."""


def queues(connection: Connection, *, parked: bool = False) -> dict[Place, StoredRow]:
    """Every dead letter topic that a collector has found, or the topic of what was ``parked`` of it."""
    return {
        (row.kafka_cluster, row.dlq_topic.removesuffix(PARKED_SUFFIX)): row
        for row in every_row(connection, schema.dead_letter_topics)
        if row.dlq_topic.endswith(PARKED_SUFFIX) is parked
    }


SENT, PARKED = "sent", "parked"
HANDLED: Final = frozenset({SENT, PARKED})
"""Outcomes of a redrive after which the record on its dead letter topic is dealt with."""


class TopicOrder(StrEnum):
    """What comes first: the newest record; or most that waits, then the newest record."""

    LATEST = "latest"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A dead letter topic: sums over every cause; ``queue`` is its state in Kafka, None: not known."""

    kafka_cluster: str
    dlq_topic: str
    records: int
    dialects: tuple[str, ...]
    source_topics: tuple[str, ...]
    first_ms: int
    last_ms: int
    queue: StoredRow | None
    handled: int
    gone: bool
    """Whether a collector has looked for it since its last record and has not found it."""

    @property
    def place(self) -> Place:
        """Its cluster and name."""
        return self.kafka_cluster, self.dlq_topic

    @property
    def waiting(self) -> int:
        """What has arrived less what was moved or parked, and no more than lies there."""
        if self.queue is None:
            return 0 if self.gone else max(0, self.records - self.handled)
        lie_there: int = self.queue.records
        arrived = self.records or lie_there  # a topic that is not read is not counted
        return min(max(0, arrived - self.handled), lie_there)

    def has_lost(self, records: int, last_ms: int) -> bool:
        """Whether retention has removed so many records, of which the newest has this time.

        It has if all are older than what lies there, and no fewer records are gone. What lies there is
        counted in offsets, which is too much rather than too little.
        """
        if self.queue is None:
            return False
        return bool(last_ms < self.queue.oldest_at_ms and records <= self.records - self.queue.records)


def read(connection: Connection) -> list[TopicRow]:
    """The topics of which dead letters were counted or that exist in Kafka."""
    causes: dict[Place, list[SeriesRow]] = defaultdict(list)
    for cause in series_rows(connection, DEAD_LETTERS):
        causes[cause.labels[0], cause.labels[1]].append(cause)
    handled: Counter[Place] = Counter()
    for (cluster, topic, _, outcome), records, *_ in series_rows(connection, REDRIVE_RECORDS):
        if outcome in HANDLED:
            handled[cluster, topic] += records
    found = queues(connection)
    table = schema.dead_letter_topics.c
    looks = select(table.kafka_cluster, func.max(table.observed_at_ms)).group_by(table.kafka_cluster)
    observed = dict(connection.execute(looks).all())
    return [
        _row(place, causes[place], found.get(place), handled[place], observed.get(place[0], 0))
        for place in {**causes, **found}
    ]


def _row(
    place: Place, causes: Sequence[SeriesRow], queue: StoredRow | None, handled: int, observed_ms: int
) -> TopicRow:
    last_ms = max((cause.last_ms for cause in causes), default=0)
    return TopicRow(
        *place,
        records=sum(cause.value for cause in causes),
        dialects=tuple(sorted({dialect for (_, _, _, dialect, *_), *_ in causes} - {""})),
        source_topics=tuple(sorted({topic for (_, _, topic, *_), *_ in causes} - {""})),
        first_ms=min((cause.first_ms for cause in causes), default=0),
        last_ms=last_ms,
        queue=queue,
        handled=handled,
        gone=queue is None and observed_ms > last_ms,
    )


def page(rows: Iterable[TopicRow], order: TopicOrder, query: PageQuery) -> tuple[list[TopicRow], str | None]:
    """A page of the topics, and the cursor of the next."""
    by_waiting = order is TopicOrder.WAITING

    def key(row: TopicRow) -> Key:
        latest = row.last_ms, row.dlq_topic, row.kafka_cluster
        return (row.waiting, *latest) if by_waiting else latest

    return cursor.page(rows, key, query, numbers=1 + by_waiting, names=2, backwards=True)


class DeadLetterQueue(Answer):
    """A dead letter topic as it is in Kafka now."""

    exists: bool = Field(
        description="False: a configuration names it, but it was not created.", examples=[True]
    )
    backlog_records: int = Field(
        description="Offsets on it: records, and markers of transactions. It has at most as many records.",
        examples=[10],
    )
    oldest_record: datetime | None = Field(description="Time of the first of them.", examples=[TIME])
    named_by: str = Field(
        description="Share groups and connectors that send there.", examples=["share group g1"]
    )
    read: bool = Field(description="Whether its records are counted by cause.", examples=[True])
    to_do: str = Field(description="What to change; empty: nothing.", examples=[""])


class DeadLetterTopic(Answer):
    """A dead letter topic: sums over every cause."""

    kafka_cluster: str = Field(examples=["default"])
    dlq_topic: str = Field(examples=["dlq.orders"])
    records: int = Field(description="All that have ever arrived.", examples=[10])
    waiting: int = Field(
        description="Of these, neither moved nor parked by a redrive, and no more than lie on it.",
        examples=[4],
    )
    dialects: list[str] = Field(examples=[["share"]])
    source_topics: list[str] = Field(examples=[["orders"]])
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])
    queue: DeadLetterQueue | None = Field(description="Null: no collector has reported it.")


class DeadLetterTopics(Page[DeadLetterTopic]):
    """Dead letter topics, in the requested order."""


def topic_answer(row: TopicRow) -> DeadLetterTopic:
    """The topic as the api answers it."""
    return answer_of(DeadLetterTopic, row, queue=None if row.queue is None else _queue(row.queue))


def _queue(row: StoredRow) -> DeadLetterQueue:
    to_do = f"add {row.dlq_topic!r} to dlq_topics, at the top level of the settings file"
    return answer_of(
        DeadLetterQueue,
        row,
        exists=row.partitions > 0,
        backlog_records=row.records,
        oldest_record=instant(row.oldest_at_ms),
        to_do="" if row.read else to_do,
    )
