"""From what the kernel has summed up to a batch of the store: pure functions.

Events add to counters, change states, and move the mark up to which their source was read. A kind of event
that is only counted is a signal: a module of ``deadwatch.contract.signals``.

Dead letters add to counters, groups by cause and samples. At most ``max_groups`` groups of a batch are told
apart, the largest; what is beyond them is counted as ``other``, topic by topic, and the limit is counted too.
One with the headers of a redrive has failed again where that redrive sent it: it has ``bounced``, whatever
its dialect. A share group's dead letter carries no such headers: its original position goes to the store,
which knows the offsets that redrives have written.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import polars as pl

from deadwatch.contract import events, headers, signals
from deadwatch.contract.events import Event, Position, TaskTimerEnded
from deadwatch.deadletter.record import describes_failure
from deadwatch.store import series
from deadwatch.store.batch import GroupDelta, Origins, Sample, SeriesDelta, delta
from deadwatch.store.returns import come_back
from deadwatch.store.series import CLUSTER, DEAD_LETTERS, QUARANTINED, Series
from deadwatch.store.storable import storable
from deadwatch.store.write.counters import limited, other_labels
from streaming.kernel import NO_POSITION
from streaming.kernel.causes import CAUSE, IDENTITY, RETURN, TOTALS, Causes, added_up
from streaming.kernel.event_decoder import labels_of
from streaming.kernel.events import EventCounts, Key, Sums

BROKEN_HEADERS: Final = "broken_headers"
MAX_RETURNS: Final = 1_000
"""Topics and orders of one batch told apart; what came back beyond them is counted as ``other``."""

Row = Mapping[str, Any]


class DeadLetters(NamedTuple):
    """What the dead letters of a batch change in the store."""

    records: int
    series: tuple[SeriesDelta, ...]
    groups: tuple[GroupDelta, ...]
    samples: tuple[Sample, ...]


NONE: Final = DeadLetters(0, (), (), ())


def counted(causes: Causes | None, kafka_cluster: str, max_groups: int) -> DeadLetters:
    """Counters, groups and samples; none where the batch had no dead letter."""
    if causes is None:
        return NONE
    buckets = pl.struct("last_ms", "count").alias("buckets")  # the records of a tick, by its newest time
    groups = added_up(causes.sums, CAUSE, buckets)
    order = groups.select(pl.arg_sort_by("count", "fingerprint", descending=[True, False])).to_series()
    largest = groups[order.head(max_groups)]
    rest = groups.select("topic", "count", "first_ms", "last_ms")[order.slice(max_groups)]
    rows = largest.to_dicts()
    counters = (change for row in rows for change in _counters(row, kafka_cluster))
    samples = causes.samples.join(largest, on=IDENTITY, how="semi").to_dicts()
    return DeadLetters(
        records=int(groups["count"].sum()),
        series=(*counters, *_beyond(rest, kafka_cluster)),
        groups=tuple(_group(row, kafka_cluster) for row in rows),
        samples=tuple(_sample(row) for row in samples),
    )


def without_payload(sample: Sample) -> Sample:
    """The sample with the lengths of key and value alone; headers that are payload have no value."""
    headers = tuple((name, value if describes_failure(name) else None) for name, value in sample.headers)
    return replace(sample, key=None, value=None, headers=headers)


def bounced(causes: Causes | None, kafka_cluster: str) -> Iterator[SeriesDelta]:
    """The records that came back from redrives."""
    if causes is None or causes.returned.is_empty():
        return
    names = ("dlq_topic", "target_topic", "order", "fingerprint")
    returned = causes.returned.sort("count", *RETURN, descending=[True, *(False for _ in RETURN)])
    for *values, count, first_ms, last_ms in returned.head(MAX_RETURNS).iter_rows():
        labels = {CLUSTER: kafka_cluster, **dict(zip(names, values, strict=True))}
        yield from come_back(labels, count, first_ms, last_ms)
    rest = returned.slice(MAX_RETURNS)
    if not rest.is_empty():
        sums = rest.select(TOTALS).row(0)
        others = [other_labels(counter, kafka_cluster) for counter in series.REDRIVES]
        yield from come_back({**others[0], **others[1], **others[2]}, *sums)
        yield limited(series.REDRIVE_RECORDS.name, *sums)


def origins(causes: Causes | None, kafka_cluster: str) -> tuple[Origins, ...]:
    """The original positions of share groups' dead letters that no redrive has sent."""
    if causes is None:
        return ()
    found = causes.origins.group_by("topic", "fingerprint", "source_topic", "source_partition").agg(
        "source_offset"
    )
    return tuple(
        Origins(kafka_cluster, topic, fingerprint, source_topic, partition, tuple(offsets))
        for topic, fingerprint, source_topic, partition, offsets in found.iter_rows()
    )


