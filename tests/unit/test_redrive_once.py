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
from typing import TYPE_CHECKING, Any, cast

from confluent_kafka import Message, TopicPartition
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.contract.backoff import Backoff
from collector.contract.events import Event, RedriveOutcome
from streaming.filter import Filter
from streaming.letter import letter_of
from streaming.redrive.fetch import Fetcher, Place, Wanted
from streaming.redrive.guards import Guard, Returns
from streaming.redrive.handled import NOTHING
from streaming.redrive.intake import Intake
from streaming.redrive.ledger import Ledger
from streaming.redrive.mover import Mover, Parts
from streaming.redrive.order import Guards, Order, OrderRequest
from streaming.redrive.patience import Patiences
from streaming.redrive.plan import Plan, Tally
from streaming.redrive.reading import Lane, Reader
from streaming.redrive.received import Received
from streaming.redrive.report import Frame
from streaming.redrive.selection import intervals, selector
from streaming.redrive.steps import Finished, Idle
from streaming.redrive.targets import TargetRules
from streaming.redrive.transaction import AbortedError, Transactions
from streaming.store.batch import Batch
from streaming.store.engine import connect
from streaming.store.handled import HandledBook
from streaming.store.store import Store
from streaming.whole_events import whole_event
from tests.unit.test_redrive_order_kept import DLQ, EVENTS, NOW_MS, REFUSED, FakeRoutes, FakeTransactions

if TYPE_CHECKING:
    from streaming.redrive.routes import Routes

COUNT, PARTITIONS = 12, 2
PLACES = [(partition, offset) for partition in range(PARTITIONS) for offset in range(COUNT)]
CAUSES = ("a.Timeout", "a.Broken", "a.Unknown")


def dead_letter(partition: int, offset: int) -> Received:
    said = {
        "topic": "orders",
        "partition": partition,
        "offset": offset,
        "exception.class.name": CAUSES[(partition + offset) % 3],
    }
    headers: list[tuple[str, str | bytes | None]] = [
        (f"__connect.errors.{name}", str(value).encode()) for name, value in said.items()
    ]
    value = b"%d" % (partition * COUNT + offset)
    message = Message(
        topic=DLQ, partition=partition, offset=offset, value=value, headers=headers, timestamp=(1, offset)
    )
    return cast("Received", message)


def letter(partition: int, offset: int) -> Any:  # noqa: ANN401 -- a Letter
    found = dead_letter(partition, offset)
    return letter_of(DLQ, partition, offset, offset, None, found.value(), found.headers() or [])


GROUPS = [letter(0, offset).fingerprint for offset in range(3)]


class TopicReader:
    """The dead letter topic of one order, from where its last claim has come to."""

    group = "group"

    def __init__(self, order: Order, committed: dict[int, tuple[int, str]]) -> None:
        self._plan = intervals(order)
        self.expired: dict[int, int] = {}
        self.lanes = {
            partition: Lane(
                Ledger.resumed(*committed[partition]) if partition in committed else Ledger(found[0][0]),
                found[-1][1],
            )
            for partition, found in self._plan.items()
        }

    def poll(self, most: int) -> list[Received]:
        for partition, lane in self.lanes.items():
            if lane.read:
                continue
            wanted = [
                offset
                for first, end in self._plan[partition]
                for offset in range(max(first, lane.ledger.position), end)
            ][:most]
            for offset in wanted:
                lane.ledger.read(offset)
            return [dead_letter(partition, offset) for offset in wanted]
        return []

    def offsets(self, partitions: set[int]) -> list[TopicPartition]:
        return [TopicPartition(DLQ, one, *self.lanes[one].ledger.commit()) for one in partitions]


class TopicFetcher:
    def fetch(self, wanted: Wanted) -> dict[Place, Received]:
        return {
            (topic, partition, offset): dead_letter(partition, offset)
            for (topic, partition), offsets in wanted.items()
            for offset in offsets
        }


@dataclass
class Kafka(FakeTransactions):
    """What was committed: records by topic, offsets of the order, events."""

    offsets: dict[int, tuple[int, str]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
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
            event = whole_event(record.value) if record.topic == EVENTS else None
            if event is not None:
                self.events.append(event)
            else:
                self.written[record.topic, int(record.value or b"")] += 1


class ParkingRoutes(FakeRoutes):
    def parked(self, partition: int) -> tuple[str, int | None]:
        return f"{DLQ}.parked", partition


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
        said = {"dlq_topic": DLQ, "reason": "test", "dry_run": False, **request}
        return Order(
            id=str(self.orders),
            request=OrderRequest.model_validate(said),
            requested_by="test",
            created_at_ms=0,
            begin=dict.fromkeys(range(PARTITIONS), 0),
            cut_off=dict.fromkeys(range(PARTITIONS), COUNT),
        )

    def plan(self, order: Order) -> Plan:
        handled = NOTHING if order.request.again else self.book.before(order, self.topic_id)
        rules = TargetRules({DLQ: PARTITIONS, "orders": PARTITIONS})
        tally = Tally(order, rules, matcher(order), handled=handled)
        for place in PLACES:
            tally.add(letter(*place))
        return tally.plan(cut=False)

    def carry_out(self, order: Order) -> Kafka:
        kafka = Kafka(self.rng, may_fail=3)
        for epoch in range(1, 100):
            if self._claim(order, kafka, epoch):
                return kafka
        raise AssertionError("it does not end")

    def _claim(self, order: Order, kafka: Kafka, epoch: int) -> bool:
        """Until it is done, or the worker is killed."""
        handled = NOTHING if order.request.again else self.book.before(order, self.topic_id)
        reader = cast("Reader", TopicReader(order, kafka.offsets))
        intake = Intake(
            DLQ, reader, cast("Fetcher", TopicFetcher()), selector(order, matcher(order)), handled
        )
        intake.resume()
        parts = Parts(
            reader,
            intake,
            cast("Transactions", kafka),
            cast("Routes", ParkingRoutes()),
            Patiences(10_000_000, Backoff(1_000, 4_000), self.rng),
            Guard("1", Guards(), lambda _: Returns(0, 0), None),
        )
        frame = Frame(order.id, order.id, epoch, DLQ, "c", EVENTS, self.topic_id)
        moving, now_ms, kills = Mover(order, frame, parts, "us", 0), NOW_MS, epoch < 4
        for _ in range(5_000):
            step = moving.step(now_ms)
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
        """Streaming merges what was told."""
        told, kafka.events = kafka.events, []
        self.batches += 1
        batch = Batch(
            query_id=self.topic_id,
            batch_id=self.batches,
            committed_at_ms=1,
            offsets={},
            marks={},
            events=tuple(told),
        )
        self.store.apply(batch)
        for one in told:
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
        @settings(max_examples=40, deadline=None)
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
    return found["orders"], found[f"{DLQ}.parked"]
