"""The mover on a real Kafka: what arrives, as what, and what stays."""

import pytest
from confluent_kafka.admin import AdminClient

from streaming.letter import letter_of
from streaming.redrive.order import Status
from tests.integration.redrive_place import Place, ours, outcomes
from tests.integration.redrive_place import place as place  # noqa: PLC0414 -- a fixture

pytestmark = pytest.mark.integration

LETTER = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")


def test_a_record_comes_back_as_it_was_with_our_headers_beside_its_own(place: Place) -> None:
    place.letters(30)
    order = place.order()
    assert place.redriven(order) == (Status.COMPLETED, "")
    back = place.read()
    assert len(back) == 30
    letters = {record.value: record for record in place.read(place.dlq)}
    for record in back:
        letter = letters[record.value]
        assert (record.key, record.timestamp) == (letter.key, letter.timestamp)
        assert record.partition == letter.partition
        assert record.headers[: len(letter.headers)] == letter.headers
        told = letter_of(*(getattr(letter, name) for name in LETTER))
        assert ours(record) | {"moved-at-ms": ""} == {
            "group": told.fingerprint,
            "id": order.id,
            "attempts": "1",
            "origin": f"{place.topic}/{record.partition}/{int(dict(letter.headers)['own']) // 3}",
            "moved-at-ms": "",
        }
    assert outcomes(place, order) == {("sent", "", 1): 30}


def test_what_fails_after_the_cut_off_stays(place: Place) -> None:
    place.letters(9)
    order = place.order()
    place.letters(9)
    place.redriven(order)
    assert len(place.read()) == 9


@pytest.mark.parametrize("place", [(12, 1)], indirect=True)
def test_one_partition_back_into_twelve_keeps_the_place_or_else_the_key_together(place: Place) -> None:
    place.letters(600, headers=[("__connect.errors.partition", b"none")])
    place.redriven(place.order())
    by_key: dict[bytes, set[int]] = {}
    for record in place.read():
        by_key.setdefault(record.key, set()).add(record.partition)
    assert len(by_key) == 100
    assert all(len(partitions) == 1 for partitions in by_key.values())
    assert len(set.union(*by_key.values())) > 6


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        ("never-made", "target_missing"),
        ("dlq.other", "target_is_dlq"),
        ("__consumer_offsets", "target_internal"),
    ],
)
def test_a_target_that_cannot_be_is_skipped_with_the_reason(place: Place, topic: str, reason: str) -> None:
    place.letters(6, topic=topic)
    place.letters(3)
    order = place.order()
    assert place.redriven(order) == (Status.COMPLETED, "")
    assert outcomes(place, order) == {("skipped", reason, 0): 6, ("sent", "", 1): 3}
    assert (
        "never-made" not in AdminClient({"bootstrap.servers": place.servers}).list_topics(timeout=10).topics
    )


def test_a_letter_that_names_its_own_topic_is_a_cycle(place: Place) -> None:
    place.letters(3, topic=place.dlq)
    order = place.order()
    place.redriven(order)
    assert outcomes(place, order) == {("skipped", "target_cycle", 0): 3}
