"""What the tests of the mover share: topics of their own, orders in memory, workers in threads."""

import gc
import itertools
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Self, cast

from confluent_kafka.admin import AdminClient

from deadwatch.deadletter.record import DeadLetter
from deadwatch.orders.guards import Returns
from deadwatch.orders.order import Claim, ClaimLostError, Order, OrderRequest, Status
from deadwatch.runtime.clock import clock_ms
from redrive.cluster import topic_id
from redrive.librdkafka import ConsumerRecord
from redrive.move.task import WorkerContext
from redrive.settings import RedriveSettings
from redrive.worker import run
from tests.kafka_topics import connect_headers, ends, messages, producing, until_decided
from tests.waiting import WITHIN_S, until

NAMES = itertools.count()
AT_ONCE = {"retry_backoff_ms": 0}
FAST = {"records_per_second": None}
Matches = Callable[[DeadLetter], bool]
Headers = list[tuple[str, bytes]]


def clients() -> set[int]:
    """The ids of the main threads of librdkafka's clients in this process, which end last.

    A client of an earlier test, whose broker has ended, begins other threads from time to time.
    """
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has just ended
            if (task / "comm").read_text() == "rdk:main\n":
                found.add(int(task.name))
    return found


@contextmanager
def no_client_is_left() -> Iterator[None]:
    """Inside, orders are worked on and end; as in a worker, nobody looks for cycles meanwhile.

    Linux lists a thread for some ms after its client has joined it.
    """
    gc.collect()
    before = clients()
    gc.disable()
    try:
        yield
        until(lambda: clients() <= before, lambda: f"clients are left: {clients() - before}")
    finally:
        gc.enable()


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
    def of(cls, message: ConsumerRecord) -> Self:
        headers = [(name, value or b"") for name, value in message.headers() or []]
        place = message.topic(), message.partition(), message.offset()
        return cls(*place, message.timestamp()[1], message.key() or b"", message.value(), headers)


@dataclass
class Orders:
    """Orders in memory: leases with fencing, as the store keeps them."""

    orders: dict[str, Order] = field(default_factory=dict)
    status: dict[str, Status] = field(default_factory=dict)
    reason: dict[str, str] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)
    most_claims: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, order: Order, most_claims: int | None = None) -> Self:
        """One that is to be worked on, by so many claims at most."""
        made = cls(most_claims=most_claims)
        made.add(order)
        return made

    def add(self, order: Order) -> None:
        """To be worked on, or to be resumed."""
        self.reason.pop(order.id, None)
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
        del now_ms
        self.release(claim)
        self.status[claim.order.id], self.reason[claim.order.id] = status, status_reason

    def release(self, claim: Claim) -> None:
        with self.lock:
            self._check(claim)
            self.claims[claim.order.id] = replace(claim, expires_at_ms=0)

    def settled(self, order: Order, within_s: float = WITHIN_S) -> tuple[Status, str]:
        """Wait until the order is; its state, and why."""
        until(lambda: order.id in self.reason, "the end of the order", within_s)
        return self.status[order.id], self.reason[order.id]

    def _check(self, claim: Claim) -> None:
        if self.claims[claim.order.id].epoch != claim.epoch or self.status[claim.order.id].final:
            raise ClaimLostError


