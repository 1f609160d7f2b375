"""Share groups' dead letters on a real Kafka: read at their origin, never a tombstone."""

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from lab import Lab
from streaming.redrive.order import Status
from tests.integration.redrive_place import Place, ours, outcomes
from tests.integration.redrive_place import place as place  # noqa: PLC0414 -- a fixture

pytestmark = pytest.mark.integration


def test_a_share_groups_dead_letter_gets_its_record_back_and_is_never_a_tombstone(lab: Lab) -> None:
    lab.reject_share_records(5)
    place = Place(lab.bootstrap_servers, "orders", "dlq.orders-g1")
    assert all(record.value is None for record in place.read(place.dlq))
    before = len(place.read())
    order = place.order()
    assert place.redriven(order) == (Status.COMPLETED, "")
    back = place.read()
    moved = [record for record in back if ours(record).get("id") == order.id]
    assert len(moved) == len(place.read(place.dlq)) == len(back) - before
    originals = {(f"orders/{one.partition}/{one.offset}"): one for one in back}
    for record in moved:
        original = originals[ours(record)["origin"]]
        assert record.value == original.value
        assert record.value is not None
        assert record.timestamp == original.timestamp
        assert record.partition == original.partition


def test_a_share_groups_dead_letter_whose_record_is_gone_is_skipped(place: Place) -> None:
    headers = {"topic": place.topic, "partition": 0, "offset": 0, "group": "g"}
    producer = Producer({"bootstrap.servers": place.servers})
    for _ in range(3):
        producer.produce(place.topic, b"to be removed", partition=0)
    producer.produce(
        place.dlq,
        None,
        headers=[(f"__dlq.errors.{name}", str(text).encode()) for name, text in headers.items()],
    )
    producer.flush(30)
    admin = AdminClient({"bootstrap.servers": place.servers})
    for future in admin.delete_records([TopicPartition(place.topic, 0, 2)]).values():
        future.result(30)
    order = place.order()
    assert place.redriven(order) == (Status.COMPLETED, "")
    assert outcomes(place, order) == {("skipped", "payload_expired", 0): 1}
