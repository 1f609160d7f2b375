"""The mover on a real Kafka: what arrives, as what, what stays, and what waits for its next attempt."""

from collections import Counter
from itertools import pairwise

import pytest
from confluent_kafka.admin import AdminClient

from deadwatch.deadletter.record import parse_record
from deadwatch.orders.order import Status
from deadwatch.orders.reasons import SkipReason
from deadwatch.runtime.clock import clock_ms
from redrive.move.fetch import Fetcher
from tests.integration.redrive_place import (
    Orders,
    Place,
    no_client_is_left,
    now_header,
    ours,
    outcomes,
    reported,
)
from tests.kafka_topics import Headers, connect_headers, make_anew, produce_unreadable, producing
from tests.waiting import until

UNREADABLE = 50
"""Enough for Python to specialise the calls that read them."""
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
        told = parse_record(*(getattr(letter, name) for name in LETTER))
        assert ours(record) | {"moved-at-ms": ""} == {
            "group": told.fingerprint,
            "id": order.id,
            "attempts": "1",
            "origin": f"{place.topic}/{record.partition}/{int(dict(letter.headers)['own']) // 3}",
            "moved-at-ms": "",
        }
    assert outcomes(place, order) == {("sent", "", 1): 30}


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


def test_a_target_that_is_not_there_is_skipped_with_the_reason_and_not_made(place: Place) -> None:
    place.letters(6, topic="never-made")
    place.letters(3)
    order = place.order()
    assert place.redriven(order) == (Status.COMPLETED, "")
    assert outcomes(place, order) == {("skipped", "target_missing", 0): 6, ("sent", "", 1): 3}
    topics = AdminClient({"bootstrap.servers": place.servers}).list_topics(timeout=10).topics
    assert "never-made" not in topics


def test_a_record_whose_headers_cannot_be_read_is_skipped_and_never_sent_without_them(place: Place) -> None:
    place.letters(9)
    produce_unreadable(place.servers, place.dlq, 1, connect_headers(place.topic, 0, 3), UNREADABLE)
    place.letters(9)
    order = place.order(target={"kind": "topic", "topic": place.topic})
    assert place.redriven(order) == (Status.COMPLETED, "")
    assert outcomes(place, order) == {("sent", "", 1): 18, ("skipped", "headers_unreadable", 0): UNREADABLE}
    assert len(place.read()) == 18


def test_a_share_groups_dead_letter_whose_records_headers_cannot_be_read_is_skipped(place: Place) -> None:
    produce_unreadable(place.servers, place.topic, 0, [])
    with producing(place.servers) as producer:
        producer.produce(place.dlq, None, headers=share_group_headers(place))
    order = place.order()
    assert place.redriven(order) == (Status.COMPLETED, "")
    assert outcomes(place, order) == {("skipped", "headers_unreadable", 0): 1}


def share_group_headers(place: Place) -> Headers:
    """What a share group tells of the first record of the topic."""
    told = {"topic": place.topic, "partition": 0, "offset": 0, "group": "g"}
    return [(f"__dlq.errors.{name}", str(text).encode()) for name, text in told.items()]


def test_a_record_that_fails_again_waits_longer_each_time_and_is_parked_at_last(place: Place) -> None:
    """A consumer that never succeeds: what comes back to the source is a dead letter again."""
    place.letters(1)
    retry = {"max_attempts": 3, "retry_backoff_ms": 150, "retry_backoff_max_ms": 10_000}
    moved_ms: list[int] = []
    order = None
    for attempt in range(1, 4):
        order = place.order(behind=order, retry=retry)
        assert place.redriven(order) == (Status.COMPLETED, "")
        assert outcomes(place, order) == {("sent", "", attempt): 1}
        returned = next(one for one in place.read() if ours(one)["attempts"] == str(attempt))
        moved_ms.append(int(ours(returned)["moved-at-ms"]))
        place.fail(returned)
    waits = [later - before for before, later in pairwise(moved_ms)]
    assert waits[0] >= 0.8 * 300
    assert waits[1] >= 0.8 * 600
    order = place.order(behind=order, retry=retry)
    assert place.redriven(order) == (Status.COMPLETED, "")
    assert outcomes(place, order) == {("parked", "attempts_used_up", 3): 1}
    assert len(place.read()) == 3
    (parked,) = place.read(f"{place.dlq}.parked")
    assert ours(parked)["parked-reason"] == "attempts_used_up"
    assert ours(parked)["attempts"] == "3"
    assert parked.value == b"value-0"


