"""The only broker is killed in the middle of an order: its records move again as soon as it answers.

A deadline (KIP-91) is an upper bound, no wait: the order's own is two minutes, and the test's is shorter.
"""

import pytest
from confluent_kafka import KafkaException

from deadwatch.orders.order import Status
from lab.broker import LoneBroker
from lab.topics import Topics
from redrive.settings import RedriveSettings
from tests.integration.redrive_place import Orders, Place, once
from tests.waiting import until

RECORDS, A_SECOND = 1_200, 400
WITHIN_S = 100


@pytest.mark.chaos
def test_an_order_goes_on_as_soon_as_its_broker_is_back(broker: LoneBroker) -> None:
    place = Place(broker.bootstrap_servers, "orders", "dlq.orders")
    Topics(place.servers).create(place.topic, place.dlq, partitions=3)
    place.letters(RECORDS)
    order = place.order(limits={"records_per_second": A_SECOND, "max_in_flight": 50})
    assert order.request.delivery_timeout_ms > WITHIN_S * 1_000
    orders = Orders.of(order)
    with place.worker(orders, request_timeout_ms=RedriveSettings.model_fields["request_timeout_ms"].default):
        until(lambda: moved(place) >= 200, "records to move", WITHIN_S)
        broker.kill()
        broker.start_again()
        assert orders.settled(order, WITHIN_S)[0] is Status.COMPLETED
    assert place.values() == once(RECORDS)


def moved(place: Place) -> int:
    """How many committed records the target has; none while Kafka does not say."""
    try:
        return len(place.read())
    except KafkaException:
        return 0
