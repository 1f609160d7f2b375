"""Where an order ends that a dry run has shown."""

import pytest

from deadwatch.orders.selection import Extents
from redrive.plan.creation import cut_off

CASES: dict[str, tuple[dict[int, int] | None, dict[int, int]]] = {
    "where the partitions end, unless it is said": (None, {0: 20, 1: 8}),
    "where the dry run has ended": ({0: 15, 1: 8}, {0: 15, 1: 8}),
    "not behind the end: the topic was made anew": ({0: 900, 1: 900}, {0: 20, 1: 8}),
    "not before the begin: its records were deleted meanwhile": ({0: 5, 1: 8}, {0: 10, 1: 8}),
    "nowhere in a partition that came later": ({0: 15}, {0: 15, 1: 3}),
    "nowhere": ({}, {0: 10, 1: 3}),
}


@pytest.mark.parametrize(("latest", "ends"), CASES.values(), ids=CASES)
def test_an_order_ends(latest: dict[int, int] | None, ends: dict[int, int]) -> None:
    assert cut_off(Extents({0: 10, 1: 3}, {0: 20, 1: 8}), latest) == ends
