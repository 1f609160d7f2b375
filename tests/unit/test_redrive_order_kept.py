"""Records of a partition are written in their order, however often their transactions are aborted."""

from collections import defaultdict
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, cast

import pytest
from confluent_kafka import KafkaError, Message, TopicPartition
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.contract.backoff import Backoff
from streaming.letter import Letter
from streaming.redrive.delivery_reports import Refusal
from streaming.redrive.fetch import Fetcher, Place, Wanted
from streaming.redrive.guards import Guard, Returns
from streaming.redrive.intake import Intake
from streaming.redrive.ledger import Ledger
from streaming.redrive.moved import DeadLetter, Record, wire_size
from streaming.redrive.mover import Mover, Parts
from streaming.redrive.order import Guards, Order, OrderRequest
from streaming.redrive.patience import Patiences
from streaming.redrive.reading import Lane, Reader
from streaming.redrive.received import Received
from streaming.redrive.report import Frame, Runs
from streaming.redrive.steps import Finished, Idle
from streaming.redrive.targets import TargetPlace
from streaming.redrive.telemetry import SILENT, Telemetry
from streaming.redrive.transaction import AbortedError, Transactions

if TYPE_CHECKING:
    from streaming.redrive.routes import Routes

DLQ = "dlq.orders"
EVENTS = "deadwatch.events"
COUNT = 60
NOW_MS = 100_000
PARTITIONS = 3
TOO_LARGE = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
LARGE: dict[int, int] = {}
"""Bytes of the key, by offset, of what is too large for its topic."""
REFUSED = KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)


def dead_letter(partition: int, offset: int) -> Received:
    said = {"topic": "orders", "partition": partition, "offset": offset}
    headers: list[tuple[str, str | bytes | None]] = [
        (f"__connect.errors.{name}", str(value).encode()) for name, value in said.items()
    ]
    message = Message(
        topic=DLQ,
        partition=partition,
        offset=offset,
        key=b"k" * LARGE.get(offset, 1),
        value=b"%d" % offset,
        headers=headers,
        timestamp=(1, 1),
    )
    return cast("Received", message)


class FakeReader:
    """A dead letter topic of which every read takes some of a partition."""

    group = "group"

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.lanes = {partition: Lane(Ledger(0), COUNT) for partition in range(PARTITIONS)}
        self.expired: dict[int, int] = {}

    def poll(self, most: int) -> list[Received]:
        unread = [partition for partition, lane in self.lanes.items() if not lane.read]
        if not unread:
            return []
        partition = self._rng.choice(unread)
        ledger = self.lanes[partition].ledger
        offsets = range(ledger.position, min(ledger.position + most, COUNT))
        for offset in offsets:
            ledger.read(offset)
        return [dead_letter(partition, offset) for offset in offsets]

    def offsets(self, partitions: set[int]) -> list[TopicPartition]:
        return [TopicPartition(DLQ, one, *self.lanes[one].ledger.commit()) for one in partitions]


class FakeFetcher:
    def fetch(self, wanted: Wanted) -> dict[Place, Received]:
        return {
            (topic, partition, offset): dead_letter(partition, offset)
            for (topic, partition), offsets in wanted.items()
            for offset in offsets
        }


class FakeRoutes:
    version = 0

    def route(self, letter: Letter) -> TargetPlace:
        return TargetPlace("orders", letter.partition)

    def refresh(self) -> None: ...


@dataclass
class FakeTransactions:
    """Some partitions fail at the commit, by chance."""

    rng: Random
    may_fail: int
    open: list[Record] = field(default_factory=list)
    committed: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    records: list[Record] = field(default_factory=list)
    straight: int = 0
    together: int | None = None

    def write(self, record: Record, dead_letter: DeadLetter | None = None, *, alone: bool = False) -> None:
        del dead_letter, alone
        self.open.append(record)

    def put(  # noqa: PLR0917 -- as the transactions have it
        self,
        topic: str,
        partition: int | None,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes | None]],
        dead_letter: DeadLetter | None,
    ) -> None:
        del dead_letter
        self.straight += 1
        self.write(Record(topic, partition, timestamp_ms, key, value, tuple(headers)))

    def delivered(self) -> Runs:
        return {}

    def commit(self, offsets: list[TopicPartition], group: object) -> None:
        del offsets, group
        written, self.open = self.open, []
        targets = sorted({one.target for one in written if one.topic != EVENTS})
        if targets and self.may_fail and self.rng.random() < 0.3:
            self.may_fail -= 1
            raise AbortedError(REFUSED, {self.rng.choice(targets): REFUSED})
        for record in written:
            if record.topic != EVENTS:
                self.records.append(record)
                self.committed[record.partition or 0].append(int(record.value or b""))

    def abort(self) -> None:
        self.open = []


