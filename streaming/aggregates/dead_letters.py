"""Dead letters: counters by label and groups by cause.

At most ``max_groups`` groups of a batch are told apart, the largest; what is beyond them is counted as
``other``, topic by topic, and the limit is counted too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

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

KEYS = (
    "fingerprint",
    "dialect",
    "source_topic",
    "consumergroup",
    "connector",
    "consumer",
    "error_class",
    "message_pattern",
)


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
    return [group_of(row, kafka_cluster, samples_per_group) for row in rows]


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


def group_of(row: Row, kafka_cluster: str, samples_per_group: int) -> Group:
    """The group in a row."""
    group = GroupDelta(
        **{name: row[name] for name in ("fingerprint", "dialect", "source_topic", "consumer", "error_class")},
        kafka_cluster=kafka_cluster,
        dlq_topic=row.topic,
        message_pattern=row.message_pattern,
        message=row.message,
        records=row["count"],
        first_ms=row.first_ms,
        last_ms=row.last_ms,
    )
    newest = (Place(row.topic, one.partition, one.offset) for one in row.newest[:samples_per_group])
    return Group(tuple(_series(row, kafka_cluster)), group, tuple(newest))


def _series(row: Row, kafka_cluster: str) -> Iterator[SeriesDelta]:
    labels = {**{name: row[name] for name in KEYS}, CLUSTER: kafka_cluster, "dlq_topic": row.topic}
    traced = {} if row.traced is None else trace.facts(row.traced.traceparent, row.traced.timestamp_ms)
    counted = delta(
        DEAD_LETTERS, labels, row["count"], first_ms=row.first_ms, last_ms=row.last_ms, detail=traced
    )
    yield replace(counted, buckets={bucket.last_ms: bucket["count"] for bucket in row.buckets})
    if row.broken:
        reason = {"source": row.topic, "reason": BROKEN_HEADERS}
        yield delta(QUARANTINED, reason, row.broken, first_ms=row.first_ms, last_ms=row.last_ms)