def _counters(row: Row, kafka_cluster: str) -> Iterator[SeriesDelta]:
    times = {"first_ms": row["first_ms"], "last_ms": row["last_ms"]}
    traced = row["traced"]
    yield delta(
        DEAD_LETTERS,
        {**row, CLUSTER: kafka_cluster, "dlq_topic": row["topic"]},
        row["count"],
        **times,
        detail=headers.trace_facts(traced["traceparent"], traced["timestamp_ms"]) if traced else {},
        buckets={bucket["last_ms"]: bucket["count"] for bucket in row["buckets"]},
    )
    if row["broken"]:
        yield delta(QUARANTINED, {"source": row["topic"], "reason": BROKEN_HEADERS}, row["broken"], **times)


def _beyond(rest: pl.DataFrame, kafka_cluster: str) -> Iterator[SeriesDelta]:
    """Counters for the dead letters that are in none of the groups told apart."""
    labels = other_labels(DEAD_LETTERS, kafka_cluster)
    for _, count, first_ms, last_ms in rest.group_by("topic").agg(TOTALS).sort("topic").iter_rows():
        yield delta(DEAD_LETTERS, labels, count, first_ms=first_ms, last_ms=last_ms)
        yield limited(DEAD_LETTERS.name, count, first_ms, last_ms)


def _group(row: Row, kafka_cluster: str) -> GroupDelta:
    alike = ("dialect", "source_topic", "consumer", "error_class", "message_pattern", "message")
    return GroupDelta(
        fingerprint=row["fingerprint"],
        kafka_cluster=kafka_cluster,
        dlq_topic=row["topic"],
        records=row["count"],
        **{name: row[name] for name in (*alike, "first_ms", "last_ms")},
    )


def _sample(row: Row) -> Sample:
    alike = ("fingerprint", "partition", "offset", "timestamp_ms", "key", "value", "key_bytes", "value_bytes")
    return Sample(
        dlq_topic=row["topic"],
        headers=tuple((header["key"], header["value"]) for header in row["headers"] or ()),
        **{name: row[name] for name in alike},
    )


COUNTED: Final = {signal: series.of(signal) for signal in signals.ALL}


def event_series(counts: EventCounts, events_topic: str) -> Iterator[SeriesDelta]:
    """What the events and the refused records of a batch add to counters."""
    for key, sums in counts.sums.items():
        for counter, labels, value in _added(key, sums, events_topic):
            first_ms, last_ms = sums.first_ms, sums.last_ms
            yield delta(counter, labels, value, first_ms=first_ms, last_ms=last_ms, detail=sums.detail)


def _added(key: Key, sums: Sums, events_topic: str) -> Iterator[tuple[Series, Mapping[str, str], int]]:
    if not key.kind:
        yield series.QUARANTINED, {"source": events_topic, "reason": key.refused}, sums.events
        return
    labels = _labels(key)
    yield series.EVENTS, {"source": key.source, "kind": key.kind}, sums.events
    if key.kind == events.Quarantined.kind:
        yield series.QUARANTINED, {"source": key.source, "reason": labels["reason"]}, sums.events
    for signal, counter in COUNTED.items():
        if signal.event.kind == key.kind:
            value = sums.records if signal.counts_records else sums.events
            yield counter, {**labels, "kind": labels.get("timeout", "")}, value
    if key.kind == events.RedriveOutcome.kind:
        for counter in series.REDRIVES:
            yield counter, labels, sums.records


def marks(counts: EventCounts) -> dict[str, Position]:
    """The highest position of every source in the batch."""
    positions: dict[str, Position] = {}
    for key, sums in counts.sums.items():
        if key.kind:
            source = storable(key.source)
            positions[source] = max(positions.get(source, NO_POSITION), sums.last_position)
    return positions


def state_changes(counts: EventCounts) -> tuple[Event, ...]:
    """The events that change a state (abandoned tasks of KIP-611, timers, sources), in order of source.

    The last timeout of each task is the end of its timers. The timeouts before it in the batch change
    nothing.
    """
    ends = (_timer_end(key, sums) for key, sums in counts.sums.items() if key.kind == events.TaskTimeout.kind)
    return tuple(sorted((*counts.state_changes(), *ends), key=lambda event: (event.source, event.position)))


def _timer_end(key: Key, sums: Sums) -> TaskTimerEnded:
    labels = _labels(key)
    return TaskTimerEnded(
        source=key.source,
        position=sums.last_position,
        happened_at_ms=sums.last_ms,
        observed_at_ms=sums.observed_ms,
        kafka_cluster=labels["kafka_cluster"],
        application=labels["application"],
        streams_client="",
        thread="",
        task=labels["task"],
        reason="timeout",
        message="",
    )


def _labels(key: Key) -> dict[str, str]:
    return dict(zip(labels_of(key.kind), key.labels, strict=True))
