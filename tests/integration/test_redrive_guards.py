"""What stops an order on a real Kafka, and who goes on: limits, guards, several workers, stalls, SIGTERM."""

import signal
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from deadwatch.orders.order import Claim, Status
from deadwatch.runtime.clock import clock_ms
from lab import Lab
from lab.topics import Topics
from redrive.move.failures import FencedError
from redrive.move.rewrite import ProducerRecord
from redrive.move.transaction import TransactionalProducer
from tests.integration.redrive_place import FAST, Orders, Place, now_header, once, ours
from tests.kafka_topics import committed, ends, messages
from tests.redrive_process import ordered, working
from tests.waiting import until

MOST_LAG = 30
STOPS_WITHIN_S = 25
"""Sooner than a request would have timed out."""


class Group:
    """A consumer group that reads when it is told to, and looks how far it is behind."""

    def __init__(self, place: Place, name: str) -> None:
        self._place = place
        config = {"bootstrap.servers": place.servers, "group.id": name, "enable.auto.commit": False}
        self._consumer = Consumer(config)

    def catch_up(self) -> None:
        read = [TopicPartition(self._place.topic, n, end) for n, end in self._ends().items()]
        self._consumer.commit(offsets=read, asynchronous=False)

    def lag(self) -> int:
        places = [TopicPartition(self._place.topic, n) for n in range(3)]
        found = committed(self._consumer, places)
        return sum(self._ends().values()) - sum(max(one.offset, 0) for one in found)

    def close(self) -> None:
        self._consumer.close()

    def _ends(self) -> dict[int, int]:
        return ends(self._place.servers, self._place.topic)


