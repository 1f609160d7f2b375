"""Merging counters: values grow, the latest detail that is not empty is kept.

Beyond the bound of a counter or of the groups of dead letters, what is counted is added to the row ``other``,
and a counter says how much that was.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, and_, case, or_

from deadwatch.store.batch import NO_DETAIL, GroupDelta, SeriesDelta, by_series, combined, delta
from deadwatch.store.schema import series
from deadwatch.store.series import BUCKETS_SHARED, CARDINALITY_LIMITED, CLUSTER, Series
from deadwatch.store.statements import New, Values, count, greatest, least, many, merging, saturated, stored
from deadwatch.store.storable import clamped, counted

OTHER: Final = "other"
GROUPS: Final = "dead_letter_groups"
"""The name of the table of groups in ``cardinality_limited``."""


def other_labels(series: Series, kafka_cluster: str) -> dict[str, str]:
    """The labels of the row ``other``; the cluster is kept."""
    return {label: kafka_cluster if label == CLUSTER else OTHER for label in series.labels}


def other_key(series: Series, labels: str) -> str:
    """The key of the row ``other`` that stands in for the one with ``labels``."""
    return series.key(other_labels(series, json.loads(labels).get(CLUSTER, "")))


def limited(name: str, value: int, first_ms: int, last_ms: int) -> SeriesDelta:
    """The counter that ``value`` counts of ``name`` have lost their labels."""
    return delta(CARDINALITY_LIMITED, {"series": name}, value, first_ms=first_ms, last_ms=last_ms)


def shared(one: SeriesDelta) -> SeriesDelta:
    """The counter that a delta is in its own row, but in the time buckets of ``other``."""
    labels = {"series": one.series.name}
    return delta(BUCKETS_SHARED, labels, one.value, first_ms=one.first_ms, last_ms=one.last_ms)


def admitted(keys: Iterable[str], known: Collection[str], stored: int, maximum: int) -> frozenset[str]:
    """The keys that may have a row: known ones, and new ones in their order until the table is full."""
    new = [key for key in dict.fromkeys(keys) if key not in known]
    return frozenset(known).union(new[: max(0, maximum - stored)])


def other_group(group: GroupDelta) -> GroupDelta:
    """The delta of the group ``other`` that stands in for ``group``."""
    cause = ("fingerprint", "dlq_topic", "dialect", "source_topic", "consumer", "error_class")
    labels: Mapping[str, Any] = dict.fromkeys((*cause, "message_pattern"), OTHER)
    return replace(group, **labels)


def merge(connection: Connection, deltas: Iterable[SeriesDelta], max_series: int) -> None:
    """Add the deltas; a delta without a row is added to ``other`` when its counter has no more rows left."""
    bounded = [
        delta
        for name, of_name in by_series(deltas)
        for delta in _bounded(connection, name, of_name, max_series)
    ]
    many(connection, merging(connection, series, _changes), [_row(delta) for delta in combined(bounded)])


def _bounded(
    connection: Connection, name: str, deltas: Sequence[SeriesDelta], max_series: int
) -> Iterator[SeriesDelta]:
    keys = list(dict.fromkeys(delta.labels for delta in deltas))
    of_name = series.c.name == name
    known = stored(connection, series.c.labels, keys, of_name)
    rows = count(connection, series, of_name) if len(known) < len(keys) else len(known)
    admissible = admitted(keys, known, rows, max_series)
    for one in deltas:
        if one.labels in admissible:
            yield one
        else:
            yield replace(one, labels=other_key(one.series, one.labels))
            yield limited(name, one.value, one.first_ms, one.last_ms)


def _changes(new: New) -> Values:
    is_newer = or_(new.last_ms >= series.c.last_ms, series.c.detail == NO_DETAIL)
    return {
        "value": saturated(series.c.value, new.value),
        "first_ms": least(series.c.first_ms, new.first_ms),
        "last_ms": greatest(series.c.last_ms, new.last_ms),
        "detail": case((and_(is_newer, new.detail != NO_DETAIL), new.detail), else_=series.c.detail),
    }


def _row(delta: SeriesDelta) -> dict[str, int | str]:
    return {
        "name": delta.series.name,
        "labels": delta.labels,
        "value": counted(delta.value),
        "first_ms": clamped(delta.first_ms),
        "last_ms": clamped(delta.last_ms),
        "detail": delta.detail,
    }
