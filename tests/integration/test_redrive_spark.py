"""Engine spark on a real Kafka: worker, executors and order are stopped in the middle."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from collector.contract.events import RedriveHandled
from streaming.redrive.order import Order, Status
from streaming.store import migrate
from streaming.store.batch import Batch
from streaming.store.engine import connect
from streaming.store.orders import OrderBook
from streaming.store.store import Store
from streaming.whole_events import whole_event
from tests.integration.redrive_place import Place, outcomes, until
from tests.integration.redrive_place import place as place  # noqa: PLC0414 -- a fixture

pytestmark = pytest.mark.integration

RECORDS = 1_200
WITHIN_S = 180
SLOWLY = {"records_per_second": 150, "max_in_flight": 50}


class Spark:
    """A store with one order, and workers that take it."""

    def __init__(self, place: Place, directory: Path) -> None:
        self.place, self.url = place, f"sqlite:///{directory / 'store.db'}"
        self.engine = connect(self.url)
        migrate.upgrade(self.engine)
        self.book = OrderBook(self.engine)

    def order(self, **request: Any) -> Order:  # noqa: ANN401 -- JSON
        order = self.place.order(engine="spark", **request)
        self.book.create(order, "{}")
        return order

    def status(self, order: Order) -> Status:
        return self.book.get(order.id).status

    def until_moved(self, count: int) -> None:
        until(lambda: len(self.place.read()) >= count, WITHIN_S)

    def tell_streaming(self) -> None:
        """What it would have read of the topic by now is in the store."""
        events = [whole_event(record.value) for record in self.place.read("deadwatch.events")]
        told = tuple(one for one in events if isinstance(one, RedriveHandled))
        with Store(self.url) as store:
            store.apply(Batch(query_id="q", batch_id=1, committed_at_ms=1, offsets={}, marks={}, events=told))

    @contextmanager
    def worker(self) -> Iterator["subprocess.Popen[bytes]"]:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(sys.path),
            "REDRIVE_STORE_URL": self.url,
            "REDRIVE_KAFKA__BOOTSTRAP_SERVERS": self.place.servers,
            "REDRIVE_LEASE_MS": "1000",
            "REDRIVE_POLL_INTERVAL_MS": "100",
            "REDRIVE_SPARK_MASTER": "local[2,4]",
        }
        process = subprocess.Popen([sys.executable, "-m", "streaming.redrive"], env=environment)
        family: list[psutil.Process] = []
        try:
            yield process
        finally:
            with suppress(psutil.NoSuchProcess):
                family = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            process.wait(60)
            for one in family:
                with suppress(psutil.NoSuchProcess):
                    one.kill()


@pytest.fixture
def spark(place: Place, tmp_path: Path) -> Iterator[Spark]:
    found = Spark(place, tmp_path)
    yield found
    found.engine.dispose()


def tasks(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    """The Python workers in which lanes run."""
    daemons = {}
    for one in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.Error):  # it has ended by now
            if "pyspark.daemon" in " ".join(one.cmdline()):
                daemons[one] = one.ppid()
    parents = {one.pid for one in daemons}
    return [one for one, parent in daemons.items() if parent in parents]


def whole(spark: Spark) -> None:
    found = [record.value or b"" for record in spark.place.read()]
    assert Counter(found) == Counter(b"value-%d" % number for number in range(RECORDS))
    for partition in range(3):
        numbers = [
            int(one.value[6:]) for one in spark.place.read() if one.value and one.partition == partition
        ]
        assert numbers == sorted(numbers)


def test_a_worker_and_a_task_are_killed_and_every_record_arrives_once_in_its_order(spark: Spark) -> None:
    spark.place.letters(RECORDS)
    order = spark.order(limits=SLOWLY)
    with spark.worker() as first:
        spark.until_moved(200)
        tasks(first)[0].kill()
        spark.until_moved(500)
    assert spark.status(order) is Status.RUNNING
    with spark.worker():
        until(lambda: spark.status(order) is Status.COMPLETED, WITHIN_S)
        whole(spark)
        assert outcomes(spark.place, order) == {("sent", "", 1): RECORDS}
        spark.tell_streaming()
        second = spark.order(selection={"filter": "offset >= 0"})
        until(lambda: spark.status(second) is Status.COMPLETED, WITHIN_S)
    whole(spark)
    assert outcomes(spark.place, second) == {("skipped", "already_moved", 0): RECORDS}


def test_an_order_of_spark_is_paused_and_resumed_and_ends_at_a_signal(spark: Spark) -> None:
    spark.place.letters(RECORDS)
    order = spark.order(limits=SLOWLY)
    with spark.worker() as first:
        spark.until_moved(100)
        spark.book.pause(order.id, "to look")
        until(lambda: not spark.book.get(order.id).worker, WITHIN_S)
        paused = len(spark.place.read())
        assert paused < RECORDS
        spark.book.resume(order.id)
        spark.until_moved(paused + 1)
        first.terminate()
        assert first.wait(60) == 0
    assert spark.status(order) is Status.RUNNING
    with spark.worker():
        until(lambda: spark.status(order) is Status.COMPLETED, WITHIN_S)
    whole(spark)


def test_what_keeps_one_lane_from_going_on_pauses_the_order(spark: Spark) -> None:
    spark.place.letters(30)
    order = spark.order(delivery_timeout_ms=1)
    with spark.worker():
        until(lambda: spark.status(order) is Status.FAILED, WITHIN_S)
    assert "delivery_timeout_ms 1 is below" in spark.book.get(order.id).status_reason
