"""A broker that refuses rights: which one and to whom is said, nothing is lost, and a grant lets it go on."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final

import pytest

from collector.contract.topics import EVENTS
from lab.jvm import Properties
from lab.lone_broker import LoneBroker
from streaming.letter import Letter
from streaming.redrive.guards import Returns
from streaming.redrive.order import Status
from streaming.redrive.settings import RedriveSettings
from streaming.redrive.work import House
from streaming.redrive.worker import run
from tests.integration import acls
from tests.integration.acls import GROUP, TOPIC, TRANSACTIONS, admin
from tests.integration.redrive_place import FAST, Orders, Place, clock_ms, create, until

pytestmark = pytest.mark.integration

AUTHORIZER: Final[Properties] = {
    "authorizer.class.name": acls.AUTHORIZER,
    "allow.everyone.if.no.acl.found": "true",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
}
WE: Final = "User:ANONYMOUS"
GROUPS: Final = "deadwatch-redrive-"


@pytest.fixture(scope="module")
def broker() -> Iterator[LoneBroker]:
    with LoneBroker(AUTHORIZER) as running:
        yield running


@pytest.fixture
def place(broker: LoneBroker) -> Place:
    name = f"orders-{clock_ms()}"
    made = Place(broker.bootstrap_servers, name, f"dlq.{name}")
    create(made.servers, **{made.topic: 3, made.dlq: 3, f"{made.topic}-open": 3})
    return made


def binding(kind: object, name: str, operation: object, *, allow: bool) -> Any:  # noqa: ANN401 -- as above
    pattern = acls.PREFIXED if name == GROUPS else acls.LITERAL
    permission = admin.AclPermissionType.ALLOW if allow else admin.AclPermissionType.DENY
    return admin.AclBinding(kind, name, pattern, WE, "*", operation, permission)


@contextmanager
def allowed_only(place: Place, kind: object, name: str, *operations: object) -> Iterator[None]:
    """Nothing but these, by us, on what is named."""
    bindings = [binding(kind, name, one, allow=True) for one in operations]
    bindings.append(binding(kind, name, admin.AclOperation.DELETE, allow=False))
    acls.grant(place.servers, bindings)
    try:
        yield
    finally:
        acls.take_away(place.servers, bindings)


READ, DESCRIBE = admin.AclOperation.READ, admin.AclOperation.DESCRIBE


@pytest.mark.parametrize(
    ("kind", "name", "operations", "said"),
    [
        (
            TOPIC,
            "{topic}",
            (READ,),
            f"WRITE on one of the topics {EVENTS}, {{topic}}, {{topic}}-open: grant it",
        ),
        (TOPIC, "{dlq}", (), "READ on topic {dlq} or on an origin"),
        (GROUP, GROUPS, (DESCRIBE,), "READ on group deadwatch-redrive-{order}"),
        (GROUP, GROUPS, (), "READ on group deadwatch-redrive-{order}"),
        (TRANSACTIONS, GROUPS, (), "WRITE on transactional id deadwatch-redrive-{order}"),
    ],
    ids=["target", "dead letters", "group", "group that may not be seen", "transactional id"],
)
def test_a_right_that_is_missing_pauses_the_order_and_is_named(
    place: Place, kind: object, name: str, operations: tuple[object, ...], said: str
) -> None:
    place.letters(9)
    place.letters(3, topic=f"{place.topic}-open")
    order = place.order()
    orders = Orders()
    orders.add(order)
    with (
        allowed_only(place, kind, name.format(topic=place.topic, dlq=place.dlq), *operations),
        place.worker(orders),
    ):
        until(lambda: order.id in orders.reason)
    wanted = said.format(topic=place.topic, dlq=place.dlq, order=order.id)
    told = (orders.status[order.id], orders.reason.pop(order.id))
    assert told[0] is Status.PAUSED
    assert f"Kafka refuses our client {wanted}" in told[1]
    orders.status[order.id] = Status.RUNNING
    with place.worker(orders):
        until(lambda: order.id in orders.reason)
    assert (orders.status[order.id], len(place.read())) == (Status.COMPLETED, 9)
    assert len(place.read(f"{place.topic}-open")) == 3


def test_a_group_to_wait_for_that_may_not_be_seen_pauses_the_order_and_is_named(place: Place) -> None:
    place.letters(9)
    order = place.order(guards={"lag_group": "billing", "max_target_lag": 100})
    orders = Orders()
    orders.add(order)
    with allowed_only(place, GROUP, "billing"), place.worker(orders):
        until(lambda: order.id in orders.reason)
    assert orders.status[order.id] is Status.PAUSED
    assert "Kafka refuses our client DESCRIBE on group billing: grant it" in orders.reason.pop(order.id)
    orders.status[order.id] = Status.RUNNING
    with place.worker(orders):
        until(lambda: order.id in orders.reason)
    assert (orders.status[order.id], len(place.read())) == (Status.COMPLETED, 9)


def test_a_transaction_longer_than_brokers_allow_is_said(place: Place) -> None:
    place.letters(3)
    status, reason = place.redriven(place.order(delivery_timeout_ms=3_600_000))
    assert status is Status.PAUSED
    assert "transaction.max.timeout.ms" in reason
    assert "delivery_timeout_ms" in reason


def test_a_transaction_that_brokers_have_ended_is_undone_and_done_again(place: Place) -> None:
    """A worker that was away for so long, as a machine is that sleeps, in the middle of a transaction."""
    place.letters(2_400)
    order = place.order(
        selection={"filter": "true"}, limits={**FAST, "max_in_flight": 2_000}, delivery_timeout_ms=1_000
    )
    orders, stop, slept = Orders(), threading.Event(), [False]
    orders.add(order)

    def sleeps(letter: Letter) -> bool:
        if not slept[0] and place.uncommitted():
            slept[0] = True
            until(lambda: not place.uncommitted(), within_s=120)
        return bool(letter.key)

    settings = {"kafka": {"bootstrap_servers": place.servers}, "request_timeout_ms": 900}
    house = House(
        RedriveSettings.model_validate(settings),
        lambda _: sleeps,
        lambda _: Returns(0, 0),
        clock_ms,
        Random(),
    )
    worker = threading.Thread(target=run, args=(orders, house, stop, "test"))
    worker.start()
    try:
        until(lambda: order.id in orders.reason, within_s=200)
    finally:
        stop.set()
        worker.join(30)
    assert slept == [True]
    assert orders.claims[order.id].epoch > 1
    assert orders.status[order.id] is Status.COMPLETED
    assert Counter(one.value for one in place.read()) == Counter(b"value-%d" % n for n in range(2_400))