@dataclass
class RefusingTransactions(FakeTransactions):
    """Batches that are larger than the topic allows are refused as a whole, as Kafka does."""

    most_bytes: int = 0
    batches: dict[int, list[Refusal]] = field(default_factory=lambda: defaultdict(list))
    aborted: int = 0

    def write(self, record: Record, dead_letter: DeadLetter | None = None, *, alone: bool = False) -> None:
        if record.topic == EVENTS or dead_letter is None:
            return
        full = self.together is not None and sum(map(len, self.batches.values())) >= self.together
        if alone or full:
            self.answer()
        size = wire_size(record.key, record.value, record.headers)
        refusal = Refusal(dead_letter, ("orders", record.partition or 0), TOO_LARGE, size, 0, keyed=True)
        self.batches[record.partition or 0].append(refusal)
        self.open.append(record)
        if alone:
            self.answer()

    def put(  # noqa: PLR0917 -- as above
        self,
        topic: str,
        partition: int | None,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes | None]],
        dead_letter: DeadLetter | None,
    ) -> None:
        self.write(Record(topic, partition, timestamp_ms, key, value, tuple(headers)), dead_letter)

    def answer(self) -> None:
        refused = [one for one in self.batches.values() if sum(each.size for each in one) > self.most_bytes]
        self.batches.clear()
        if refused:
            self.open = []
            self.aborted += 1
            raise AbortedError(TOO_LARGE, {}, [one for batch in refused for one in batch])

    def commit(self, offsets: list[TopicPartition], group: object) -> None:
        self.answer()
        super().commit(offsets, group)


def mover(
    rng: Random,
    transactions: FakeTransactions,
    limits: dict[str, float | None],
    telemetry: Telemetry = SILENT,
) -> Mover:
    request = {
        "dlq_topic": DLQ,
        "selection": {"all": True},
        "reason": "test",
        "retry": {"retry_backoff_ms": 0},
    }
    order = Order(
        id="1",
        request=OrderRequest.model_validate(request | {"limits": limits, "task_timeout_ms": 10_000_000}),
        requested_by="test",
        created_at_ms=0,
        begin=dict.fromkeys(range(PARTITIONS), 0),
        cut_off=dict.fromkeys(range(PARTITIONS), COUNT),
    )
    reader = cast("Reader", FakeReader(rng))
    parts = Parts(
        reader,
        Intake(DLQ, reader, cast("Fetcher", FakeFetcher()), lambda _: True),
        cast("Transactions", transactions),
        cast("Routes", FakeRoutes()),
        Patiences(10_000_000, Backoff(1_000, 4_000), rng),
        Guard("1", Guards(), lambda _: Returns(0, 0), None),
        telemetry,
    )
    return Mover(order, Frame("1", "1", 1, DLQ, "default", EVENTS), parts, "our client", 0)


@given(
    seed=st.integers(0, 1 << 32),
    in_flight=st.sampled_from([1, 3, 7, 20]),
    rate=st.sampled_from([None, 20, 200]),
    per_target=st.sampled_from([None, 20, 1_000]),
)
@settings(max_examples=150, deadline=None)
def test_what_is_tried_again_or_slowed_down_is_not_overtaken(
    seed: int, in_flight: int, rate: float | None, per_target: float | None
) -> None:
    rng = Random(seed)
    transactions = FakeTransactions(rng, may_fail=6)
    limits = {
        "max_in_flight": in_flight,
        "records_per_second": rate,
        "per_target_records_per_second": per_target,
    }
    moving, now_ms = mover(rng, transactions, limits), NOW_MS
    for _ in range(20_000):
        step = moving.step(now_ms)
        if isinstance(step, Finished):
            break
        if isinstance(step, Idle):
            now_ms = max(now_ms, step.until_ms)
        now_ms += rng.randrange(30)
    assert transactions.committed == {partition: list(range(COUNT)) for partition in range(PARTITIONS)}


@given(
    seed=st.integers(0, 1 << 32),
    in_flight=st.sampled_from([1, 7, 100]),
    room=st.sampled_from([1, 3, 20]),
    bad=st.sets(st.integers(0, COUNT - 1), max_size=12),
)
@settings(max_examples=100, deadline=None)
def test_what_is_refused_alone_fails_and_the_others_keep_their_order(
    seed: int, in_flight: int, room: int, bad: set[int]
) -> None:
    """``room``: how many records a batch may have; of every partition the same offsets are too large."""
    rng = Random(seed)
    transactions = RefusingTransactions(rng, may_fail=0, most_bytes=room * 400)
    moving, now_ms = mover(rng, transactions, {"max_in_flight": in_flight}), NOW_MS
    LARGE.clear()
    LARGE.update({offset: 400 * room + rng.randrange(5_000) for offset in bad})
    for _ in range(5_000):
        if isinstance(moving.step(now_ms), Finished):
            break
        now_ms += 500
    LARGE.clear()
    kept = [offset for offset in range(COUNT) if offset not in bad]
    assert transactions.committed == (dict.fromkeys(range(PARTITIONS), kept) if kept else {})


@pytest.mark.parametrize("may_fail", [0, 3], ids=["at once", "after aborted transactions"])
def test_what_goes_straight_is_what_deciding_would_write(may_fail: int) -> None:
    """A rate, however high, looks at every record."""
    straight, decided = FakeTransactions(Random(1), may_fail), FakeTransactions(Random(1), 0)
    for transactions, rate in ((straight, None), (decided, 1e9)):
        limits = {"max_in_flight": 20, "records_per_second": rate}
        moving, now_ms = mover(Random(2), transactions, limits), NOW_MS
        while not isinstance(moving.step(now_ms), Finished):
            now_ms += 500
    assert straight.straight > 20
    assert decided.straight == 0
    assert sorted(map(untimed, straight.records)) == sorted(map(untimed, decided.records))


def untimed(record: Record) -> tuple[int, bytes, list[tuple[str, bytes | None]]]:
    """All of it but when it was moved, or what it has waited for."""
    times = {"deadwatch.redrive.moved-at-ms", "deadwatch.redrive.not-before-ms"}
    headers = [pair for pair in record.headers if pair[0] not in times]
    return record.partition or 0, record.value or b"", headers
