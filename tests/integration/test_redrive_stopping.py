"""What stops an order on a real Kafka, and who goes on: limits, guards, several workers, stalls."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab import Lab
from streaming.redrive.guards import Returns
from streaming.redrive.order import Status
from streaming.store import migrate
from streaming.store.engine import connect
from streaming.store.orders import OrderBook
from tests.integration.redrive_place import Orders, Place, clock_ms, ours, until
from tests.integration.redrive_place import place as place  # noqa: PLC0414 -- a fixture

pytestmark = pytest.mark.integration


def test_limits_stop_exactly_and_a_rate_is_kept(place: Place) -> None:
    place.letters(400)
    order = place.order(limits={"records_per_second": 100, "max_records": 300})
    began_ms = clock_ms()
    status, reason = place.redriven(order)
    assert (status, reason) == (Status.COMPLETED, "limits.max_records (300) is reached")
    assert len(place.read()) == 300
    took_ms = max(int(ours(record)["moved-at-ms"]) for record in place.read()) - began_ms
    assert 3_000 <= took_ms < 6_000


def test_a_loop_in_the_making_pauses_the_order(place: Place) -> None:
    place.letters(9)
    place.returns = Returns(sent=100, bounced=60)
    status, reason = place.redriven(place.order())
    assert status is Status.PAUSED
    assert "60 of 100 records came back" in reason
    assert place.read() == []


def test_two_workers_that_both_think_they_hold_an_order_move_nothing_twice(place: Place) -> None:
    place.letters(3_000)
    order = place.order(limits={"records_per_second": 1_500, "max_in_flight": 50})
    first, second = Orders(), Orders(most_claims=4)  # or they would fence each other on and on
    first.add(order)
    second.add(order)
    with place.worker(first), place.worker(second):
        until(lambda: order.id in first.reason or order.id in second.reason)
    assert sorted(record.value or b"" for record in place.read()) == sorted(
        b"value-%d" % n for n in range(3_000)
    )


def test_the_process_takes_an_order_from_the_store_and_ends_at_a_signal(place: Place, tmp_path: Path) -> None:
    place.letters(9)
    order = place.order(selection={"filter": "key == 'key-4'"})
    url = f"sqlite:///{tmp_path / 'store.db'}"
    engine = connect(url)
    migrate.upgrade(engine)
    book = OrderBook(engine)
    book.create(order, "{}")
    environment = os.environ | {"REDRIVE_STORE_URL": url, "REDRIVE_KAFKA__BOOTSTRAP_SERVERS": place.servers}
    worker = subprocess.Popen([sys.executable, "-m", "streaming.redrive"], env=environment)
    try:
        until(lambda: book.get(order.id).status is Status.COMPLETED)
    finally:
        worker.terminate()
        assert worker.wait(20) == 0
        engine.dispose()
    assert [record.key for record in place.read()] == [b"key-4"]


def test_a_kafka_that_stalls_pauses_the_order_which_can_be_resumed(lab: Lab, place: Place) -> None:
    place.letters(300)
    limits = {"records_per_second": 100}
    order = place.order(limits=limits, task_timeout_ms=1_000, delivery_timeout_ms=1_000)
    orders = Orders()
    orders.add(order)
    with place.worker(orders, request_timeout_ms=900):
        until(lambda: len(place.read()) > 0)
        with lab.broker_stopped():
            until(lambda: orders.status[order.id] is Status.PAUSED)
        assert "task_timeout_ms" in orders.reason.pop(order.id)
        orders.status[order.id] = Status.RUNNING
        until(lambda: orders.status[order.id] is not Status.RUNNING)
    assert orders.status[order.id] is Status.COMPLETED
    expected = sorted(b"value-%d" % number for number in range(300))
    assert sorted(record.value or b"" for record in place.read()) == expected
