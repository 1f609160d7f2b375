"""What redrives did: outcomes as their events tell them, and records that came back.

A dead letter that carries the headers of a redrive has failed again where that one sent it: it is
``bounced``, whichever dialect says so. A share group's carries none: where its record was is told to the
store, which knows the offsets that redrives have written.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from collector.contract.events import RedriveOutcome, RedriveWritten
from streaming.aggregates.summary import Summary
from streaming.dead_letter import letters
from streaming.decode import is_letter, is_redriven
from streaming.dialects import SHARE_GROUP
from streaming.store.batch import Origins, SeriesDelta, delta
from streaming.store.limits import limited, other_labels
from streaming.store.series import CLUSTER, REDRIVE_GROUPS, REDRIVE_ORDERS, REDRIVE_RECORDS

BOUNCED = "bounced"
KEYS = ("topic", "source_topic", "order", "sent_from")
MAX_ROWS = 1_000
"""Topics and orders of one batch told apart; what came back beyond them is counted as ``other``."""


def deltas(summaries: Iterable[Summary]) -> Iterator[SeriesDelta]:
    """As many records as the events say, by topics and by order."""
    for one in summaries:
        if one.kind == RedriveOutcome.kind:
            yield one.adds(REDRIVE_RECORDS, one.labels, one.records)
            yield one.adds(REDRIVE_ORDERS, one.labels, one.records)
            yield one.adds(REDRIVE_GROUPS, one.labels, one.records)


def bounced(
    came_back: Callable[[], list[Row]], summaries: Iterable[Summary], kafka_cluster: str
) -> Iterator[SeriesDelta]:
    """What came back among the dead letters; ``came_back`` is asked only where something did."""
    back = [one for one in summaries if one.redriven]
    if not back:
        return
    rows = came_back()
    for row in rows:
        labels = {CLUSTER: kafka_cluster, "dlq_topic": row.topic, "target_topic": row.source_topic}
        told = {**labels, "order": row.order, "fingerprint": row.sent_from}
        yield from _bounced(told, row["count"], row.first_ms, row.last_ms)
    rest = sum(one.redriven for one in back) - sum(row["count"] for row in rows)
    if rest > 0:
        first_ms, last_ms = min(one.first_ms for one in back), max(one.last_ms for one in back)
        series = (REDRIVE_RECORDS, REDRIVE_ORDERS, REDRIVE_GROUPS)
        others = {name: label for one in series for name, label in other_labels(one, kafka_cluster).items()}
        yield from _bounced(others, rest, first_ms, last_ms)
        yield limited(REDRIVE_RECORDS.name, rest, first_ms, last_ms)


def tells_ranges(summaries: Iterable[Summary]) -> bool:
    """Whether a redrive tells in this batch where it has written."""
    return any(one.kind == RedriveWritten.kind for one in summaries)


def origins(records: DataFrame, kafka_cluster: str) -> tuple[Origins, ...]:
    """Where the records of share groups' dead letters were, of those that have no headers of ours."""
    found = letters(records.where(is_letter() & ~is_redriven())).select("topic", "letter.*")
    shared = found.where((F.col("dialect") == SHARE_GROUP.name) & F.col("source_offset").isNotNull())
    keys = ("topic", "fingerprint", "source_topic", "source_partition")
    rows = shared.groupBy(*keys).agg(F.collect_set("source_offset").alias("offsets")).collect()
    return tuple(
        Origins(
            kafka_cluster,
            row.topic,
            row.fingerprint,
            row.source_topic,
            row.source_partition,
            tuple(row.offsets),
        )
        for row in rows
        if row.source_partition is not None
    )


def came_back(records: DataFrame) -> list[Row]:
    """The topics and orders that most came back to."""
    found = letters(records.where(is_redriven())).select("topic", "letter.*", "timestamp_ms")
    counted = found.groupBy(*KEYS).agg(
        F.count(F.lit(1)).alias("count"),
        F.min("timestamp_ms").alias("first_ms"),
        F.max("timestamp_ms").alias("last_ms"),
    )
    return counted.orderBy(F.desc("count"), *KEYS).limit(MAX_ROWS).collect()


def _bounced(labels: Mapping[str, str], value: int, first_ms: int, last_ms: int) -> Iterator[SeriesDelta]:
    for series in (REDRIVE_RECORDS, REDRIVE_ORDERS, REDRIVE_GROUPS):
        yield delta(series, {**labels, "outcome": BOUNCED}, value, first_ms=first_ms, last_ms=last_ms)