def test_who_resumes_moves_what_waited_and_nothing_twice(place: Place) -> None:
    place.letters(1, partition=0, headers=[("deadwatch.redrive.attempts", b"1"), now_header()])
    place.letters(9, partition=0)
    order = place.order(retry={"retry_backoff_ms": 1_000_000, "retry_backoff_max_ms": 2_000_000})
    orders = Orders.of(order)
    with place.worker(orders):
        until(lambda: len(place.read()) == 9)
    with place.worker(orders, clock=lambda: clock_ms() + 3_000_000):  # Kafka takes nothing an hour ahead
        orders.settled(order)
    assert Counter(record.headers[0][1] for record in place.read()).most_common(1)[0][1] == 2
    assert sorted(ours(record)["attempts"] for record in place.read()) == ["1"] * 9 + ["2"]


def test_a_partition_is_read_again_as_often_as_need_be(place: Place) -> None:
    """One record of it each time, as when they become due one after the other."""
    place.letters(60)
    fetcher = Fetcher({"bootstrap.servers": place.servers}, AdminClient({"bootstrap.servers": place.servers}))
    for offset in range(20):
        wanted = {(place.dlq, partition): [offset] for partition in range(3) if (offset + partition) % 3}
        found = fetcher.fetch(wanted)
        assert found.keys() == {(*partition, offset) for partition in wanted}
        assert not any(isinstance(record, SkipReason) for record in found.values())
    fetcher.close()


def test_an_order_of_which_kafka_has_forgotten_the_offsets_moves_nothing_again(place: Place) -> None:
    """As after ``offsets.retention.minutes``; what streaming has counted of the order shows it."""
    place.letters(30)
    order, orders = place.order(again=True), Orders()

    def counted(name: str) -> int:
        return max(int(event["position"][1]) for event in reported(place, name))

    def redriven() -> tuple[Status, str]:
        orders.add(order)
        with place.worker(orders, counted=counted):
            return orders.settled(order)

    assert place.redriven(order) == redriven() == (Status.COMPLETED, "")
    admin = AdminClient({"bootstrap.servers": place.servers})
    for deleted in admin.delete_consumer_groups([f"deadwatch-redrive-{order.id}"]).values():
        deleted.result(30)
    status, reason = redriven()
    assert status is Status.FAILED
    assert "offsets.retention.minutes" in reason
    assert len(place.read()) == 30


def test_an_order_moves_nothing_of_a_topic_that_was_made_anew_between_two_claims(place: Place) -> None:
    place.letters(9)
    order = place.order(limits={"records_per_second": 1})
    orders = Orders.of(order)
    with place.worker(orders):
        until(place.read)
    moved = place.read()
    make_anew(place.servers, place.dlq)
    place.letters(30)
    status, reason = place.redriven(order)
    assert status is Status.FAILED
    assert reason.startswith(f"topic {place.dlq} was deleted and made anew")
    assert place.read() == moved


def test_an_order_moves_nothing_of_a_topic_that_is_made_anew_while_it_is_worked_on(place: Place) -> None:
    """A worker that looks while there is no such topic says so; who resumes the order is told the rest."""
    place.letters(9)
    order = place.order(limits={"records_per_second": 1})
    orders = Orders.of(order)
    with place.worker(orders):
        until(place.read)
        make_anew(place.servers, place.dlq)
        place.letters(30, headers=[("anew", b"")])
        status, reason = orders.settled(order)
        if status is Status.PAUSED:
            assert "Unknown topic" in reason
            orders.add(order)
            status, reason = orders.settled(order)
    assert status is Status.FAILED
    assert reason.startswith(f"topic {place.dlq} was deleted and made anew")
    assert not [record for record in place.read() if "anew" in dict(record.headers)]


def test_an_order_that_has_ended_leaves_no_client_behind(place: Place) -> None:
    place.letters(30)
    with no_client_is_left():
        assert [place.redriven(place.order(again=True))[0] for _ in range(3)] == [Status.COMPLETED] * 3
