"""What one batch changes in the store: plain values, made without a store and applied without Spark."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from collector.contract.events import Event, Position
from streaming.store.series import Series

MAX_LABEL_CHARS = 1_024
REPLACEMENT = "\ufffd"


@dataclass(frozen=True, slots=True)
class SeriesDelta:
    """What a counter grows by; ``labels`` is ``Series.key``, ``detail`` JSON facts of the latest event."""

    series: Series
    labels: str
    value: int
    first_ms: int
    last_ms: int
    detail: str = "{}"


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
    headers: str
    key: bytes | None
    value: bytes | None
    key_bytes: int
    value_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Everything one batch of a query found; applied in one transaction, once.

    ``events`` change states and stand in the order of their source and position.
    """

    query_id: str
    batch_id: int
    committed_at_ms: int
    duration_ms: int = 0
    records: int = 0
    lag_ms: int = 0
    offsets: Mapping[tuple[str, int], int]
    marks: Mapping[str, Position]
    series: tuple[SeriesDelta, ...] = ()
    groups: tuple[GroupDelta, ...] = ()
    samples: tuple[Sample, ...] = ()
    events: tuple[Event, ...] = ()


def storable(text: str) -> str:
    """Text that every database takes: no NUL, bounded."""
    return text.replace("\x00", REPLACEMENT)[:MAX_LABEL_CHARS]


def storable_values(values: Mapping[str, object]) -> dict[str, object]:
    """A row whose texts are storable."""
    return {name: storable(value) if isinstance(value, str) else value for name, value in values.items()}


def delta(
    series: Series,
    labels: Mapping[str, str],
    value: int,
    *,
    first_ms: int,
    last_ms: int,
    detail: Mapping[str, int | str] | None = None,
) -> SeriesDelta:
    """A delta of one series; texts are made storable."""
    key = series.key({name: storable(text) for name, text in labels.items()})
    facts = {name: storable(fact) if isinstance(fact, str) else fact for name, fact in (detail or {}).items()}
    return SeriesDelta(series, key, value, first_ms, last_ms, json.dumps(facts, ensure_ascii=False))


def combined(deltas: Iterable[SeriesDelta]) -> tuple[SeriesDelta, ...]:
    """One delta for every row of the table: values added, the latest detail kept."""
    rows: dict[tuple[str, str], SeriesDelta] = {}
    for one in deltas:
        key = (one.series.name, one.labels)
        rows[key] = _added(rows[key], one) if key in rows else one
    return tuple(rows.values())


def _added(one: SeriesDelta, other: SeriesDelta) -> SeriesDelta:
    return replace(
        one,
        value=one.value + other.value,
        first_ms=min(one.first_ms, other.first_ms),
        last_ms=max(one.last_ms, other.last_ms),
        detail=max(one, other, key=lambda delta: delta.last_ms).detail,
    )
