"""Where an order ends that a dry run has shown."""

import pytest

from deadwatch.orders.errors import RefusedOrderError
from deadwatch.orders.selection import Extents
from redrive.plan.creation import cut_off

HELD = Extents({0: 10, 1: 3}, {0: 20, 1: 8})
CASES: dict[str, tuple[dict[int, int] | None, dict[int, int]]] = {
    "where the partitions end, unless it is said": (None, {0: 20, 1: 8}),
    "where the dry run has ended": ({0: 15, 1: 8}, {0: 15, 1: 8}),
    "not before the begin: its records were deleted meanwhile": ({0: 5, 1: 8}, {0: 10, 1: 8}),
    "nowhere in a partition that came later": ({0: 15}, {0: 15, 1: 3}),
    "nowhere": ({}, {0: 10, 1: 3}),
}


@pytest.mark.parametrize(("latest", "ends"), CASES.values(), ids=CASES)
def test_an_order_ends(latest: dict[int, int] | None, ends: dict[int, int]) -> None:
    assert cut_off("dlq.t", HELD, latest) == ends


@pytest.mark.parametrize("latest", [{0: 20, 1: 9}, {1: 9}])
def test_an_order_on_a_topic_that_was_made_anew_is_refused(latest: dict[int, int]) -> None:
    refusal = (
        "partition 1 of dlq.t ends at 8, before 9, where the dry run has ended: .*; look at a new dry run"
    )
    with pytest.raises(RefusedOrderError, match=refusal):
        cut_off("dlq.t", HELD, latest)
