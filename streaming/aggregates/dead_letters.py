"""Dead letters: counters by label and groups by cause.

At most ``max_groups`` groups of a batch are told apart, the largest; what is beyond them is counted as
``other``, topic by topic, and the limit is counted too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from streaming import trace
from streaming.aggregates.samples import Place
from streaming.aggregates.summary import Summary
from streaming.aggregates.ticks import tick_ms
from streaming.dead_letter import letters
from streaming.decode import is_letter
from streaming.quarantine import BROKEN_HEADERS
from streaming.store.batch import GroupDelta, SeriesDelta, delta
from streaming.store.limits import limited, other_labels
from streaming.store.series import CLUSTER, DEAD_LETTERS, QUARANTINED


class Key(NamedTuple):
    """What dead letters of a group have in common."""

    topic: str
    fingerprint: str
    dialect: str
    source_topic: str
    consumergroup: str
    connector: str
    consumer: str
    error_class: str
    message_pattern: str


KEYS: Final = Key._fields[1:]
"""Those that a record's headers tell."""


class Traced(NamedTuple):
    """The newest dead letter of a group that has a trace."""

    timestamp_ms: int
    traceparent: str


class Facts(NamedTuple):
    """What the records of a group in a batch come to.

    ``newest`` are the newest first; ``buckets`` the records by the newest time in each bucket.
    """

    key: Key
    records: int
    broken: int
    first_ms: int
    last_ms: int
    message: str
    newest: Sequence[Place]
    traced: Traced | None
    buckets: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Group:
    """A group: what it adds to its counters and to its row, and where its newest records are."""

    series: tuple[SeriesDelta, ...]
    delta: GroupDelta
    newest: tuple[Place, ...]


def groups(decoded: DataFrame, kafka_cluster: str, *, samples_per_group: int, max_groups: int) -> list[Group]:
    """The largest groups of a decoded batch."""
    rows = (
        letters(decoded.where(is_letter()))
        .groupBy(*_keys(), tick_ms("timestamp_ms").alias("tick_ms"))
        .agg(*_facts(max(samples_per_group, 1)))
        .groupBy("topic", *KEYS)
        .agg(*_sums(max(samples_per_group, 1)))
        .orderBy(F.desc("count"), "fingerprint")
        .limit(max_groups)
        .collect()
    )
    return [group_of(_told(row), kafka_cluster, samples_per_group) for row in rows]


@cache
def _keys() -> tuple[Column, ...]:
    return F.col("topic"), *(F.col(f"letter.{name}").alias(name) for name in KEYS)


@cache
def _facts(samples: int) -> tuple[Column, ...]:
    newest = F.struct("timestamp_ms", "partition", "offset")
    traced = F.struct("timestamp_ms", "partition", "offset", "letter.traceparent")
    return (
        F.count(F.lit(1)).alias("count"),
        F.min("timestamp_ms").alias("first_ms"),
        F.max("timestamp_ms").alias("last_ms"),
        F.count_if("letter.broken").alias("broken"),
        F.max_by("letter.message", newest).alias("message"),
        F.max_by(newest, newest, samples).alias("newest"),
        F.max(F.when(F.col("letter.traceparent") != "", traced)).alias("traced"),
    )


@cache
def _sums(samples: int) -> tuple[Column, ...]:
    """The facts of all buckets of a group, and what each of them adds."""
    newest = F.slice(F.sort_array(F.flatten(F.collect_list("newest")), asc=False), 1, samples)
    return (
        *(F.sum(name).alias(name) for name in ("count", "broken")),
        F.min("first_ms").alias("first_ms"),
        F.max("last_ms").alias("last_ms"),
        F.max_by("message", F.get("newest", F.lit(0))).alias("message"),
        newest.alias("newest"),
        F.max("traced").alias("traced"),
        F.collect_list(F.struct("last_ms", "count")).alias("buckets"),
    )


def beyond(summaries: Iterable[Summary], found: Sequence[Group], kafka_cluster: str) -> Iterator[SeriesDelta]:
    """Counters for the dead letters of a batch that are in none of its ``found`` groups."""
    for topic in sorted({one.topic for one in summaries if one.is_letter}):
        here = [one for one in summaries if one.is_letter and one.topic == topic]
        rest = sum(one.count for one in here)
        rest -= sum(group.delta.records for group in found if group.delta.dlq_topic == topic)
        if rest > 0:
            first_ms, last_ms = min(one.first_ms for one in here), max(one.last_ms for one in here)
            labels = other_labels(DEAD_LETTERS, kafka_cluster)
            yield delta(DEAD_LETTERS, labels, rest, first_ms=first_ms, last_ms=last_ms)
            yield limited(DEAD_LETTERS.name, rest, first_ms, last_ms)


def _told(row: Row) -> Facts:
    """A row of Spark's."""
    traced = row.traced and Traced(row.traced.timestamp_ms, row.traced.traceparent)
    return Facts(
        key=Key(*(row[name] for name in Key._fields)),
        records=row["count"],
        broken=row.broken,
        first_ms=row.first_ms,
        last_ms=row.last_ms,
        message=row.message,
        newest=[Place(row.topic, one.partition, one.offset) for one in row.newest],
        traced=traced,
        buckets={bucket.last_ms: bucket["count"] for bucket in row.buckets},
    )


def group_of(told: Facts, kafka_cluster: str, samples_per_group: int) -> Group:
    """The group of which a batch tells this."""
    key = told.key
    group = GroupDelta(
        fingerprint=key.fingerprint,
        kafka_cluster=kafka_cluster,
        dlq_topic=key.topic,
        dialect=key.dialect,
        source_topic=key.source_topic,
        consumer=key.consumer,
        error_class=key.error_class,
        message_pattern=key.message_pattern,
        message=told.message,
        records=told.records,
        first_ms=told.first_ms,
        last_ms=told.last_ms,
    )
    return Group(tuple(_series(told, kafka_cluster)), group, tuple(told.newest[:samples_per_group]))


def _series(told: Facts, kafka_cluster: str) -> Iterator[SeriesDelta]:
    key = told.key
    labels = {
        CLUSTER: kafka_cluster,
        "dlq_topic": key.topic,
        "source_topic": key.source_topic,
        "dialect": key.dialect,
        "consumergroup": key.consumergroup,
        "connector": key.connector,
        "error_class": key.error_class,
    }
    yield delta(
        DEAD_LETTERS,
        labels,
        told.records,
        first_ms=told.first_ms,
        last_ms=told.last_ms,
        detail=trace.facts(told.traced.traceparent, told.traced.timestamp_ms) if told.traced else {},
        buckets=told.buckets,
    )
    if told.broken:
        reason = {"source": key.topic, "reason": BROKEN_HEADERS}
        yield delta(QUARANTINED, reason, told.broken, first_ms=told.first_ms, last_ms=told.last_ms)