def test_a_group_that_reads_the_target_never_gets_further_behind_than_it_may(place: Place) -> None:
    place.letters(150)
    guards = {"max_target_lag": MOST_LAG, "lag_group": f"reads-{place.topic}"}
    order = place.order(guards=guards)
    orders, group = Orders.of(order), Group(place, f"reads-{place.topic}")
    with place.worker(orders):
        while order.id not in orders.reason:
            until(lambda: group.lag() > MOST_LAG // 2 or order.id in orders.reason)
            end_s = time.monotonic() + 1.5  # the guard looks once in this time
            while time.monotonic() < end_s:
                # the end of each transaction has an offset of its own in every partition that it wrote to
                assert group.lag() <= MOST_LAG + 3 * 2
            group.catch_up()
    group.close()
    assert orders.status[order.id] is Status.COMPLETED
    assert len(place.read()) == 150


def test_each_target_has_its_own_rate(place: Place) -> None:
    other = f"{place.topic}-other"
    Topics(place.servers).create(other, partitions=3)
    place.letters(60)
    place.letters(20, topic=other)
    order = place.order(limits={**FAST, "per_target_records_per_second": 20})
    began_ms = clock_ms()  # what may go is saved while a first transaction takes its time
    place.redriven(order)
    took_ms = {topic: last_moved_ms(place, topic) - began_ms for topic in (place.topic, other)}
    assert (len(place.read()), len(place.read(other))) == (60, 20)
    assert took_ms[place.topic] >= 59 * 1_000 / 20
    assert 19 * 1_000 / 20 <= took_ms[other] < took_ms[place.topic]


def last_moved_ms(place: Place, topic: str) -> int:
    return max(int(ours(record)["moved-at-ms"]) for record in place.read(topic))


def test_how_many_wait_is_told_while_the_order_runs(place: Place) -> None:
    place.letters(4, headers=[("deadwatch.redrive.attempts", b"1"), now_header()])
    place.letters(6)
    order = place.order(retry={"retry_backoff_ms": 3_600_000, "retry_backoff_max_ms": 7_200_000})
    orders = Orders.of(order)
    with place.worker(orders):
        until(lambda: len(place.read()) == 6)
        until(lambda: orders.claims[order.id].waiting == 4)
        orders.status[order.id] = Status.CANCELLING
        until(lambda: orders.status[order.id] is Status.CANCELLED)


@pytest.mark.parametrize(("engine", "part"), [("local", ""), ("spark", "-0")])
def test_a_worker_that_was_only_slow_moves_nothing_of_an_order_that_was_cancelled_since(
    place: Place, engine: str, part: str
) -> None:
    """Another order may move the records by then."""
    place.letters(3)
    order = place.order(engine=engine)
    orders = Orders({order.id: order}, {order.id: Status.CANCELLING}, claims={order.id: Claim(order, 1, 0)})
    consumer = Consumer({"bootstrap.servers": place.servers, "group.id": f"deadwatch-redrive-{order.id}"})
    slow = TransactionalProducer(
        {"bootstrap.servers": place.servers}, f"{order.id}{part}", 30_005, lambda: False
    )
    slow.open()
    slow.write(ProducerRecord(place.topic, 0, clock_ms(), None, b"twice", ()))
    slow.flush()
    with place.worker(orders):
        until(lambda: orders.status[order.id] is Status.CANCELLED)
    with pytest.raises(FencedError):
        slow.commit([TopicPartition(place.dlq, 0, 1)], consumer.consumer_group_metadata())
    slow.close()
    consumer.close()
    assert place.read() == []


def test_a_clock_that_jumps_loses_and_repeats_nothing(place: Place) -> None:
    place.letters(300)
    order = place.order(limits={"records_per_second": 150})
    orders, ahead = Orders.of(order), [0]
    with place.worker(orders, clock=lambda: clock_ms() + ahead[0]):
        for moved, jump_ms in ((30, 3_600_000), (90, 0), (150, -3_600_000), (210, 0)):
            until(lambda: len(place.read()) > moved)  # noqa: B023 -- called at once
            ahead[0] = jump_ms
        assert orders.settled(order)[0] is Status.COMPLETED
    assert place.values() == once(300)


def test_sigterm_ends_a_worker_in_time_also_while_kafka_is_stalled(
    lab: Lab, place: Place, tmp_path: Path
) -> None:
    place.letters(3_000)
    order = place.order(limits={"records_per_second": 100})
    events_topic = f"{place.topic}.events"  # what is left open keeps back who reads the topic, for minutes
    Topics(place.servers).create(events_topic, partitions=1)
    with (
        ordered(tmp_path, order) as (url, book),
        working(url, place.servers, events_topic=events_topic) as worker,
    ):
        until(lambda: len(place.read()) > 50)
        with lab.broker_stopped():
            threading.Event().wait(0.5)  # a transaction is open then
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(STOPS_WITHIN_S) == 0
        stored = book.get(order.id)
    assert (stored.status, stored.expires_at_ms) == (Status.RUNNING, 0), "another one may claim it at once"


def test_limits_stop_exactly_and_a_rate_is_kept(place: Place) -> None:
    place.letters(400)
    order = place.order(limits={"records_per_second": 100, "max_records": 300})
    began_ms = clock_ms()
    status, reason = place.redriven(order)
    assert (status, reason) == (Status.COMPLETED, "limits.max_records (300) is reached")
    assert len(place.read()) == 300
    assert last_moved_ms(place, place.topic) - began_ms >= 3_000


def test_two_workers_that_both_think_they_hold_an_order_move_nothing_twice(place: Place) -> None:
    place.letters(3_000)
    order = place.order(limits={"records_per_second": 1_500, "max_in_flight": 50})
    first, second = Orders.of(order), Orders.of(order, 4)  # or they would fence each other on and on
    with place.worker(first), place.worker(second):
        until(lambda: order.id in first.reason or order.id in second.reason)
    assert place.values() == once(3_000)


def test_a_kafka_that_stalls_pauses_the_order_which_can_be_resumed(lab: Lab, place: Place) -> None:
    place.letters(300)
    limits = {"records_per_second": 100}
    order = place.order(limits=limits, task_timeout_ms=1_000, delivery_timeout_ms=1_000)
    orders = Orders.of(order)

    def resumed() -> bool:
        """As often as it pauses: on a busy machine Kafka may be late without being stalled."""
        if orders.status[order.id] is Status.PAUSED:
            orders.status[order.id] = Status.RUNNING
        return True

    with place.worker(orders, request_timeout_ms=900):
        # place.read() would wait for a transaction that a pause has left open
        until(lambda: resumed() and list(messages(place.servers, place.topic)))
        with lab.broker_stopped():
            until(lambda: orders.status[order.id] is Status.PAUSED)
        assert "task_timeout_ms" in orders.reason[order.id]
        until(lambda: resumed() and orders.status[order.id] is Status.COMPLETED)
    assert place.values() == once(300)
