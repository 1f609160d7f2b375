"""What a worker takes for a target is what the plan takes for one."""

from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from deadwatch.deadletter.record import parse_record
from deadwatch.orders.decision import SkipReason
from deadwatch.orders.guards import Returns
from deadwatch.orders.order import Claim
from deadwatch.orders.targets import Skip, TargetPlace
from redrive.move.task import OrderTask, WorkerContext
from redrive.settings import RedriveSettings
from tests.unit.redrive.orders import order


class Admin:
    def list_topics(self, timeout: float) -> SimpleNamespace:
        del timeout
        return SimpleNamespace(
            topics={topic: SimpleNamespace(partitions=[0]) for topic in ("errors", "dlq.t")}
        )


@pytest.mark.parametrize(
    ("named", "route"),
    [
        ({"errors"}, Skip(SkipReason.TARGET_IS_DLQ, "errors")),
        (set(), TargetPlace("errors", None)),
    ],
    ids=["a queue by its configuration", "any other topic"],
)
def test_a_topic_that_a_configuration_names_is_no_target(named: set[str], route: Skip | TargetPlace) -> None:
    context = WorkerContext(
        RedriveSettings(),
        lambda _: Returns(0, 0),
        lambda: 0,
        Random(1),
        named_topics=lambda: frozenset(named),
    )
    task = OrderTask(context, Claim(order({}, {0: 0}, {0: 9}), 1, 0), lambda: None)
    dead_letter = parse_record("dlq.t", 0, 0, 1, None, b"v", (("__connect.errors.topic", b"errors"),))
    assert task._router(cast("Any", Admin())).route(dead_letter) == route
