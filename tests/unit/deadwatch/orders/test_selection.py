"""Which offsets an order reads, and which of the records there belong to it."""

from collections.abc import Mapping
from typing import Any

import pytest

from deadwatch.deadletter.record import DeadLetter, parse_record
from deadwatch.orders.order import Order, OrderRequest, Selection
from deadwatch.orders.selection import (
    common,
    intervals,
    may_overlap,
    rest,
    runs,
    selector,
    selects,
    selects_all,
    within,
)


def order(begin: Mapping[int, int], cut_off: Mapping[int, int], **selection: object) -> Order:
    request = OrderRequest(dlq_topic="dlq.t", selection=Selection.model_validate(selection), reason="test")
    return Order(
        id="1", request=request, requested_by="me", created_at_ms=1, begin=dict(begin), cut_off=dict(cut_off)
    )


def record(timestamp_ms: int = 1_000) -> DeadLetter:
    return parse_record("dlq.t", 0, 5, timestamp_ms, b"k", b"v", [])


BEGIN, CUT_OFF = {0: 10, 1: 0, 2: 5}, {0: 20, 1: 3, 2: 5}
PLANS: list[tuple[str, dict[str, Any], dict[int, tuple[tuple[int, int], ...]]]] = [
    ("all of what is there", {"all": True}, {0: ((10, 20),), 1: ((0, 3),)}),
    ("a filter has to see all", {"filter": "true"}, {0: ((10, 20),), 1: ((0, 3),)}),
    (
        "offsets, cut to what is there",
        {"offsets": {0: (5, 12), 1: (2, 9), 2: (0, 9)}},
        {0: ((10, 12),), 1: ((2, 3),)},
    ),
    ("offsets of a partition that is not there", {"offsets": {7: (0, 9)}}, {}),
    (
        "records, neighbours together",
        {"records": [{"partition": 0, "offset": offset} for offset in (12, 11, 15, 12, 20, 9)]},
        {0: ((11, 13), (15, 16))},
    ),
]


@pytest.mark.parametrize(("selection", "plan"), [row[1:] for row in PLANS], ids=[row[0] for row in PLANS])
def test_only_offsets_before_the_cut_off_are_read(
    selection: dict[str, Any], plan: dict[int, tuple[tuple[int, int], ...]]
) -> None:
    assert intervals(order(BEGIN, CUT_OFF, **selection)) == plan


@pytest.mark.parametrize(
    ("partition", "offset", "inside"),
    [(0, 10, True), (0, 12, False), (0, 15, True), (0, 16, False), (0, 9, False), (1, 10, False)],
)
def test_an_interval_leaves_out_its_end(partition: int, offset: int, inside: bool) -> None:
    assert within({0: ((10, 12), (15, 16))}, partition, offset) is inside


@pytest.mark.parametrize(
    ("selection", "timestamp_ms", "selected"),
    [
        ({"from": "1970-01-01T00:00:01Z"}, 1_000, True),
        ({"from": "1970-01-01T00:00:01.001Z"}, 1_000, False),
        ({"to": "1970-01-01T00:00:01Z"}, 1_000, False),
        ({"to": "1970-01-01T01:00:01+01:00"}, 999, True),
        ({"from": "1970-01-01T00:00:01Z", "to": "1970-01-01T00:00:02Z"}, 2_000, False),
    ],
)
def test_times_are_those_of_the_dead_letter_topic(
    selection: dict[str, Any], timestamp_ms: int, selected: bool
) -> None:
    assert selects(order(BEGIN, CUT_OFF, **selection), record(timestamp_ms)) is selected


def test_a_group_is_its_fingerprint_and_a_filter_is_asked() -> None:
    of_group = order(BEGIN, CUT_OFF, group=record().fingerprint)
    assert selects(of_group, record())
    assert not selects(order(BEGIN, CUT_OFF, group="ffff"), record())
    filtered = order(BEGIN, CUT_OFF, filter="offset == 5")
    assert selects(filtered, record(), lambda one: one.offset == 5)
    assert not selects(filtered, record(), lambda one: one.offset == 6)
    assert not selects(filtered, record())


@pytest.mark.parametrize(
    ("chosen", "everything"),
    [
        ({"all": True}, True),
        ({"offsets": {0: (10, 12)}}, True),
        ({"group": "f"}, False),
        ({"filter": "true"}, False),
        ({"from": "2026-11-21T12:00:00Z"}, False),
        ({"to": "2026-11-21T12:00:00Z"}, False),
    ],
)
def test_a_selector_asks_only_where_something_may_be_left_out(
    chosen: dict[str, Any], everything: bool
) -> None:
    asked = order(BEGIN, CUT_OFF, **chosen)
    assert selects_all(asked) is everything
    assert selector(asked, lambda _: False)(record(1 << 42)) is (everything or "from" in chosen)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ({"all": True}, {"filter": "true"}, True),
        ({"all": True}, {"all": True}, True),
        ({"filter": "a"}, {"filter": "b"}, True),
        ({"offsets": {0: (10, 13)}}, {"records": [{"partition": 0, "offset": 12}]}, True),
        ({"group": "a"}, {"group": "b"}, False),
        ({"group": "a"}, {"group": "a"}, True),
        ({"group": "a"}, {"all": True}, True),
        ({"offsets": {0: (10, 12)}}, {"offsets": {0: (12, 14)}}, False),
        ({"offsets": {0: (10, 13)}}, {"offsets": {0: (12, 14)}}, True),
        ({"offsets": {0: (10, 13)}}, {"offsets": {1: (0, 2)}}, False),
    ],
)
def test_orders_may_overlap_unless_their_groups_or_offsets_differ(
    one: dict[str, Any], other: dict[str, Any], meet: bool
) -> None:
    orders = order(BEGIN, CUT_OFF, **one), order(BEGIN, CUT_OFF, **other)
    assert may_overlap(*orders) is may_overlap(*reversed(orders)) is meet


@pytest.mark.parametrize(
    ("taken", "left"),
    [
        ([], [(5, 9)]),
        ([(0, 5), (9, 12)], [(5, 9)]),
        ([(0, 20)], []),
        ([(7, 8), (5, 6), (6, 7)], [(8, 9)]),
        ([(6, 8), (7, 8), (6, 7)], [(5, 6), (8, 9)]),
        ([(12, 20), (0, 1)], [(5, 9)]),
    ],
)
def test_the_rest_of_a_run_is_what_nobody_has_taken(
    taken: list[tuple[int, int]], left: list[tuple[int, int]]
) -> None:
    assert rest((5, 9), taken) == left


def test_runs_are_made_of_offsets_and_cut_where_others_overlap() -> None:
    assert runs([5, 1, 2, 5, 3, 9]) == [(1, 4), (5, 6), (9, 10)]
    assert list(common((1, 10), [(0, 2), (4, 6), (10, 12)])) == [(1, 2), (4, 6)]
