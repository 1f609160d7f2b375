"""Guards and limits on a real Kafka: a group that is behind, rates of targets, clocks that jump, SIGTERM."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, TopicPartition

from lab import Lab
from streaming.redrive.guards import Returns
from streaming.redrive.order import Status
from streaming.redrive.settings import RedriveSettings
from streaming.redrive.work import House
from streaming.redrive.worker import run
from streaming.store import migrate
from streaming.store.engine import connect
from streaming.store.orders import OrderBook
from tests.integration.redrive_place import FAST, Orders, Place, clock_ms, create, ours, until
from tests.integration.redrive_place import place as place  # noqa: PLC0414 -- a fixture

pytestmark = pytest.mark.integration

MOST_LAG = 30
STOPS_WITHIN_S = 5


class Group:
    """A consumer group that reads when it is told to, and looks how far it is behind."""

    def __init__(self, place: Place, name: str) -> None:
        self._place = place
        config = {"bootstrap.servers": place.servers, "group.id": name, "enable.auto.commit": False}
        self._consumer = Consumer(config)

    def catch_up(self) -> None:
        ends = [TopicPartition(self._place.topic, n, self._end(n)) for n in range(3)]
        self._consumer.commit(offsets=ends, asynchronous=False)

    def lag(self) -> int:
        places = [TopicPartition(self._place.topic, n) for n in range(3)]
        return sum(
            self._end(one.partition) - max(one.offset, 0) for one in self._consumer.committed(places, 10)
        )

    def close(self) -> None:
        self._consumer.close()

    def _end(self, partition: int) -> int:
        return self._consumer.get_watermark_offsets(TopicPartition(self._place.topic, partition), 10)[1]


def test_a_group_that_reads_the_target_never_gets_further_behind_than_it_may(place: Place) -> None:
    place.letters(150)
    guards = {"max_target_lag": MOST_LAG, "lag_group": f"reads-{place.topic}"}
    order = place.order(guards=guards)
    orders, group = Orders(), Group(place, f"reads-{place.topic}")
    orders.add(order)
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
    create(place.servers, **{other: 3})
    place.letters(60)
    place.letters(20, topic=other)
    place.redriven(place.order(limits={**FAST, "per_target_records_per_second": 20}))
    took_ms = {topic: moved_within_ms(place, topic) for topic in (place.topic, other)}
    assert (len(place.read()), len(place.read(other))) == (60, 20)
    assert took_ms[place.topic] >= 59 * 1_000 / 20 * 0.9
    assert (
        19 * 1_000 / 20 * 0.9 <= took_ms[other] < 2_500
    )  # the other target's rate is no concern of this one


def moved_within_ms(place: Place, topic: str) -> int:
    moved_ms = [int(ours(record)["moved-at-ms"]) for record in place.read(topic)]
    return max(moved_ms) - min(moved_ms)


def test_how_many_wait_is_told_while_the_order_runs(place: Place) -> None:
    place.letters(4, headers=[("deadwatch.redrive.attempts", b"1"), moved_now()])
    place.letters(6)
    order = place.order(retry={"retry_backoff_ms": 3_600_000, "retry_backoff_max_ms": 7_200_000})
    orders = Orders()
    orders.add(order)
    with place.worker(orders):
        until(lambda: len(place.read()) == 6)
        until(lambda: orders.claims[order.id].waiting == 4)
        orders.status[order.id] = Status.CANCELLING
        until(lambda: orders.status[order.id] is Status.CANCELLED)


@pytest.mark.parametrize("jump_ms", [3_600_000, -3_600_000], ids=["ahead", "back"])
def test_a_clock_that_jumps_loses_and_repeats_nothing(place: Place, jump_ms: int) -> None:
    place.letters(300)
    order = place.order(limits={"records_per_second": 150})
    orders, stop, ahead = Orders(), threading.Event(), [0]
    orders.add(order)
    settings = RedriveSettings.model_validate({"kafka": {"bootstrap_servers": place.servers}})
    house = House(
        settings, lambda _: lambda _: True, lambda _: Returns(0, 0), lambda: clock_ms() + ahead[0], Random(1)
    )
    worker = threading.Thread(target=run, args=(orders, house, stop, "test"))
    worker.start()
    try:
        until(lambda: len(place.read()) > 30)
        ahead[0] = jump_ms
        until(lambda: len(place.read()) > 120)
        ahead[0] = 0
        until(lambda: order.id in orders.reason, within_s=90)
    finally:
        stop.set()
        worker.join(30)
    assert orders.status[order.id] is Status.COMPLETED
    assert sorted(one.value or b"" for one in place.read()) == sorted(b"value-%d" % n for n in range(300))


def test_sigterm_ends_a_worker_in_time_also_while_kafka_is_stalled(
    lab: Lab, place: Place, tmp_path: Path
) -> None:
    place.letters(3_000)
    order = place.order(limits={"records_per_second": 100})
    url = f"sqlite:///{tmp_path / 'store.db'}"
    engine = connect(url)
    migrate.upgrade(engine)
    book = OrderBook(engine)
    book.create(order, "{}")
    environment = os.environ | {"REDRIVE_STORE_URL": url, "REDRIVE_KAFKA__BOOTSTRAP_SERVERS": place.servers}
    worker = subprocess.Popen([sys.executable, "-m", "streaming.redrive"], env=environment)
    try:
        until(lambda: len(place.read()) > 50)
        with lab.broker_stopped():
            threading.Event().wait(0.5)  # a transaction is open then
            worker.send_signal(signal.SIGTERM)
            began_s = time.monotonic()
            assert worker.wait(60) == 0
            took_s = time.monotonic() - began_s
        stored = book.get(order.id)
    finally:
        worker.kill()
        worker.wait(20)
        engine.dispose()
    assert took_s < STOPS_WITHIN_S
    assert (stored.status, stored.worker) == (Status.RUNNING, "")


def moved_now() -> tuple[str, bytes]:
    return "deadwatch.redrive.moved-at-ms", str(clock_ms()).encode()
