"""What one batch changes in the store: plain values, made without a store and applied without Spark."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from collector.contract.events import Event, Position
from streaming.store.series import Series
from streaming.store.storable import storable as storable  # noqa: PLC0414 -- the aggregates use it
from streaming.store.storable import storable_keys

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class SeriesDelta:
    """What a counter grows by; ``labels`` is ``Series.key``, ``detail`` JSON facts of the latest event.

    ``buckets`` splits ``value`` by the time it happened: start of a bucket in ms -> part of the value.
    """

    series: Series
    labels: str
    value: int
    first_ms: int
    last_ms: int
    detail: str = "{}"
    buckets: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupDelta:
    """What a group of dead letters grows by."""

    fingerprint: str
    kafka_cluster: str
    dlq_topic: str
    dialect: str
    source_topic: str
    consumer: str
    error_class: str
    message_pattern: str
    message: str
    records: int
    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One of the newest records of a group; key and value are cut, their lengths whole (-1: null)."""

    fingerprint: str
    dlq_topic: str
    partition: int
    offset: int
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...]
    key: bytes | None
    value: bytes | None
    key_bytes: int
    value_bytes: int


@dataclass(frozen=True, slots=True)
class Origins:
    """Where records of a partition were that a share group has rejected: dead letters without our headers."""

    kafka_cluster: str
    dlq_topic: str
    fingerprint: str
    source_topic: str
    source_partition: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Present:
    """A dead letter topic as Kafka has it: its id and its first offsets; without partitions it is gone."""

    topic_id: str
    begin: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Everything one batch of a query found; applied in one transaction, once.

    ``events`` change states and stand in the order of their source and position. ``offsets`` are where
    reading goes on, ``first_offsets`` those of the first records read, ``topic_ids`` Kafka's of the topics,
    ``present`` the dead letter topics that redrives have told of, as they are now.
    """

    query_id: str
    batch_id: int
    committed_at_ms: int
    duration_ms: int = 0
    records: int = 0
    lag_ms: int = 0
    offsets: Mapping[tuple[str, int], int]
    first_offsets: Mapping[tuple[str, int], int] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, Position]
    series: tuple[SeriesDelta, ...] = ()
    groups: tuple[GroupDelta, ...] = ()
    samples: tuple[Sample, ...] = ()
    events: tuple[Event, ...] = ()
    origins: tuple[Origins, ...] = ()
    present: Mapping[str, Present] = field(default_factory=dict)


def delta(
    series: Series,
    labels: Mapping[str, str],
    value: int,
    *,
    first_ms: int,
    last_ms: int,
    detail: Mapping[str, int | str] | None = None,
    buckets: Mapping[int, int] | None = None,
) -> SeriesDelta:
    """A delta of one series; texts are made storable."""
    key = series.key(storable_keys({name: labels[name] for name in series.labels if name in labels}))
    facts = {name: storable(fact) if isinstance(fact, str) else fact for name, fact in (detail or {}).items()}
    return SeriesDelta(series, key, value, first_ms, last_ms, _encode(facts), buckets or {})


def combined(deltas: Iterable[SeriesDelta]) -> tuple[SeriesDelta, ...]:
    """One delta for every row of the table: values added, the latest detail kept."""
    rows: dict[tuple[str, str], list[SeriesDelta]] = {}
    for one in deltas:
        rows.setdefault((one.series.name, one.labels), []).append(one)
    return tuple(found[0] if len(found) == 1 else _sum(found) for found in rows.values())


def _sum(deltas: Sequence[SeriesDelta]) -> SeriesDelta:
    latest = max(deltas, key=lambda delta: delta.last_ms)
    return replace(
        latest,
        value=sum(one.value for one in deltas),
        first_ms=min(one.first_ms for one in deltas),
        buckets=_buckets(deltas, latest.last_ms),
    )


def _buckets(deltas: Sequence[SeriesDelta], last_ms: int) -> Mapping[int, int]:
    if all(one.last_ms == last_ms and not one.buckets for one in deltas):
        return {}
    parts: dict[int, int] = {}
    for each in deltas:
        for at_ms, value in (each.buckets or {each.last_ms: each.value}).items():
            parts[at_ms] = parts.get(at_ms, 0) + value
    return parts
