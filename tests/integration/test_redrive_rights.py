"""A broker that refuses rights: which one and to whom is said, nothing is lost, and a grant lets it go on."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from deadwatch.deadletter.record import DeadLetter
from deadwatch.orders.order import Status
from deadwatch.runtime.clock import clock_ms
from deadwatch.runtime.kafka import Options
from lab.broker import LoneBroker
from lab.jvm import Properties
from lab.topics import Topics
from tests.integration import acls
from tests.integration.acls import GROUP, TOPIC, TRANSACTIONS, admin
from tests.integration.redrive_place import FAST, Orders, Place, no_client_is_left, once
from tests.waiting import until

BROKER: Final[Properties] = {
    "authorizer.class.name": acls.AUTHORIZER,
    "allow.everyone.if.no.acl.found": "true",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
}
WE: Final = "User:ANONYMOUS"
GROUPS: Final = "deadwatch-redrive-"
WAITED_FOR: Final = "billing"
SOON_OVER_MS: Final = 2_000


@pytest.fixture
def place(broker: LoneBroker) -> Place:
    name = f"orders-{clock_ms()}"
    made = Place(broker.bootstrap_servers, name, f"dlq.{name}")
    Topics(made.servers).create(made.topic, made.dlq, f"{made.topic}-open", partitions=3)
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
        (TOPIC, "{topic}", (READ,), "WRITE on one of the topics {events}, {topic}"),  # and others
        (TOPIC, "{dlq}", (), "READ on topic {dlq} or on an origin"),
        (GROUP, GROUPS, (DESCRIBE,), "READ on group deadwatch-redrive-{order}"),
        (GROUP, GROUPS, (), "READ on group deadwatch-redrive-{order}"),
        (TRANSACTIONS, GROUPS, (), "WRITE on transactional id deadwatch-redrive-{order}"),
        (GROUP, WAITED_FOR, (), f"DESCRIBE on group {WAITED_FOR}: grant it"),
    ],
    ids=["target", "dead letters", "group", "group not seen", "transactional id", "group to wait for"],
)
def test_a_right_that_is_missing_pauses_the_order_and_is_named(
    place: Place, kind: object, name: str, operations: tuple[object, ...], said: str
) -> None:
    place.letters(9)
    place.letters(3, topic=f"{place.topic}-open")
    order = place.order(guards={"lag_group": WAITED_FOR, "max_target_lag": 100})
    with allowed_only(place, kind, name.format(topic=place.topic, dlq=place.dlq), *operations):
        status, reason = place.redriven(order)
    wanted = said.format(topic=place.topic, dlq=place.dlq, events=place.events, order=order.id)
    assert status is Status.PAUSED
    assert f"Kafka refuses our client {wanted}" in reason
    assert place.redriven(order) == (Status.COMPLETED, "")
    assert (len(place.read()), len(place.read(f"{place.topic}-open"))) == (9, 3)


def test_a_transaction_longer_than_brokers_allow_is_said(place: Place) -> None:
    place.letters(3)
    status, reason = place.redriven(place.order(delivery_timeout_ms=3_600_000))
    assert status is Status.PAUSED
    assert "transaction.max.timeout.ms" in reason
    assert "delivery_timeout_ms" in reason


def test_a_transaction_that_brokers_have_ended_is_undone_and_done_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was away for so long, as a machine is that sleeps, in the middle of a transaction.

    Its own transactions last a minute more than a delivery may take: these do not.
    """

    def soon_over(options: Options, **more: Any) -> Producer:  # noqa: ANN401 -- the logger
        return Producer({**options, "transaction.timeout.ms": SOON_OVER_MS}, **more)

    monkeypatch.setattr("redrive.move.transaction.Producer", soon_over)
    monkeypatch.setattr("redrive.move.mover.CHUNK", 100)  # some are written while the next are decided
    place.letters(600)
    order = place.order(
        selection={"filter": "true"}, limits={**FAST, "max_in_flight": 500}, delivery_timeout_ms=1_000
    )
    orders, slept, asked = Orders.of(order), [False], itertools.count()

    def sleeps(letter: DeadLetter) -> bool:
        if not slept[0] and next(asked) % 10 == 0 and place.uncommitted():
            slept[0] = True
            until(lambda: not place.uncommitted())
        return bool(letter.key)

    with no_client_is_left(), place.worker(orders, sleeps, request_timeout_ms=900):
        assert orders.settled(order)[0] is Status.COMPLETED
    assert slept == [True]
    assert orders.claims[order.id].epoch > 1
    assert place.values() == once(600)
