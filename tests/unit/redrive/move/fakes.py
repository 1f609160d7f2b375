"""A dead letter topic and its targets without a Kafka, for the mover."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, cast

from confluent_kafka import KafkaError, Message, TopicPartition

from deadwatch.contract.backoff import Backoff
from deadwatch.contract.topics import PARKED_SUFFIX
from deadwatch.deadletter.record import DeadLetter
from deadwatch.orders.guards import Guard, Returns
from deadwatch.orders.handled import NOTHING, Handled
from deadwatch.orders.order import Guards, Order
from deadwatch.orders.selection import intervals
from deadwatch.orders.targets import TargetPlace
from redrive.librdkafka import ConsumerRecord
from redrive.move.batch import EventFields, Runs
from redrive.move.failures import AbortedError, Refusal
from redrive.move.fetch import Fetcher, OffsetsByPartition
from redrive.move.mover import Finished, Idle, Mover, TaskContext
from redrive.move.open_offsets import OpenOffsets
from redrive.move.reader import PartitionState, Reader
from redrive.move.record_queue import RecordQueue, Selects
from redrive.move.rewrite import DeadLetterId, Place, ProducerRecord, wire_size
from redrive.move.targets import Router, TargetDeadlines
from redrive.telemetry import SILENT, Telemetry
from tests.unit.redrive.orders import order

if TYPE_CHECKING:
    from redrive.move.transaction import TransactionalProducer

DLQ = "dlq.orders"
PARKED = f"{DLQ}{PARKED_SUFFIX}"
EVENTS = "deadwatch.events"
COUNT = 60
NOW_MS = 100_000
RETRY_MS, MAX_RETRY_MS = 100, 1_000
PARTITIONS = 3
KEYS_LEAD_TO = 2
TOO_LARGE = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
LARGE: dict[int, int] = {}
"""Bytes of the key, by offset, of what is too large for its topic."""
REFUSED = KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)
Found = Callable[[int, int], ConsumerRecord]
"""The record at an offset of a partition."""


def record(partition: int, offset: int, timestamp_ms: int, **content: Any) -> ConsumerRecord:  # noqa: ANN401 -- of a Message
    message = Message(topic=DLQ, partition=partition, offset=offset, timestamp=(1, timestamp_ms), **content)
    return cast("ConsumerRecord", message)


def message(
    partition: int, offset: int, value: bytes, *, key: bytes | None = None, timestamp_ms: int = 1, **more: str
) -> ConsumerRecord:
    """A record of the dead letter topic; ``more`` are further headers of Connect."""
    values = {"topic": "orders", "partition": partition, "offset": offset, **more}
    headers: list[tuple[str, str | bytes | None]] = [
        (f"__connect.errors.{name.replace('_', '.')}", str(content).encode())
        for name, content in values.items()
    ]
    return record(partition, offset, timestamp_ms, key=key, value=value, headers=headers)


def dead_letter(partition: int, offset: int) -> ConsumerRecord:
    return message(partition, offset, b"%d" % offset, key=b"k" * LARGE.get(offset, 1))


class FakeReader:
    """The dead letter topic of an order, from where its last claim has come to."""

    group = "group"

    def __init__(
        self, order: Order, rng: Random, found: Found, committed: Mapping[int, tuple[int, str]] = {}
    ) -> None:
        self._plan, self._rng, self._found = intervals(order), rng, found
        self.expired: Counter[int] = Counter()
        self.partitions = {
            one: PartitionState(OpenOffsets.resumed(*committed.get(one, (runs[0][0], ""))), runs[-1][1])
            for one, runs in self._plan.items()
        }

    def poll(self, most: int) -> list[ConsumerRecord]:
        unread = [partition for partition, state in self.partitions.items() if not state.read]
        if not unread:
            return []
        partition = self._rng.choice(unread)
        state = self.partitions[partition].offsets
        runs = (range(max(first, state.position), end) for first, end in self._plan[partition])
        offsets = [offset for run in runs for offset in run][:most]
        for offset in offsets:
            state.read(offset)
        return [self._found(partition, offset) for offset in offsets]

    @property
    def closed(self) -> int:
        return sum(state.offsets.closed for state in self.partitions.values())

    def offsets_to_commit(self) -> list[TopicPartition]:
        return [TopicPartition(DLQ, one, *it.offsets.commit()) for one, it in self.partitions.items()]


@dataclass
class FakeFetcher:
    found: Found = dead_letter

    def fetch(self, wanted: OffsetsByPartition) -> dict[Place, ConsumerRecord]:
        return {
            (topic, partition, offset): self.found(partition, offset)
            for (topic, partition), offsets in wanted.items()
            for offset in offsets
        }


class FakeRouter:
    version = 0

    def route(self, dead_letter: DeadLetter) -> TargetPlace:
        return TargetPlace("orders", dead_letter.partition)

    def refresh(self) -> None: ...


class ParkingRouter(FakeRouter):
    def parked(self, partition: int) -> tuple[str, int]:
        return PARKED, partition


class KeyRouter(FakeRouter):
    """The key of a record decides where it goes."""

    def route(self, dead_letter: DeadLetter) -> TargetPlace:
        del dead_letter
        return TargetPlace("orders", None)


def place(record: ProducerRecord) -> tuple[str, int]:
    """Where Kafka has the record; all keys lead to one partition."""
    return record.topic, KEYS_LEAD_TO if record.partition is None else record.partition


@dataclass
class FakeProducer:
    """Some partitions fail at the commit, by chance."""

    rng: Random
    may_fail: int
    open: list[ProducerRecord] = field(default_factory=list)
    committed: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    records: list[ProducerRecord] = field(default_factory=list)
    fast: int = 0
    max_unanswered: int | None = None

    def write(
        self, record: ProducerRecord, dead_letter: DeadLetterId | None = None, *, alone: bool = False
    ) -> None:
        del dead_letter, alone
        self.open.append(record)

    def produce(  # noqa: PLR0917 -- as the transactions have it
        self,
        topic: str,
        partition: int | None,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes | None]],
        dead_letter: DeadLetterId | None,
    ) -> None:
        self.fast += 1
        self.write(ProducerRecord(topic, partition, timestamp_ms, key, value, tuple(headers)), dead_letter)

    def flush(self) -> Runs:
        return {place(record): [] for record in self.open}

    def commit(self, offsets: list[TopicPartition], group: object) -> None:
        del offsets, group
        written, self.open = self.open, []
        targets = sorted({place(one) for one in written if one.topic != EVENTS})
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
class RefusingProducer(FakeProducer):
    """Batches that are larger than the topic allows are refused as a whole, as Kafka does."""

    most_bytes: int = 0
    batches: dict[int, list[Refusal]] = field(default_factory=lambda: defaultdict(list))
    aborted: int = 0

    def write(
        self, record: ProducerRecord, dead_letter: DeadLetterId | None = None, *, alone: bool = False
    ) -> None:
        if record.topic == EVENTS or dead_letter is None:
            return
        full = self.max_unanswered is not None and sum(map(len, self.batches.values())) >= self.max_unanswered
        if alone or full:
            self.answer()
        size = wire_size(record.key, record.value, record.headers)
        refusal = Refusal(dead_letter, ("orders", record.partition or 0), TOO_LARGE, size, 0, keyed=True)
        self.batches[record.partition or 0].append(refusal)
        self.open.append(record)
        if alone:
            self.answer()

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


def mover(  # noqa: PLR0917 -- what a test may choose
    rng: Random,
    producer: FakeProducer,
    limits: Mapping[str, float | None],
    telemetry: Telemetry = SILENT,
    found: Found = dead_letter,
    reader_of: type[FakeReader] = FakeReader,
    router: FakeRouter | None = None,
    require_topic: Callable[[], None] = lambda: None,
    **request: object,
) -> Mover:
    asked = whole_order(PARTITIONS, COUNT, {"limits": limits, "task_timeout_ms": 10_000_000, **request})
    reader = reader_of(asked, rng, found)
    parts = (reader, record_queue(reader, found), producer, router or FakeRouter(), rng)
    context = task_context(*parts, telemetry=telemetry, require_topic=require_topic)
    return Mover(asked, EventFields("1", "1", 1, DLQ, "default", EVENTS), context, "our client", 0)


def whole_order(
    partitions: int, count: int, request: Mapping[str, object] = {}, order_id: str = "1"
) -> Order:
    """Of so many partitions with so many records each; what fails is tried again at once."""
    asked = {"dlq_topic": DLQ, "retry": {"retry_backoff_ms": 0}, **request}
    begin, cut_off = (dict.fromkeys(range(partitions), offset) for offset in (0, count))
    return order(asked, begin, cut_off, id=order_id)


def record_queue(
    reader: FakeReader,
    found: Found = dead_letter,
    fetcher: object = None,
    selects: Selects = lambda _: True,
    handled: Handled = NOTHING,
) -> RecordQueue:
    """What was read before is fetched anew as ``found`` has it, unless there is another fetcher."""
    again = cast("Fetcher", fetcher or FakeFetcher(found))
    return RecordQueue(DLQ, cast("Reader", reader), again, selects, handled)


def finish(moving: Mover, pause_ms: Callable[[], int] = lambda: 500) -> None:
    """Make one step after the other until the order is finished; after each so much time passes at least."""
    now_ms = NOW_MS
    for _ in range(20_000):
        step = moving.step(now_ms)
        if isinstance(step, Finished):
            return
        now_ms = max(now_ms, step.until_ms if isinstance(step, Idle) else 0) + pause_ms()
    raise AssertionError("it does not end")


def task_context(
    reader: FakeReader,
    queue: RecordQueue,
    producer: FakeProducer,
    router: FakeRouter,
    rng: Random,
    *,
    telemetry: Telemetry = SILENT,
    require_topic: Callable[[], None] = lambda: None,
) -> TaskContext:
    return TaskContext(
        cast("Reader", reader),
        queue,
        cast("TransactionalProducer", producer),
        cast("Router", router),
        TargetDeadlines(10_000_000, Backoff(1_000, 4_000), rng),
        Guard("1", Guards(), lambda _: Returns(0, 0), None),
        require_topic,
        partial(Backoff(RETRY_MS, MAX_RETRY_MS, jitter=0).delay_ms, rng=rng),
        telemetry,
    )
