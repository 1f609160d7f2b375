"""What happened when: buckets that get wider with their age and lose nothing on the way."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Connection, func, select

from deadwatch.store import schema
from deadwatch.store.batch import SeriesDelta, delta
from deadwatch.store.series import BUCKETS_SHARED, CARDINALITY_LIMITED, TASK_TIMEOUTS
from deadwatch.store.store import Store
from deadwatch.store.write import buckets
from deadwatch.store.write.buckets import Cell, Window, cell
from tests.unit.deadwatch.store import suite

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
NOW_MS = 1_800_000_007_000
NOW_S = NOW_MS // 1_000
EMPTY = replace(suite.EMPTY, committed_at_ms=NOW_MS)


CASES: dict[str, tuple[int, Cell | None]] = {
    "now": (0, (0, 1_800_000_000)),
    "the future counts now": (-5 * DAY_MS, (0, 1_800_000_000)),
    "the last bucket of ten seconds": (6 * HOUR_MS, (0, 1_799_978_400)),
    "the first bucket of a minute": (6 * HOUR_MS + 8_000, (1, 1_799_978_340)),
    "the last bucket of a minute": (7 * DAY_MS, (1, 1_799_395_200)),
    "the first bucket of an hour": (7 * DAY_MS + 8_000, (2, 1_799_391_600)),
    "the last bucket of an hour": (365 * DAY_MS, (2, 1_768_464_000)),
    "older than everything kept": (365 * DAY_MS + 8_000, None),
    "a time nobody knows": (NOW_MS, None),
}


@pytest.mark.parametrize(("age_ms", "bucket"), CASES.values(), ids=CASES)
def test_a_time_has_the_bucket_of_its_age(age_ms: int, bucket: Cell | None) -> None:
    assert cell(NOW_MS - age_ms, NOW_MS) == bucket


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
    read = buckets.read(connection, TASK_TIMEOUTS, where, by, window)
    return {line.labels: dict(line.points) for line in read}


def kept(connection: Connection) -> dict[int, int]:
    connection.rollback()
    tiers = select(schema.buckets.c.tier, func.count().label("buckets")).group_by(schema.buckets.c.tier)
    return {row.tier: row.buckets for row in connection.execute(tiers)}


LAST_HOUR = Window(NOW_S - 3_607, NOW_S + 3, 10)
EVER = Window(NOW_S - 400 * DAY_MS // 1_000, NOW_S + 400 * DAY_MS // 1_000, 3_600)


def test_values_are_read_by_label_and_step(store: Store, connection: Connection) -> None:
    store.apply(replace(EMPTY, series=(hits("0_0", 2, NOW_MS - 60_000), hits("0_1", 3, NOW_MS))))
    store.apply(replace(EMPTY, series=(hits("0_0", 5, NOW_MS),)))
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
    store.apply(replace(EMPTY, series=(hits("0_0", 60, NOW_MS, buckets=times),)))
    assert kept(connection) == {0: 60}
    seen = {}
    for age_ms in (7 * HOUR_MS, 8 * DAY_MS, 400 * DAY_MS):
        store.apply(replace(EMPTY, committed_at_ms=NOW_MS + age_ms))
        seen[age_ms] = (kept(connection), sum(lines(connection, EVER).get((), {}).values()))
    assert seen == {7 * HOUR_MS: ({1: 11}, 60), 8 * DAY_MS: ({2: 2}, 60), 400 * DAY_MS: ({}, 0)}
    assert connection.execute(select(schema.bucketed_series)).all() == []


def test_series_beyond_the_bound_share_buckets_and_are_counted(store: Store, connection: Connection) -> None:
    store.apply(replace(EMPTY, series=tuple(hits(f"0_{task}", 1, NOW_MS) for task in range(4))))
    store.apply(replace(EMPTY, series=(hits("0_0", 5, NOW_MS), hits("0_9", 5, NOW_MS))))
    found = lines(connection, LAST_HOUR, "task")
    totals = {labels: sum(points.values()) for labels, points in found.items()}
    assert totals == {("0_0",): 6, ("0_1",): 1, ("other",): 7}
    values = {(row.name, row.labels): row.value for row in connection.execute(select(schema.series))}
    assert values[BUCKETS_SHARED.name, BUCKETS_SHARED.key({"series": TASK_TIMEOUTS.name})] == 7
    assert CARDINALITY_LIMITED.name not in {name for name, _ in values}


def test_lines_beyond_the_greatest_are_added_up(url: str, connection: Connection) -> None:
    many = buckets.MAX_LINES + 5
    with Store(url, max_bucketed_series=many) as store:
        store.apply(replace(EMPTY, series=tuple(hits(f"0_{n}", n + 1, NOW_MS) for n in range(many))))
    found = lines(connection, LAST_HOUR, "task")
    assert len(found) == buckets.MAX_LINES + 1
    assert sum(found["other",].values()) == 1 + 2 + 3 + 4 + 5


@pytest.mark.parametrize(
    ("age_s", "step_s"), [(0, 10), (6 * 3_600, 10), (6 * 3_600 + 60, 60), (8 * 86_400, 3_600), (NOW_S, 3_600)]
)
def test_the_narrowest_step_follows_from_the_age(age_s: int, step_s: int) -> None:
    assert buckets.finest_step_s(NOW_S - age_s, NOW_S) == step_s
