"""Where an order ends that a dry run has shown, and when it is made beside another one."""

from typing import Any, cast

import pytest
from sqlalchemy import Engine

from deadwatch.orders.errors import OrderOverlapError, RefusedOrderError
from deadwatch.orders.selection import Extents
from deadwatch.orders.targets import TargetRules
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.store.write.handled import HandledBook
from deadwatch.store.write.orders import OrderBook
from redrive.plan.creation import Bounds, OrderService, cut_off
from redrive.plan.history import History
from tests.unit.redrive.orders import order

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


def test_while_another_order_is_active_what_it_has_moved_is_not_looked_up(engine: Engine) -> None:
    """Its end, by a clock that may be behind ours, must not come between that and the new order."""
    OrderBook(engine).create(order({}, {0: 0}, {0: 9}), "{}", "key")
    history = History(HandledBook(engine), "deadwatch.events", lambda: 0, lambda _: None)
    service = OrderService(KafkaConnection(), Bounds(1, 1), 1, lambda: 0, lambda: 0, str, history)
    rules, no_kafka = TargetRules({"dlq.t": 1}, frozenset()), cast("Any", None)
    later = order({}, {0: 0}, {0: 9}, id="2")
    assert not service._before(later, "key", no_kafka, rules).unread, "it is the one that was asked for"
    for key in ("", "other"):
        with pytest.raises(OrderOverlapError, match="redrive 1 is RUNNING"):
            service._before(later, key, no_kafka, rules)
