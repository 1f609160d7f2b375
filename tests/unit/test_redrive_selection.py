"""Which offsets an order reads, and which of the letters there belong to it."""

from collections.abc import Mapping
from typing import Any

import pytest

from streaming.letter import Letter, letter_of
from streaming.redrive.order import Order, OrderRequest, Selection
from streaming.redrive.selection import intervals, selects, within


def order(begin: Mapping[int, int], cut_off: Mapping[int, int], **selection: object) -> Order:
    request = OrderRequest(dlq_topic="dlq.t", selection=Selection.model_validate(selection), reason="test")
    return Order(
        id="1", request=request, requested_by="me", created_at_ms=1, begin=dict(begin), cut_off=dict(cut_off)
    )


def letter(timestamp_ms: int = 1_000) -> Letter:
    return letter_of("dlq.t", 0, 5, timestamp_ms, b"k", b"v", [])


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
    assert selects(order(BEGIN, CUT_OFF, **selection), letter(timestamp_ms)) is selected


def test_a_group_is_its_fingerprint_and_a_filter_is_asked() -> None:
    of_group = order(BEGIN, CUT_OFF, group=letter().fingerprint)
    assert selects(of_group, letter())
    assert not selects(order(BEGIN, CUT_OFF, group="ffff"), letter())
    filtered = order(BEGIN, CUT_OFF, filter="offset == 5")
    assert selects(filtered, letter(), lambda one: one.offset == 5)
    assert not selects(filtered, letter(), lambda one: one.offset == 6)
    assert not selects(filtered, letter())
