"""The mover on a real Kafka: what arrives, what stays, what is parked, and what users can stop."""

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Self, cast

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lab import Lab
from streaming.redrive.claim import Claim, ClaimLostError
from streaming.redrive.guards import Returns
from streaming.redrive.order import Order, OrderRequest, Status
from streaming.redrive.received import Received, consume
from streaming.redrive.settings import RedriveSettings
from streaming.redrive.work import House
from streaming.redrive.worker import run
from streaming.store import migrate
from streaming.store.engine import connect
from streaming.store.orders import OrderBook

pytestmark = pytest.mark.integration

WITHIN_S = 60
NAMES = itertools.count()
AT_ONCE = {"retry_backoff_ms": 0}
FAST = {"records_per_second": None}
Headers = list[tuple[str, bytes]]
Sent = list[tuple[str, str | bytes | None]]


def clock_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class Seen:
    """A record that was read."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes
    value: bytes | None
    headers: Headers

    @classmethod
    def of(cls, message: Received) -> Self:
        headers = [(name, value or b"") for name, value in message.headers() or []]
        return cls(
            message.topic(),
            message.partition(),
            message.offset(),
            message.timestamp()[1],
            message.key() or b"",
            message.value(),
            headers,
        )


@dataclass
class Orders:
    """Orders in memory: leases with fencing, as the store keeps them."""

    orders: dict[str, Order] = field(default_factory=dict)
    status: dict[str, Status] = field(default_factory=dict)
    reason: dict[str, str] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)
    most_claims: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, order: Order) -> None:
        self.orders[order.id], self.status[order.id] = order, Status.RUNNING

    def claim(self, worker: str, now_ms: int, lease_ms: int) -> Claim | None:
        del worker
        with self.lock:
            for one in self.orders.values():
                held = self.claims.get(one.id, Claim(one, 0, 0))
                if held.epoch == self.most_claims:
                    continue
                if (
                    self.status[one.id] in {Status.RUNNING, Status.CANCELLING}
                    and held.expires_at_ms <= now_ms
                ):
                    self.claims[one.id] = Claim(one, held.epoch + 1, now_ms + lease_ms)
                    return self.claims[one.id]
        return None

    def renew(self, claim: Claim, now_ms: int, lease_ms: int) -> tuple[Claim, Status]:
        with self.lock:
            self._check(claim)
            self.claims[claim.order.id] = replace(claim, expires_at_ms=now_ms + lease_ms)
            return self.claims[claim.order.id], self.status[claim.order.id]

    def settle(self, claim: Claim, status: Status, status_reason: str, now_ms: int) -> None:
        self.release(claim, now_ms)
        self.status[claim.order.id], self.reason[claim.order.id] = status, status_reason

    def release(self, claim: Claim, now_ms: int) -> None:
        del now_ms
        with self.lock:
            self._check(claim)
            self.claims[claim.order.id] = replace(claim, expires_at_ms=0)

    def _check(self, claim: Claim) -> None:
        if self.claims[claim.order.id].epoch != claim.epoch or self.status[claim.order.id].final:
            raise ClaimLostError


@dataclass
class Place:
    """A dead letter topic and its origin, of their own for every test."""

    servers: str
    topic: str
    dlq: str
    returns: Returns = field(default_factory=lambda: Returns(0, 0))

    def letters(
        self, count: int, *, partition: int | None = None, topic: str = "", headers: Headers | None = None
    ) -> None:
        """Dead letters as Connect writes them, of records at offset 0 and up."""
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 50})
        width, dlq_width = self.width(self.topic), self.width(self.dlq)
        for number in range(count):
            at = number % width
            said = {"topic": topic or self.topic, "partition": at, "offset": number // width}
            told = [(f"__connect.errors.{name}", str(value).encode()) for name, value in said.items()]
            producer.produce(
                self.dlq,
                b"value-%d" % number,
                b"key-%d" % (number % 100),
                at % dlq_width if partition is None else partition,
                timestamp=clock_ms() - 3 * 3_600_000 + number,
                headers=[("own", b"%d" % number), *told, *(headers or [])],
            )
        assert producer.flush(30) == 0

    def fail(self, record: Seen) -> None:
        """A dead letter of a record that was read from the topic, its headers kept, as Connect does."""
        said = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
        told = [(f"__connect.errors.{name}", str(value).encode()) for name, value in said.items()]
        producer = Producer({"bootstrap.servers": self.servers})
        headers = [*record.headers, *told]
        producer.produce(
            self.dlq, record.value, record.key, timestamp=record.timestamp, headers=cast("Sent", headers)
        )
        assert producer.flush(30) == 0

    def width(self, topic: str) -> int:
        admin = AdminClient({"bootstrap.servers": self.servers})
        return len(admin.list_topics(timeout=10).topics[topic].partitions)

    def order(self, *, behind: Order | None = None, **request: object) -> Order:
        """About everything there is, or what has come behind the cut-off of another order."""
        begin, cut_off = self._ends()
        begin = behind.cut_off if behind else begin
        asked: dict[str, object] = {
            "dlq_topic": self.dlq,
            "selection": {"all": True},
            "limits": FAST,
            "retry": AT_ONCE,
        }
        asked |= {"dry_run": False, "reason": "test", **request}
        return Order(
            id=f"{next(NAMES):08x}-{clock_ms():x}",
            request=OrderRequest.model_validate(asked),
            requested_by="test",
            created_at_ms=clock_ms(),
            begin=begin,
            cut_off=cut_off,
        )

    def _ends(self) -> tuple[dict[int, int], dict[int, int]]:
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "ends"})
        marks = {
            number: consumer.get_watermark_offsets(TopicPartition(self.dlq, number), timeout=10)
            for number in range(self.width(self.dlq))
        }
        consumer.close()
        return {n: low for n, (low, _) in marks.items()}, {n: end for n, (_, end) in marks.items()}

    def read(self, topic: str = "") -> list[Seen]:
        """Every committed record, in the order of each partition."""
        topic = topic or self.topic
        config = {"bootstrap.servers": self.servers, "group.id": "read", "isolation.level": "read_committed"}
        consumer = Consumer(config | {"enable.partition.eof": True, "enable.auto.commit": False})
        left = set(range(self.width(topic)))
        consumer.assign([TopicPartition(topic, number, 0) for number in left])
        found: list[Seen] = []
        deadline_s = time.monotonic() + WITHIN_S
        while left:
            assert time.monotonic() < deadline_s
            for message in consume(consumer, 1_000, 0.05):
                if message.error() is None:
                    found.append(Seen.of(message))
                else:
                    left.discard(message.partition())
        consumer.close()
        return found

    @contextmanager
    def worker(self, orders: Orders, **settings: object) -> Iterator[threading.Event]:
        """A worker in a thread; the event stops it."""
        stop = threading.Event()
        own = RedriveSettings.model_validate(
            {"kafka": {"bootstrap_servers": self.servers}, "request_timeout_ms": 5_000, **settings}
        )
        house = House(own, lambda _: lambda _: True, lambda _: self.returns, clock_ms, Random(1))
        thread = threading.Thread(target=run, args=(orders, house, stop, "test"))
        thread.start()
        try:
            yield stop
        finally:
            stop.set()
            thread.join(30)
            assert not thread.is_alive()

    def redriven(self, order: Order) -> tuple[Status, str]:
        """Work until the order is settled."""
        orders = Orders()
        orders.add(order)
        with self.worker(orders):
            until(lambda: order.id in orders.reason)
        return orders.status[order.id], orders.reason[order.id]


def until(condition: Callable[[], bool], within_s: float = WITHIN_S) -> None:
    deadline_s = time.monotonic() + within_s
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline_s, "it did not happen in time"
        pause.wait(0.02)


def create(servers: str, **widths: int) -> None:
    wanted = [NewTopic(name, width, 1) for name, width in widths.items()]
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_topics(wanted).values():
        future.result(30)


@pytest.fixture
def place(lab: Lab, request: pytest.FixtureRequest) -> Place:
    width, dlq_width = getattr(request, "param", (3, 3))
    name = f"orders-{next(NAMES)}-{clock_ms()}"
    found = Place(lab.bootstrap_servers, name, f"dlq.{name}")
    create(found.servers, **{found.topic: width, found.dlq: dlq_width})
    return found


def ours(record: Seen) -> dict[str, str]:
    prefix = "deadwatch.redrive."
    return {
        name.removeprefix(prefix): value.decode() for name, value in record.headers if name.startswith(prefix)
    }


def outcomes(place: Place, order: Order) -> Counter[tuple[str, str, int]]:
    """By outcome, reason and attempt, as the events tell."""
    counted: Counter[tuple[str, str, int]] = Counter()
    for record in place.read("deadwatch.events"):
        event = json.loads(record.value or b"")
        if event["kind"] == "redrive_outcome" and event["order"] == order.id:
            counted[event["outcome"], event["outcome_reason"], event["attempt"]] += event["records"]
    return counted


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
        assert ours(record) | {"moved-at-ms": ""} == {
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
        assert ours(returned)["attempts"] == str(attempt)
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


def test_fresh_records_behind_one_that_waits_move_at_once(place: Place) -> None:
    place.letters(1, partition=0, headers=[("deadwatch.redrive.attempts", b"1"), now_header()])
    place.letters(9, partition=0)
    order = place.order(retry={"retry_backoff_ms": 3_600_000, "retry_backoff_max_ms": 7_200_000})
    orders = Orders()
    orders.add(order)
    with place.worker(orders):
        until(lambda: len(place.read()) == 9)
        began_s = time.monotonic()
        orders.status[order.id] = Status.CANCELLING
        until(lambda: orders.status[order.id] is Status.CANCELLED)
        assert time.monotonic() - began_s < 1
    assert len(place.read()) == 9


def test_who_resumes_moves_what_waited_and_nothing_twice(place: Place) -> None:
    place.letters(1, partition=0, headers=[("deadwatch.redrive.attempts", b"1"), now_header()])
    place.letters(9, partition=0)
    order = place.order(retry={"retry_backoff_ms": 2_000, "retry_backoff_max_ms": 60_000})
    orders = Orders()
    orders.add(order)
    with place.worker(orders):
        until(lambda: len(place.read()) == 9)
    with place.worker(orders):
        until(lambda: order.id in orders.reason)
    assert Counter(record.headers[0][1] for record in place.read()).most_common(1)[0][1] == 2
    assert sorted(ours(record)["attempts"] for record in place.read()) == ["1"] * 9 + ["2"]


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


def test_a_record_larger_than_the_target_takes_is_counted_and_the_others_go_on(place: Place) -> None:
    small = f"{place.topic}-small"
    config = {"max.message.bytes": "700"}
    admin = AdminClient({"bootstrap.servers": place.servers})
    admin.create_topics([NewTopic(small, 1, 1, config=config)])[small].result(30)
    place.letters(3, topic=small)
    place.letters(1, topic=small, headers=[("large", b"x" * 800)])
    place.letters(6)
    order = place.order()
    assert place.redriven(order) == (Status.COMPLETED, "")
    assert outcomes(place, order) == {("failed", "msg_size_too_large", 0): 1, ("sent", "", 1): 9}


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


def now_header() -> tuple[str, bytes]:
    return "deadwatch.redrive.moved-at-ms", str(clock_ms()).encode()
