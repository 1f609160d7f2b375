"""What a worker takes for a target is what the plan takes for one."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from deadwatch.contract.event import Position
from deadwatch.deadletter.record import parse_record
from deadwatch.orders.order import Claim
from deadwatch.orders.reasons import SkipReason
from deadwatch.orders.targets import Skip, TargetPlace
from deadwatch.store.engine import connect
from deadwatch.store.store import Store
from redrive.move.batch import POSITION_EPOCH
from redrive.move.failures import GivenUpError
from redrive.move.task import OrderTask, WorkerContext, counted_in, fence
from redrive.settings import RedriveSettings
from tests.unit.deadwatch.store.suite import EMPTY
from tests.unit.redrive.orders import order


def test_how_far_an_order_came_is_what_streaming_has_counted_of_it(url: str) -> None:
    marks = {"redrive:a": Position(POSITION_EPOCH, 70, 3), "redrive:b": Position(5, 70)}
    with Store(url) as store:
        store.apply(replace(EMPTY, marks=marks))
        engine = connect(url)
        known = {name: counted_in(engine, name) for name in ("a", "b", "c")}
        engine.dispose()
    assert known == {"a": 70, "b": 0, "c": 0}, "b was begun by an earlier version, c by nobody"


@pytest.mark.parametrize(
    ("named", "route"),
    [({"errors"}, Skip(SkipReason.TARGET_IS_DLQ, "errors")), (set(), TargetPlace("errors", None))],
    ids=["a queue by its configuration", "any other topic"],
)
def test_a_topic_that_a_configuration_names_is_no_target(named: set[str], route: Skip | TargetPlace) -> None:
    context = WorkerContext(RedriveSettings(), named_topics=lambda: frozenset(named))
    task = OrderTask(context, Claim(order({}, {0: 0}, {0: 9}), 1, 0), lambda: None)
    dead_letter = parse_record("dlq.t", 0, 0, 1, None, b"v", (("__connect.errors.topic", b"errors"),))
    held = SimpleNamespace(topics=dict.fromkeys(("errors", "dlq.t"), SimpleNamespace(partitions=[0])))
    admin = SimpleNamespace(list_topics=lambda timeout: held)  # noqa: ARG005 -- the client's name
    assert task._router(cast("Any", admin)).route(dead_letter) == route


class Waiting:
    """A producer that Kafka keeps waiting for most of the time that it has."""

    def __init__(self, name: str, give_up: Callable[[], bool], pass_ms: Callable[[int], None]) -> None:
        self.name, self._give_up, self._pass_ms = name, give_up, pass_ms

    def open(self) -> None:
        for _ in range(3):
            self._pass_ms(RedriveSettings().request_timeout_ms // 4)
            if self._give_up():
                raise GivenUpError

    def close(self) -> None: ...


def test_kafka_has_its_time_for_each_part_of_an_order_that_is_fenced(monkeypatch: pytest.MonkeyPatch) -> None:
    now_ms, opened = [0], list[str]()

    def pass_ms(ms: int) -> None:
        now_ms[0] += ms

    def producer(_settings: object, name: str, _timeout_ms: int, give_up: Callable[[], bool]) -> Waiting:
        opened.append(name)
        return Waiting(name, give_up, pass_ms)

    monkeypatch.setattr("redrive.move.task.monotonic_ms", lambda: now_ms[0])
    monkeypatch.setattr("redrive.move.task._producer", producer)
    parts = order({"dlq_topic": "dlq.t", "engine": "spark"}, {0: 0, 7: 0}, {0: 9, 7: 9}, id="a")
    fence(RedriveSettings(), parts, lambda: False)
    assert opened == ["a-0", "a-7"]
    with pytest.raises(GivenUpError):
        fence(RedriveSettings(), parts, lambda: len(opened) > 2)
    assert opened == ["a-0", "a-7", "a-0"]
    with pytest.raises(GivenUpError):
        fence(RedriveSettings(request_timeout_ms=10_000), parts, lambda: False)
    assert opened == ["a-0", "a-7", "a-0", "a-0"]