@dataclass
class Place:
    """A dead letter topic and its origin, of their own for every test.

    So are its events: a transaction that another test leaves open keeps back who reads a topic, for minutes.
    """

    servers: str
    topic: str
    dlq: str
    returns: Returns = field(default_factory=lambda: Returns(0, 0))

    @property
    def events(self) -> str:
        """The topic of our events."""
        return f"events-{self.topic}"

    def letters(
        self, count: int, *, partition: int | None = None, topic: str = "", headers: Headers | None = None
    ) -> None:
        """Dead letters as Connect writes them, of records at offset 0 and up."""
        width, dlq_width = self.width(self.topic), self.width(self.dlq)
        with producing(self.servers, linger_ms=50) as producer:
            for number in range(count):
                at = number % width
                producer.produce(
                    self.dlq,
                    b"value-%d" % number,
                    b"key-%d" % (number % 100),
                    at % dlq_width if partition is None else partition,
                    timestamp=clock_ms() - 3 * 3_600_000 + number,
                    headers=[
                        ("own", b"%d" % number),
                        *connect_headers(topic or self.topic, at, number // width),
                        *(headers or []),
                    ],
                )

    def fail(self, record: Seen) -> None:
        """A dead letter of a record that was read from the topic, its headers kept, as Connect does."""
        headers = [*record.headers, *connect_headers(record.topic, record.partition, record.offset)]
        with producing(self.servers) as producer:
            producer.produce(
                self.dlq, record.value, record.key, timestamp=record.timestamp, headers=cast("Any", headers)
            )

    def width(self, topic: str) -> int:
        admin = AdminClient({"bootstrap.servers": self.servers})
        return len(admin.list_topics(timeout=10).topics[topic].partitions)

    def order(self, *, behind: Order | None = None, **request: object) -> Order:
        """About everything there is, or what has come behind the cut-off of another order."""
        cut_off = ends(self.servers, self.dlq)
        asked: dict[str, object] = {"dlq_topic": self.dlq, "selection": {"all": True}, "limits": FAST}
        asked |= {"retry": AT_ONCE, "dry_run": False, "reason": "test", **request}
        return Order(
            id=f"{next(NAMES):08x}-{clock_ms():x}",
            request=OrderRequest.model_validate(asked),
            requested_by="test",
            created_at_ms=clock_ms(),
            begin=behind.cut_off if behind else dict.fromkeys(cut_off, 0),
            cut_off=cut_off,
            dlq_topic_id=topic_id(AdminClient({"bootstrap.servers": self.servers}), self.dlq),
        )

    def uncommitted(self) -> bool:
        """Whether the origin holds records of a transaction that is open."""
        return ends(self.servers, self.topic, "read_uncommitted") != ends(self.servers, self.topic)

    def read(self, topic: str = "") -> list[Seen]:
        """Every committed record, in the order of each partition, also of what was committed just now."""
        topic = topic or self.topic
        until_decided(self.servers, topic)
        return [Seen.of(cast("ConsumerRecord", one)) for one in messages(self.servers, topic)]

    @contextmanager
    def worker(
        self,
        orders: Orders,
        matches: Matches = lambda _: True,
        clock: Callable[[], int] = clock_ms,
        counted: Callable[[str], int] = lambda _: 0,
        **settings: object,
    ) -> Iterator[threading.Event]:
        """A worker in a thread; the event stops it. ``matches`` is what it takes the filter for, ``counted``
        what streaming has counted of an order."""
        stop = threading.Event()
        own: dict[str, object] = {"kafka": {"bootstrap_servers": self.servers}, "events_topic": self.events}
        own |= {"request_timeout_ms": 5_000, **settings}
        context = WorkerContext(
            RedriveSettings.model_validate(own),
            lambda _: self.returns,
            clock,
            Random(1),
            compile_filter=lambda _: matches,
            counted=counted,
        )
        thread = threading.Thread(target=run, args=(orders, context, stop, "test"))
        thread.start()
        try:
            yield stop
        finally:
            stop.set()
            thread.join(30)
            assert not thread.is_alive()

    def values(self) -> Counter[bytes | None]:
        """Of every committed record of the origin."""
        return Counter(one.value for one in self.read())

    def redriven(self, order: Order) -> tuple[Status, str]:
        """Work until the order is settled."""
        with self.worker(orders := Orders.of(order)):
            return orders.settled(order)


def once(count: int) -> Counter[bytes | None]:
    """The values of so many dead letters, each of them once."""
    return Counter(b"value-%d" % number for number in range(count))


def ours(record: Seen) -> dict[str, str]:
    prefix = "deadwatch.redrive."
    return {
        name.removeprefix(prefix): value.decode() for name, value in record.headers if name.startswith(prefix)
    }


def reported(place: Place, order: str) -> list[dict[str, Any]]:
    """The outcomes of an order, as the events tell."""
    events = [json.loads(record.value or b"") for record in place.read(place.events)]
    return [one for one in events if one["kind"] == "redrive_outcome" and one["order"] == order]


def outcomes(place: Place, order: Order) -> Counter[tuple[str, str, int]]:
    """By outcome, reason and attempt, as the events tell."""
    counted: Counter[tuple[str, str, int]] = Counter()
    for event in reported(place, order.id):
        counted[event["outcome"], event["outcome_reason"], event["attempt"]] += event["records"]
    return counted


def now_header() -> tuple[str, bytes]:
    return "deadwatch.redrive.moved-at-ms", str(clock_ms()).encode()
