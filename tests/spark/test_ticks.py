"""A backlog is counted when it happened, whatever it has to be spread over, and its totals stay."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame

from collector.contract.events import Position, TaskTimeout, encode
from streaming.aggregates import dead_letters, task_timeouts
from streaming.aggregates.one_pass import summarise
from streaming.decode import decode
from streaming.store.batch import SeriesDelta, combined
from streaming.store.buckets import TIERS, Cell, cell, split

Kafka = Callable[[Sequence[Mapping[str, Any]]], DataFrame]
EVENTS = "deadwatch.events"
S, HOUR, DAY = 1_000, 3_600_000, 86_400_000
AGES_MS = [
    *(0, 1 * S, 2 * S, 11 * S, 11 * S, 3 * HOUR, 3 * HOUR + 10 * S),
    *(tier.kept_s * S + extra_ms for tier in TIERS for extra_ms in (-HOUR, -10 * S, 0, 10 * S, 61 * S, HOUR)),
    *(2 * DAY, 2 * DAY + 30 * S, 20 * DAY, 20 * DAY + HOUR, 800 * DAY, 900 * DAY, -5 * S, -HOUR),
]
"""How old events are: on both sides of every boundary, and some from the future."""

pytestmark = pytest.mark.spark


@pytest.fixture
def now_ms() -> int:
    return time.time_ns() // 1_000_000


def expected(now_ms: int) -> Counter[Cell]:
    return Counter(place for age_ms in AGES_MS if (place := cell(now_ms - age_ms, now_ms)))


def spread(deltas: Sequence[SeriesDelta], now_ms: int) -> Counter[Cell]:
    (one,) = combined(deltas)
    assert one.value == len(AGES_MS)
    return split(one, now_ms)


def test_events_of_a_backlog_are_in_the_buckets_of_their_times(kafka: Kafka, now_ms: int) -> None:
    hits = [
        TaskTimeout(
            source="log:a",
            position=Position(1, number, 0),
            happened_at_ms=now_ms - age_ms,
            observed_at_ms=now_ms,
            kafka_cluster="c1",
            application="app",
            task="0_0",
            elapsed_ms=1,
            message="late",
        )
        for number, age_ms in enumerate(AGES_MS)
    ]
    records = [{"key": key, "value": value} for key, value in map(encode, hits)]
    summaries = summarise(decode(kafka(records), EVENTS))
    assert spread(list(task_timeouts.deltas(summaries)), now_ms) == expected(now_ms)


def test_dead_letters_of_a_backlog_are_in_the_buckets_of_their_times(kafka: Kafka, now_ms: int) -> None:
    letters = [{"topic": "dlq.a", "timestamp_ms": now_ms - age_ms} for age_ms in AGES_MS]
    decoded = decode(kafka(letters), EVENTS)
    (group,) = dead_letters.groups(decoded, "c1", samples_per_group=3, max_groups=10)
    assert spread(group.series, now_ms) == expected(now_ms)
    assert (group.delta.first_ms, group.delta.last_ms) == (now_ms - max(AGES_MS), now_ms - min(AGES_MS))
    newest = sorted(range(len(AGES_MS)), key=lambda number: AGES_MS[number])[:3]
    assert [place.offset for place in group.newest] == newest


def test_what_happens_now_is_one_row(kafka: Kafka, now_ms: int) -> None:
    start_ms = now_ms - now_ms % (TIERS[0].step_s * S)
    letters = [{"topic": "dlq.a", "timestamp_ms": start_ms + number} for number in range(50)]
    assert len(summarise(decode(kafka(letters), EVENTS))) == 1
