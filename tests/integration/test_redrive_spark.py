"""Engine spark on a real Kafka: worker, executors and order are stopped in the middle."""

import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from deadwatch.contract.events import RedriveHandled
from deadwatch.orders.order import Order, Status
from deadwatch.store.batch import Batch
from deadwatch.store.store import Store
from deadwatch.store.write.orders import OrderBook
from tests.integration.redrive_place import Place, once, outcomes
from tests.kafka_records import counted
from tests.redrive_process import ordered, working
from tests.waiting import until

RECORDS = 1_500
WITHIN_S = 180
SLOWLY = {"records_per_second": 100, "max_in_flight": 50}


class Spark:
    """A store with one order, and workers that take it."""

    def __init__(self, place: Place, url: str, book: OrderBook) -> None:
        self.place, self.url, self.book = place, url, book

    def order(self, **request: Any) -> Order:  # noqa: ANN401 -- JSON
        order = self.place.order(engine="spark", **request)
        self.book.create(order, "{}")
        return order

    def status(self, order: Order) -> Status:
        return self.book.get(order.id).status

    def until_moved(self, count: int) -> None:
        until(lambda: len(self.place.read()) >= count, within_s=WITHIN_S)

    def tell_streaming(self) -> None:
        """What it would have read of the topic by now is in the store, but for what it takes for copies."""
        records = [
            {"partition": record.partition, "offset": record.offset, "value": record.value}
            for record in self.place.read(self.place.events)
        ]
        changes = counted(records).events.state_changes()
        told = tuple(one for one in changes if isinstance(one, RedriveHandled))
        with Store(self.url) as store:
            store.apply(Batch(query_id="q", batch_id=1, committed_at_ms=1, offsets={}, marks={}, events=told))

    def worker(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        return working(
            *(self.url, self.place.servers),
            events_topic=self.place.events,
            lease_ms="1000",
            poll_interval_ms="100",
            spark_master="local[2,4]",
        )


@pytest.fixture
def spark(place: Place, tmp_path: Path) -> Iterator[Spark]:
    with ordered(tmp_path) as (url, book):
        yield Spark(place, url, book)


def tasks(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    """The Python workers in which lanes run."""
    daemons = {}
    for one in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.Error):  # it has ended by now
            if "pyspark.daemon" in " ".join(one.cmdline()):
                daemons[one] = one.ppid()
    parents = {one.pid for one in daemons}
    return [one for one, parent in daemons.items() if parent in parents]


def kill_a_task(process: "subprocess.Popen[bytes]") -> None:
    """One that runs: those of a stage that is over end by themselves."""

    def killed() -> bool:
        for one in tasks(process):
            with suppress(psutil.NoSuchProcess):
                one.kill()
                return True
        return False

    until(killed, "no lane runs")


def whole(spark: Spark) -> None:
    records = spark.place.read()
    assert spark.place.values() == once(RECORDS)
    for partition in range(3):
        numbers = [int((one.value or b"")[6:]) for one in records if one.partition == partition]
        assert numbers == sorted(numbers)


def test_an_order_on_spark_moves_every_record_once_in_its_order(spark: Spark) -> None:
    spark.place.letters(RECORDS)
    order = spark.order()
    with spark.worker():
        until(lambda: spark.status(order) is Status.COMPLETED, within_s=WITHIN_S)
    whole(spark)
    assert outcomes(spark.place, order) == {("sent", "", 1): RECORDS}


@pytest.mark.chaos
def test_whoever_is_killed_paused_or_told_to_stop_every_record_arrives_once_in_its_order(
    spark: Spark,
) -> None:
    spark.place.letters(RECORDS)
    order = spark.order(limits=SLOWLY)
    with spark.worker() as first:
        spark.until_moved(200)
        kill_a_task(first)
        spark.until_moved(400)
    assert spark.status(order) is Status.RUNNING
    with spark.worker() as second:
        spark.until_moved(len(spark.place.read()) + 1)  # it holds the order
        spark.book.pause(order.id, "to look")
        until(lambda: not spark.book.get(order.id).worker, within_s=WITHIN_S)
        paused = len(spark.place.read())
        assert paused < RECORDS
        spark.book.resume(order.id)
        spark.until_moved(paused + 1)
        second.terminate()
        assert second.wait(60) == 0
    assert spark.status(order) is Status.RUNNING
    with spark.worker():
        until(lambda: spark.status(order) is Status.COMPLETED, within_s=WITHIN_S)
        whole(spark)
        assert outcomes(spark.place, order) == {("sent", "", 1): RECORDS}
        spark.tell_streaming()
        again = spark.order(selection={"filter": "offset >= 0"})
        until(lambda: spark.status(again) is Status.COMPLETED, within_s=WITHIN_S)
        whole(spark)
        assert outcomes(spark.place, again) == {("skipped", "already_moved", 0): RECORDS}
        impossible = spark.order(delivery_timeout_ms=1, again=True)  # which stops one lane
        until(lambda: spark.status(impossible) is Status.FAILED, within_s=WITHIN_S)
    assert "delivery_timeout_ms 1 is below" in spark.book.get(impossible.id).status_reason
