"""What one batch changes in the store: plain values that need neither a store nor Spark."""

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Final, TypeVar

from deadwatch.contract.events import Event, Position
from deadwatch.store.series import Series
from deadwatch.store.storable import storable, storable_keys

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

Place = tuple[str, int]
"""Topic and partition."""
Offsets = Mapping[Place, int]

AHEAD_MS: Final = 60_000
"""As far as this the clocks of two machines may be apart; a time that is further ahead is not believed."""

NO_DETAIL: Final = "{}"
KEYS: Final = 1_000
"""How many keys of series are remembered: the dead letters of thousands of causes have a handful of them."""

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class SeriesDelta:
    """The growth of one counter; ``labels`` is ``Series.key``, ``detail`` JSON facts of the latest event.

    ``buckets`` splits ``value`` by the time it happened: start of a bucket in ms -> part of the value.
    """

    series: Series
    labels: str
    value: int
    first_ms: int
    last_ms: int
    detail: str = NO_DETAIL
    buckets: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupDelta:
    """The growth of one group of dead letters."""

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
    """One of the newest records of a group. Key and value are cut, their lengths are not (-1: null)."""

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
    """Offsets, on one partition of the source topic, of records that a share group has rejected.

    Such dead letters keep no headers of ours: they are known as returns by these offsets.
    """

    kafka_cluster: str
    dlq_topic: str
    fingerprint: str
    source_topic: str
    source_partition: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Present:
    """A dead letter topic as it is in Kafka: its id and first offsets; without partitions it was deleted."""

    topic_id: str
    begin: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Everything that one batch of streaming has found; it is applied once, in one transaction.

    ``begins`` are the store's offsets at which the batch begins, without the partitions that are new to the
    store; the store must be there. ``offsets`` are those at which reading continues, ``first_offsets`` those
    of the first records read. ``query_id`` and ``batch_id`` are Spark's, for traces: nothing is decided by
    them. ``stream`` is the name of the query that has read it; "" for a backfill, which reads all at once.

    ``events`` change states; they are in the order of their source and position. ``topic_ids`` are Kafka's
    ids of the topics. ``present`` are the dead letter topics that redrives have reported on, as they are now.
    """

    query_id: str
    batch_id: int
    stream: str = ""
    committed_at_ms: int
    duration_ms: int = 0
    records: int = 0
    lag_ms: int = 0
    begins: Offsets = field(default_factory=dict)
    offsets: Offsets
    first_offsets: Offsets = field(default_factory=dict)
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
    """The growth of one series; texts are made storable."""
    key = _key(series, tuple(labels.get(name, "") for name in series.labels))
    facts = {name: storable(fact) if isinstance(fact, str) else fact for name, fact in (detail or {}).items()}
    return SeriesDelta(series, key, value, first_ms, last_ms, _encode(facts), buckets or {})


@lru_cache(KEYS)
def _key(series: Series, values: Sequence[str]) -> str:
    return series.key(storable_keys(dict(zip(series.labels, values, strict=True))))


def not_ahead(event: Event, now_ms: int) -> Event:
    """The event with no time more than ``AHEAD_MS`` later than ``now_ms``.

    The clock of whoever saw it may be far ahead; ours, which may be behind, makes no heartbeat older.
    """
    most_ms = now_ms + AHEAD_MS
    if max(event.happened_at_ms, event.observed_at_ms) <= most_ms:
        return event
    happened_ms, observed_ms = min(event.happened_at_ms, most_ms), min(event.observed_at_ms, most_ms)
    return replace(event, happened_at_ms=happened_ms, observed_at_ms=observed_ms)


def grouped(found: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """What has the same key together, in its order."""
    groups: dict[K, list[T]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one)
    return groups


def by_series(deltas: Iterable[SeriesDelta]) -> list[tuple[str, list[SeriesDelta]]]:
    """The deltas of each series, by the series' names in their order."""
    return sorted(grouped(deltas, lambda one: one.series.name).items(), key=itemgetter(0))


def combined(deltas: Iterable[SeriesDelta]) -> tuple[SeriesDelta, ...]:
    """One delta for each row of the table: values are added, the latest detail that is not empty is kept."""
    rows = grouped(deltas, lambda one: (one.series.name, one.labels))
    return tuple(found[0] if len(found) == 1 else _sum(found) for found in rows.values())


def _sum(deltas: Sequence[SeriesDelta]) -> SeriesDelta:
    latest = max(deltas, key=attrgetter("last_ms"))
    telling = [one for one in deltas if one.detail != NO_DETAIL]
    return replace(
        max(telling, key=attrgetter("last_ms"), default=latest),
        value=sum(one.value for one in deltas),
        first_ms=min(one.first_ms for one in deltas),
        last_ms=latest.last_ms,
        buckets=_buckets(deltas, latest.last_ms),
    )


def _buckets(deltas: Sequence[SeriesDelta], last_ms: int) -> Mapping[int, int]:
    if all(one.last_ms == last_ms and not one.buckets for one in deltas):
        return {}
    parts: Counter[int] = Counter()
    for each in deltas:
        parts.update(each.buckets or {each.last_ms: each.value})
    return parts
