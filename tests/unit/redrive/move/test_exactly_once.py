"""Whatever orders follow one another, a record is moved or parked once, unless an order asks for it again.

The mover is the real one, its workers are killed and its transactions aborted by chance; what a transaction
tells is merged into a real store, from which the next claim learns what to leave out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from confluent_kafka import TopicPartition
from hypothesis import given, settings
from hypothesis import strategies as st

from deadwatch.contract.events import Event, Position, RedriveOutcome
from deadwatch.deadletter.filter import Filter
from deadwatch.orders.handled import NOTHING, Handled
from deadwatch.orders.order import Order
from deadwatch.orders.selection import selector
from deadwatch.orders.targets import TargetRules
from deadwatch.store.batch import Batch
from deadwatch.store.engine import connect
from deadwatch.store.store import Store
from deadwatch.store.write.handled import HandledBook
from redrive.librdkafka import ConsumerRecord, decoded
from redrive.move.batch import EventFields
from redrive.move.failures import AbortedError
from redrive.move.mover import Finished, Idle, Moved, Mover
from redrive.plan.plan import Plan, PlanBuilder
from streaming.kernel import NO_POSITION
from tests.kafka_records import event_of
from tests.unit.redrive.move.fakes import (
    DLQ,
    EVENTS,
    NOW_MS,
    PARKED,
    REFUSED,
    FakeProducer,
    FakeReader,
    ParkingRouter,
    message,
    record_queue,
    task_context,
    whole_order,
)

COUNT, PARTITIONS = 12, 2
PLACES = [(partition, offset) for partition in range(PARTITIONS) for offset in range(COUNT)]
CAUSES = ("a.Timeout", "a.Broken", "a.Unknown")


def dead_letter(partition: int, offset: int) -> ConsumerRecord:
    error = CAUSES[(partition + offset) % 3]
    value = b"%d" % (partition * COUNT + offset)
    return message(partition, offset, value, timestamp_ms=offset, exception_class_name=error)


GROUPS = [decoded(dead_letter(0, offset)).fingerprint for offset in range(3)]


@dataclass
class Kafka(FakeProducer):
    """What was committed: records by topic, offsets of the order, events."""

    offsets: dict[int, tuple[int, str]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    told_to: Position = NO_POSITION
    written: Counter[tuple[str, int]] = field(default_factory=Counter)

    def commit(self, offsets: list[TopicPartition], group: object) -> None:
        del group
        done, self.open = self.open, []
        if self.may_fail and self.rng.random() < 0.3:
            self.may_fail -= 1
            raise AbortedError(REFUSED, {("orders", 0): REFUSED})
        for one in offsets:
            self.offsets[one.partition] = one.offset, one.metadata or ""
        for record in done:
            event = event_of(record.value) if record.topic == EVENTS else None
            if event is not None:
                assert event.position > self.told_to, "streaming would take it for a copy"
                self.told_to = event.position
                self.events.append(event)
            else:
                self.written[record.topic, int(record.value or b"")] += 1


@dataclass
class History:
    """A topic with an id of its own, and the store that learns what was done with it."""

    store: Store
    book: HandledBook
    topic_id: str
    rng: Random
    batches: int = 0
    orders: int = 0
    skipped: Counter[str] = field(default_factory=Counter)

    def order(self, request: dict[str, Any]) -> Order:
        self.orders += 1
        return whole_order(PARTITIONS, COUNT, request, str(self.orders))

    def plan(self, order: Order) -> Plan:
        rules = TargetRules({DLQ: PARTITIONS, "orders": PARTITIONS}, own=frozenset())
        builder = PlanBuilder(order, rules, matcher(order), handled=self._before(order))
        for place in PLACES:
            builder.add(decoded(dead_letter(*place)))
        return builder.plan(cut=False)

    def _before(self, order: Order) -> Handled:
        again = order.request.again
        return NOTHING if again else self.book.handled(DLQ, self.topic_id, order.cut_off)

    def carry_out(self, order: Order) -> Kafka:
        kafka = Kafka(self.rng, may_fail=3)
        for number in range(100):
            if self._task(order, kafka, kills=number < 3):
                return kafka
        raise AssertionError("it does not end")

    def _task(self, order: Order, kafka: Kafka, *, kills: bool) -> bool:
        """Until it is done, or killed: all are of one claim, as those are that Spark runs again."""
        handled = self._before(order)
        reader = FakeReader(order, self.rng, dead_letter, kafka.offsets)
        assert reader.closed >= kafka.told_to.offset, "the worker would think that Kafka has forgotten it"
        queue = record_queue(reader, dead_letter, selects=selector(order, matcher(order)), handled=handled)
        queue.resume()
        context = task_context(reader, queue, kafka, ParkingRouter(), self.rng)
        fields = EventFields(order.id, order.id, 1, DLQ, "c", EVENTS, self.topic_id)
        moving, now_ms = Mover(order, fields, context, "us", 0), NOW_MS
        for _ in range(5_000):
            may_fail, step = kafka.may_fail, moving.step(now_ms)
            if isinstance(step, Moved):
                assert step.committed is (kafka.may_fail == may_fail)
            if isinstance(step, Finished):
                self._read(kafka)
                return True
            if isinstance(step, Idle):
                now_ms = max(now_ms, step.until_ms)
            now_ms += 10
            if kills and self.rng.random() < 0.2:
                self._read(kafka)
                kafka.open = []
                return False
        raise AssertionError("it does not end")

    def _read(self, kafka: Kafka) -> None:
        """Streaming merges the events that were committed."""
        events, kafka.events = kafka.events, []
        self.batches += 1
        fixed: dict[str, Any] = {"committed_at_ms": 1, "offsets": {}, "marks": {}}
        batch = Batch(query_id=self.topic_id, batch_id=self.batches, events=tuple(events), **fixed)
        self.store.apply(batch)
        for one in events:
            if isinstance(one, RedriveOutcome) and one.outcome == "skipped":
                self.skipped[one.outcome_reason] += one.records


def matcher(order: Order) -> Filter | None:
    expression = order.request.selection.filter
    return None if expression is None else Filter(expression)


def at(offset: int) -> str:
    return f"1970-01-01T00:00:00.{offset:03}Z"


offsets = st.integers(0, COUNT - 1)
selections = st.one_of(
    st.just({"all": True}),
    st.sampled_from(GROUPS).map(lambda group: {"group": group}),
    st.sampled_from(CAUSES).map(lambda cause: {"filter": f'error_class == "{cause}" || partition == 0'}),
    st.tuples(st.integers(0, PARTITIONS - 1), offsets, st.integers(1, COUNT)).map(
        lambda it: {"offsets": {it[0]: [it[1], it[1] + it[2]]}}
    ),
    offsets.map(lambda offset: {"from": at(offset)}),
    offsets.map(lambda offset: {"to": at(offset + 1)}),
    st.sets(st.sampled_from(PLACES), min_size=1, max_size=9).map(
        lambda places: {"records": [{"partition": one, "offset": other} for one, other in places]}
    ),
)
requests = st.fixed_dictionaries(
    {
        "selection": selections,
        "again": st.sampled_from([False, False, False, True]),
        "limits": st.fixed_dictionaries(
            {
                "records_per_second": st.sampled_from([None, 1_000]),
                "max_in_flight": st.sampled_from([1, 4, 100]),
                "max_records": st.sampled_from([None, None, 3]),
            }
        ),
        "retry": st.sampled_from([{"retry_backoff_ms": 0}, {"park_error_classes": [CAUSES[1]]}]),
    }
)


@contextmanager
def kept() -> Iterator[tuple[Store, HandledBook]]:
    with TemporaryDirectory() as directory:
        url = f"sqlite:///{Path(directory) / 'store.db'}"
        with Store(url) as store:
            engine = connect(url)
            yield store, HandledBook(engine)
            engine.dispose()


def test_the_union_of_any_orders_moves_each_record_once() -> None:
    with kept() as (store, book):
        topics = iter(range(1_000_000))

        @given(asked=st.lists(requests, min_size=2, max_size=5), seed=st.integers(0, 1 << 32))
        @settings(max_examples=25, deadline=None)
        def each_once(asked: list[dict[str, Any]], seed: int) -> None:
            history = History(store, book, f"topic {next(topics)}", Random(seed))
            done: Counter[int] = Counter()
            for request in asked:
                order = history.order(request)
                history.skipped = Counter()
                plan, before = history.plan(order), set(done)
                kafka = history.carry_out(order)
                moved, parked = by_topic(kafka)
                assert moved.total() == plan.to_move
                if order.request.limits.max_records is None:
                    assert parked.total() == plan.to_park
                    assert history.skipped == Counter(plan.skip_reasons)
                assert set((moved + parked).values()) <= {1}  # the order itself, killed and aborted
                if not order.request.again:
                    assert not before & (moved + parked).keys()
                    done += moved + parked
                else:
                    done |= moved + parked
            last = history.plan(history.order({"selection": {"all": True}}))
            assert (last.left_out, last.to_move) == (len(done), len(PLACES) - len(done))
            assert set(done.values()) <= {1}

        each_once()


def by_topic(kafka: Kafka) -> tuple[Counter[int], Counter[int]]:
    """What went to its target, and what was parked."""
    found: dict[str, Counter[int]] = defaultdict(Counter)
    for (topic, number), count in kafka.written.items():
        found[topic][number] += count
    return found["orders"], found[PARKED]
