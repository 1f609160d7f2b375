"""What happened when: buckets that get wider with their age and lose nothing on the way."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import Connection, func, select

from streaming.store import bucket_reader, schema
from streaming.store.batch import Batch, SeriesDelta, delta
from streaming.store.bucket_reader import Window
from streaming.store.buckets import Cell, cell
from streaming.store.series import BUCKETS_SHARED, CARDINALITY_LIMITED, TASK_TIMEOUTS
from streaming.store.store import Store

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
NOW_MS = 1_800_000_007_000
NOW_S = NOW_MS // 1_000
EMPTY = Batch(query_id="q", batch_id=0, committed_at_ms=NOW_MS, offsets={}, marks={})


@dataclass(frozen=True)
class Case:
    name: str
    age_ms: int
    cell: Cell | None


CASES = [
    Case("now", 0, (0, 1_800_000_000)),
    Case("the future counts now", -5 * DAY_MS, (0, 1_800_000_000)),
    Case("the last bucket of ten seconds", 6 * HOUR_MS, (0, 1_799_978_400)),
    Case("the first bucket of a minute", 6 * HOUR_MS + 8_000, (1, 1_799_978_340)),
    Case("the last bucket of a minute", 7 * DAY_MS, (1, 1_799_395_200)),
    Case("the first bucket of an hour", 7 * DAY_MS + 8_000, (2, 1_799_391_600)),
    Case("the last bucket of an hour", 365 * DAY_MS, (2, 1_768_464_000)),
    Case("older than everything kept", 365 * DAY_MS + 8_000, None),
    Case("a time nobody knows", NOW_MS, None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_time_has_the_bucket_of_its_age(case: Case) -> None:
    assert cell(NOW_MS - case.age_ms, NOW_MS) == case.cell


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url, max_bucketed_series=2) as opened:
        yield opened


def hits(task: str, value: int, at_ms: int, **more: object) -> SeriesDelta:
    labels = {"kafka_cluster": "c", "application": "app", "task": task}
    made = delta(TASK_TIMEOUTS, labels, value, first_ms=at_ms, last_ms=at_ms)
    return replace(made, **more)  # type: ignore[arg-type]  # a field of the delta


def lines(
    connection: Connection, window: Window, *by: str, **where: str
) -> dict[tuple[str, ...], dict[int, int]]:
    connection.rollback()
    found = bucket_reader.read(connection, TASK_TIMEOUTS, where, by, window)
    return {line.labels: dict(line.points) for line in found}


def kept(connection: Connection) -> dict[int, int]:
    connection.rollback()
    tiers = select(schema.buckets.c.tier, func.count().label("buckets")).group_by(schema.buckets.c.tier)
    return {row.tier: row.buckets for row in connection.execute(tiers)}


LAST_HOUR = Window(NOW_S - 3_607, NOW_S + 3, 10)
EVER = Window(NOW_S - 400 * DAY_MS // 1_000, NOW_S + 400 * DAY_MS // 1_000, 3_600)


def test_values_are_told_by_label_and_step(store: Store, connection: Connection) -> None:
    store.apply(replace(EMPTY, batch_id=0, series=(hits("0_0", 2, NOW_MS - 60_000), hits("0_1", 3, NOW_MS))))
    store.apply(replace(EMPTY, batch_id=1, series=(hits("0_0", 5, NOW_MS),)))
    assert lines(connection, LAST_HOUR, "task") == {
        ("0_0",): {1_799_999_940: 2, 1_800_000_000: 5},
        ("0_1",): {1_800_000_000: 3},
    }
    assert lines(connection, LAST_HOUR) == {(): {1_799_999_940: 2, 1_800_000_000: 8}}
    assert lines(connection, LAST_HOUR, task="0_1") == {(): {1_800_000_000: 3}}
    assert lines(connection, Window(NOW_S - 3_607, NOW_S - 7, 10)) == {(): {1_799_999_940: 2}}


def test_a_value_is_split_by_when_it_happened(store: Store, connection: Connection) -> None:
    parts = {NOW_MS: 1, NOW_MS - 60_000: 4, NOW_MS + DAY_MS: 2, NOW_MS - 2 * DAY_MS: 8}
    store.apply(replace(EMPTY, series=(hits("0_0", 15, NOW_MS, buckets=parts), hits("0_0", 1, NOW_MS))))
    assert lines(connection, LAST_HOUR) == {(): {1_799_999_940: 4, 1_800_000_000: 4}}
    assert sum(lines(connection, EVER)[()].values()) == 16
    assert kept(connection) == {0: 2, 1: 1}


def test_buckets_get_wider_and_end_with_their_age(store: Store, connection: Connection) -> None:
    step = 10_000
    times = {NOW_MS - number * step: 1 for number in range(60)}
    store.apply(replace(EMPTY, batch_id=0, series=(hits("0_0", 60, NOW_MS, buckets=times),)))
    assert kept(connection) == {0: 60}
    seen = {}
    for batch_id, age_ms in enumerate([7 * HOUR_MS, 8 * DAY_MS, 400 * DAY_MS], 1):
        store.apply(replace(EMPTY, batch_id=batch_id, committed_at_ms=NOW_MS + age_ms))
        seen[age_ms] = (kept(connection), sum(lines(connection, EVER).get((), {}).values()))
    assert seen == {7 * HOUR_MS: ({1: 11}, 60), 8 * DAY_MS: ({2: 2}, 60), 400 * DAY_MS: ({}, 0)}
    assert connection.execute(select(schema.bucketed_series)).all() == []


def test_series_beyond_the_bound_share_buckets_and_are_counted(store: Store, connection: Connection) -> None:
    store.apply(replace(EMPTY, batch_id=0, series=tuple(hits(f"0_{task}", 1, NOW_MS) for task in range(4))))
    store.apply(replace(EMPTY, batch_id=1, series=(hits("0_0", 5, NOW_MS), hits("0_9", 5, NOW_MS))))
    told = lines(connection, LAST_HOUR, "task")
    assert {labels: sum(points.values()) for labels, points in told.items()} == {
        ("0_0",): 6,
        ("0_1",): 1,
        ("other",): 7,
    }
    values = {(row.name, row.labels): row.value for row in connection.execute(select(schema.series))}
    assert values[BUCKETS_SHARED.name, BUCKETS_SHARED.key({"series": TASK_TIMEOUTS.name})] == 7
    assert CARDINALITY_LIMITED.name not in {name for name, _ in values}


def test_lines_beyond_the_greatest_are_added_up(url: str, connection: Connection) -> None:
    many = bucket_reader.MAX_LINES + 5
    with Store(url, max_bucketed_series=many) as store:
        store.apply(replace(EMPTY, series=tuple(hits(f"0_{n}", n + 1, NOW_MS) for n in range(many))))
    told = lines(connection, LAST_HOUR, "task")
    assert len(told) == bucket_reader.MAX_LINES + 1
    assert sum(told["other",].values()) == 1 + 2 + 3 + 4 + 5


@pytest.mark.parametrize(
    ("age_s", "step_s"), [(0, 10), (6 * 3_600, 10), (6 * 3_600 + 60, 60), (8 * 86_400, 3_600), (NOW_S, 3_600)]
)
def test_the_narrowest_step_follows_from_the_age(age_s: int, step_s: int) -> None:
    assert bucket_reader.finest_step_s(NOW_S - age_s, NOW_S) == step_s
