"""Dead letter topics: sums over every cause, the topic with the newest record first, in a total order."""

from collections.abc import Iterable
from dataclasses import dataclass

from api.cursor import Key
from api.rows import SeriesRow


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A dead letter topic: sums over every cause."""

    kafka_cluster: str
    dlq_topic: str
    records: int
    dialects: tuple[str, ...]
    source_topics: tuple[str, ...]
    first_ms: int
    last_ms: int

    @property
    def key(self) -> Key:
        """Its place in the list."""
        return self.last_ms, self.dlq_topic, self.kafka_cluster


def topics(rows: Iterable[SeriesRow]) -> list[TopicRow]:
    """The topics that the series of dead letters tells of, latest first."""
    by_topic: dict[tuple[str, str], list[SeriesRow]] = {}
    for row in rows:
        by_topic.setdefault((row.labels["kafka_cluster"], row.labels["dlq_topic"]), []).append(row)
    found = [
        TopicRow(
            kafka_cluster=cluster,
            dlq_topic=topic,
            records=sum(row.value for row in members),
            dialects=_names(members, "dialect"),
            source_topics=_names(members, "source_topic"),
            first_ms=min(row.first_ms for row in members),
            last_ms=max(row.last_ms for row in members),
        )
        for (cluster, topic), members in by_topic.items()
    ]
    return sorted(found, key=lambda row: row.key, reverse=True)


def topics_after(rows: list[TopicRow], after: Key | None, limit: int) -> list[TopicRow]:
    """Up to ``limit`` topics that come behind ``after``."""
    return [row for row in rows if after is None or row.key < after][:limit]


def _names(rows: Iterable[SeriesRow], label: str) -> tuple[str, ...]:
    return tuple(sorted({row.labels[label] for row in rows} - {""}))
