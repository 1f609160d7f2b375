"""A broker that refuses rights: which one and to whom is said, nothing is lost, and a grant lets it go on."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from confluent_kafka import admin as typed_admin

from lab.lone_broker import LoneBroker
from streaming.redrive.order import Status
from tests.integration.redrive_place import Orders, Place, clock_ms, create, until

admin: Any = typed_admin  # its types leave out what is used here

pytestmark = pytest.mark.integration

AUTHORIZER: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
WE: Final = "User:ANONYMOUS"
GROUPS: Final = "deadwatch-redrive-"


@pytest.fixture(scope="module")
def broker() -> Iterator[LoneBroker]:
    with LoneBroker(dict(AUTHORIZER)) as running:
        yield running


@pytest.fixture
def place(broker: LoneBroker) -> Place:
    name = f"orders-{clock_ms()}"
    made = Place(broker.bootstrap_servers, name, f"dlq.{name}")
    create(made.servers, **{made.topic: 3, made.dlq: 3, f"{made.topic}-open": 3})
    return made


def denied(kind: object, name: str, operation: object, pattern: object) -> Any:  # noqa: ANN401 -- as above
    return admin.AclBinding(kind, name, pattern, WE, "*", operation, admin.AclPermissionType.DENY)


LITERAL, PREFIXED = admin.ResourcePatternType.LITERAL, admin.ResourcePatternType.PREFIXED
WRITE, READ = admin.AclOperation.WRITE, admin.AclOperation.READ


@pytest.mark.parametrize(
    ("kind", "name", "operation", "said"),
    [
        (
            admin.ResourceType.TOPIC,
            "{topic}",
            WRITE,
            "Kafka refuses our client WRITE on topic {topic}: grant it",
        ),
        (
            admin.ResourceType.TOPIC,
            "{dlq}",
            READ,
            "Kafka refuses our client READ on topic {dlq} or on an origin",
        ),
        (
            admin.ResourceType.GROUP,
            GROUPS,
            READ,
            "Kafka refuses our client READ on group deadwatch-redrive-{order}",
        ),
        (
            admin.ResourceType.TRANSACTIONAL_ID,
            GROUPS,
            WRITE,
            "Kafka refuses our client WRITE on transactional id deadwatch-redrive-{order}",
        ),
    ],
    ids=["target", "dead letters", "group", "transactional id"],
)
def test_a_right_that_is_missing_pauses_the_order_and_is_named(
    place: Place, kind: object, name: str, operation: object, said: str
) -> None:
    place.letters(9)
    place.letters(3, topic=f"{place.topic}-open")
    order = place.order()
    client = admin.AdminClient({"bootstrap.servers": place.servers})
    pattern = PREFIXED if name == GROUPS else LITERAL
    binding = denied(kind, name.format(topic=place.topic, dlq=place.dlq), operation, pattern)
    for future in client.create_acls([binding]).values():
        future.result(30)
    orders = Orders()
    orders.add(order)
    try:
        with place.worker(orders):
            until(lambda: order.id in orders.reason)
    finally:
        for removed in client.delete_acls([_filter(binding)]).values():
            removed.result(30)
    assert orders.status[order.id] is Status.PAUSED
    wanted = said.format(topic=place.topic, dlq=place.dlq, order=order.id)
    assert wanted in orders.reason.pop(order.id)
    orders.status[order.id] = Status.RUNNING
    with place.worker(orders):
        until(lambda: order.id in orders.reason)
    assert (orders.status[order.id], len(place.read())) == (Status.COMPLETED, 9)
    assert len(place.read(f"{place.topic}-open")) == 3


def test_a_transaction_longer_than_brokers_allow_is_said(place: Place) -> None:
    place.letters(3)
    status, reason = place.redriven(place.order(delivery_timeout_ms=3_600_000))
    assert status is Status.PAUSED
    assert "transaction.max.timeout.ms" in reason
    assert "delivery_timeout_ms" in reason


def _filter(binding: Any) -> object:  # noqa: ANN401 -- as above
    return admin.AclBindingFilter(
        binding.restype,
        binding.name,
        binding.resource_pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
    )
