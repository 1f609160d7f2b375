"""Bounds of the store: beyond them labels become ``other`` and a counter says so."""

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from streaming.store.batch import GroupDelta, Sample, SeriesDelta, delta
from streaming.store.series import BUCKETS_SHARED, CARDINALITY_LIMITED, CLUSTER, Series

OTHER: Final = "other"
GROUPS: Final = "dead_letter_groups"
"""What ``cardinality_limited`` calls the table of groups."""


def other_labels(series: Series, kafka_cluster: str) -> dict[str, str]:
    """The labels of what is beyond the bound; the cluster stays what it is."""
    return {label: kafka_cluster if label == CLUSTER else OTHER for label in series.labels}


def other_key(series: Series, labels: str) -> str:
    """The key of the row that is added to in place of the one with ``labels``."""
    return series.key(other_labels(series, json.loads(labels).get(CLUSTER, "")))


def limited(name: str, value: int, first_ms: int, last_ms: int) -> SeriesDelta:
    """The count that says that ``value`` counts of ``name`` lost their labels."""
    return delta(CARDINALITY_LIMITED, {"series": name}, value, first_ms=first_ms, last_ms=last_ms)


def shared(one: SeriesDelta) -> SeriesDelta:
    """The count that says that a delta is in its row, and in the time buckets of ``other``."""
    labels = {"series": one.series.name}
    return delta(BUCKETS_SHARED, labels, one.value, first_ms=one.first_ms, last_ms=one.last_ms)


def admitted(wanted: Iterable[str], known: Collection[str], stored: int, maximum: int) -> frozenset[str]:
    """The keys that may have a row: the known ones, and new ones in their order until the table is full."""
    new = [key for key in dict.fromkeys(wanted) if key not in known]
    return frozenset(known).union(new[: max(0, maximum - stored)])


def other_group(group: GroupDelta) -> GroupDelta:
    """The group of what is beyond the bound, growing by what ``group`` would have."""
    return replace(
        group,
        fingerprint=OTHER,
        dlq_topic=OTHER,
        dialect=OTHER,
        source_topic=OTHER,
        consumer=OTHER,
        error_class=OTHER,
        message_pattern=OTHER,
    )


def other_sample(sample: Sample) -> Sample:
    """The sample as one of the group of what is beyond the bound."""
    return replace(sample, fingerprint=OTHER)
