"""A look at the policies without Kafka: why one makes no order is stored, and the next look comes later."""

import threading
from collections.abc import Callable
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import cast

import pytest
from sqlalchemy import Engine

from deadwatch.orders.errors import KafkaUnavailableError, RefusedOrderError
from deadwatch.orders.order import Order, Status
from deadwatch.orders.policy import Due, Policy, PolicyRequest
from deadwatch.orders.selection import Extents
from deadwatch.orders.targets import TargetRules
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.store import schema
from deadwatch.store.storable import MAX_LABEL_CHARS
from deadwatch.store.write import policies
from deadwatch.store.write.handled import HandledBook
from deadwatch.store.write.order_claims import OrderClaims
from deadwatch.store.write.policies import PolicyBook
from redrive.plan import policy_round
from redrive.plan.creation import Bounds, CreateOrder, OrderService
from redrive.plan.history import History
from redrive.plan.plan import Plan
from redrive.plan.policy_round import BACKOFF, PolicyRounds
from tests.unit.redrive.orders import claimed, order

INTERVAL_MS = 5_000


class Look:
    """Looks of one worker at a store with one policy, at times of our choice."""

    def __init__(self, engine: Engine, rules: Callable[[], TargetRules], topics: str = "dlq.t") -> None:
        self.engine, self.now_ms, self.stop = engine, 1_000_000, threading.Event()
        self.book = PolicyBook(engine)
        self.request = PolicyRequest.model_validate({"dlq_topics": [topics], "reason": "flaky"})
        self.book.create(Policy("a", 1, self.request, "me", self.now_ms, self.now_ms))
        now_ms = self.now
        history = History(HandledBook(engine), "deadwatch.events", now_ms, lambda _: None)
        orders = OrderService(KafkaConnection(), Bounds(1, 1), 1, now_ms, now_ms, lambda: "1", history)
        self._rounds = PolicyRounds(self.book, orders, rules, INTERVAL_MS, 9, Random(1))

    def look(self) -> Policy:
        """The policy after one more look, as soon as there may be one."""
        self.now_ms = max(self.kept().next_at_ms, self.now_ms)
        self._rounds.look(self.stop)
        return self.kept()

    def now(self) -> int:
        return self.now_ms

    def kept(self) -> Policy:
        with self.engine.begin() as connection:
            return policies.find(connection, "a")


def refused() -> TargetRules:
    raise RefusedOrderError("target t is refused: the topic does not exist")


@pytest.mark.parametrize("look_ms", [0, BACKOFF.max_ms])
def test_what_keeps_it_is_said_and_looked_at_later_each_time(engine: Engine, look_ms: int) -> None:
    """However long a look takes, as where streaming is waited for in vain."""

    def slowly_refused() -> TargetRules:
        look.now_ms += look_ms
        return refused()

    look = Look(engine, slowly_refused)
    waits = [look.look().next_at_ms - look.now_ms for _ in range(8)]
    after = look.kept()
    assert after.status_reason == "target t is refused: the topic does not exist"
    assert after.failures == 8
    assert waits[0] < 2 * BACKOFF.initial_ms < waits[3]
    assert max(waits) <= BACKOFF.max_ms


def test_while_one_of_its_orders_is_active_nothing_is_asked(engine: Engine) -> None:
    look = Look(engine, refused)
    begin(look)
    after = look.look()
    assert (after.status_reason, after.next_at_ms) == ("", look.now_ms + INTERVAL_MS)


@pytest.mark.parametrize("ahead_ms", [-60_000, 0, 60_000])
def test_after_an_order_that_failed_it_rests_until_it_is_changed(engine: Engine, ahead_ms: int) -> None:
    """Also where the worker's clock, which its order is made by, differs from that of who changes it."""
    look = Look(engine, refused)
    begin(look, ahead_ms)
    claims = OrderClaims(engine)
    claims.settle(claimed(claims, look.now_ms), Status.FAILED, "deadlines", look.now_ms)
    for _ in range(2):
        assert "its order 1 has failed" in look.look().status_reason
    look.now_ms += 1
    look.book.change(Policy("a", 1, look.request, "me", look.now_ms, look.now_ms), None)
    assert "does not exist" in look.look().status_reason


def test_a_store_that_is_away_is_a_line(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    look = Look(engine, refused)
    with engine.begin() as connection:
        schema.metadata.drop_all(connection)
    rounds = iter([False, True])
    look._rounds.run(cast("threading.Event", SimpleNamespace(wait=lambda _: next(rounds))))
    (record,) = caplog.records
    assert record.getMessage().startswith("no redrive policy is looked at: the store does not work: no such")
    assert record.exc_info is None


class Stopping:
    """A Kafka that has dead letters; the worker is stopped while it answers this question."""

    def __init__(self, question: str, topic_id: str = "1") -> None:
        self.topic_id = topic_id
        """Of the topic that the order is of."""
        self._question, self.asked, self.stop = question, list[str](), threading.Event()

    def partitions(self) -> dict[str, int]:
        return {"dlq.t": 1}

    def topic_ids(self, topics: list[str]) -> dict[str, str]:
        return dict.fromkeys(topics, "1")

    def extents_of(self, partitions: dict[str, int]) -> dict[str, Extents | KafkaUnavailableError]:
        assert partitions == self.partitions()
        self._answer("extents")
        return dict.fromkeys(partitions, Extents({0: 0}, {0: 9}))

    def read(self, create: CreateOrder, rules: TargetRules) -> tuple[Order, Plan]:
        del rules
        self._answer("read")
        made = order({}, {0: 0}, {0: 9}, policy="a", created_at_ms=1_000_000)
        kept = {"request": create.request, "dlq_topic_id": self.topic_id}
        return made.model_copy(update=kept), Plan(to_move=9)

    def _answer(self, question: str) -> None:
        self.asked.append(question)
        if question == self._question:
            self.stop.set()


LookedAt = Callable[..., Look]


@pytest.fixture
def looked_at(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> LookedAt:
    """A policy that was looked at once."""

    def look_at(kafka: Stopping, topics: str = "dlq.t") -> Look:
        look = Look(engine, lambda: TargetRules({}, frozenset(), (), ("dlq.*",), (), frozenset()), topics)
        look.stop = kafka.stop
        monkeypatch.setattr(policy_round, "Cluster", lambda _: kafka)
        monkeypatch.setattr(OrderService, "read", lambda _, create, rules: kafka.read(create, rules))
        look.look()
        return look

    return look_at


@pytest.mark.parametrize(
    ("question", "asked", "made"),
    [("extents", ["extents"], False), ("read", ["extents", "read"], False), ("", ["extents", "read"], True)],
    ids=["while offsets are told", "while records are read", "later"],
)
def test_who_is_stopped_while_kafka_answers_makes_no_order(
    looked_at: LookedAt, question: str, asked: list[str], *, made: bool
) -> None:
    kafka = Stopping(question)
    look = looked_at(kafka)
    assert kafka.asked == asked
    assert (look.book.latest("a") is not None) is made
    assert bool(look.kept().positions) is made


def test_no_order_is_made_of_the_offsets_of_an_earlier_topic(looked_at: LookedAt) -> None:
    look = looked_at(Stopping("", "2"))
    assert look.book.latest("a") is None
    assert not look.kept().positions


class TwoTopics(Stopping):
    """A Kafka with two topics; of one of them no order can be made."""

    def partitions(self) -> dict[str, int]:
        return {"dlq.a": 1, "dlq.t": 1}

    def read(self, create: CreateOrder, rules: TargetRules) -> tuple[Order, Plan]:
        if create.request.dlq_topic == "dlq.a":
            self._answer("read")
            raise RefusedOrderError("another order is active")
        return super().read(create, rules)


def test_a_topic_of_which_no_order_can_be_made_takes_no_turn_of_the_others(looked_at: LookedAt) -> None:
    look = looked_at(TwoTopics(""), "dlq.*")
    assert look.kept().status_reason == "another order is active"
    assert look.book.latest("a") is None
    earlier = replace(look.kept(), version=0)
    look.book.end_turn(earlier, "dlq.t")  # it was changed since
    assert look.look().positions.keys() == {"dlq.t"}
    assert look.book.latest("a") is not None


class Offline(TwoTopics):
    """A Kafka with a topic that has an offline partition, or with nothing but such topics."""

    def __init__(self, *topics: str, question: str = "") -> None:
        super().__init__(question)
        self.offline = topics

    def extents_of(self, partitions: dict[str, int]) -> dict[str, Extents | KafkaUnavailableError]:
        silent = "topic {} does not tell its offsets".format
        return super().extents_of(partitions) | {
            topic: KafkaUnavailableError(silent(topic)) for topic in self.offline
        }


@pytest.mark.parametrize("kafka", [TwoTopics("read"), Offline("dlq.a", question="read")])
def test_who_is_stopped_while_one_is_refused_or_tells_nothing_ends_no_turn_and_stores_no_reason(
    looked_at: LookedAt, kafka: Stopping
) -> None:
    after = looked_at(kafka, "dlq.*").kept()
    assert (after.last_topic, after.status_reason) == ("", "")


def test_a_topic_with_an_offline_partition_keeps_no_other_topic_of_a_policy(looked_at: LookedAt) -> None:
    look = looked_at(Offline("dlq.a"), "dlq.*")
    after = look.kept()
    assert (look.book.latest("a") is not None, [*after.positions]) == (True, ["dlq.t"])
    assert (after.status_reason, after.failures) == ("topic dlq.a does not tell its offsets", 0)
    assert after.next_at_ms == look.now_ms + INTERVAL_MS


def test_a_topic_that_tells_nothing_is_named_while_nothing_is_due_and_no_longer(
    looked_at: LookedAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_round, "due", lambda *_: None)
    kafka = Offline("dlq.a")
    look = looked_at(kafka, "dlq.*")
    reason, kafka.offline = look.kept().status_reason, ()
    assert (reason, look.look().status_reason) == ("topic dlq.a does not tell its offsets", "")


def test_all_topics_that_tell_nothing_are_named_as_far_as_there_is_room(looked_at: LookedAt) -> None:
    look = looked_at(Offline("dlq.a", *(f"dlq.{number}" for number in range(99))), "dlq.*")
    after = look.kept()
    assert after.status_reason.startswith("topic dlq.a does not tell its offsets; topic dlq.0 does not tell")
    assert len(after.status_reason) == MAX_LABEL_CHARS
    assert after.positions.keys() == {"dlq.t"}


def test_where_no_topic_tells_its_offsets_the_next_look_comes_later(looked_at: LookedAt) -> None:
    look = looked_at(Offline("dlq.a", "dlq.t"), "dlq.*")
    after = look.kept()
    assert (after.status_reason, after.failures) == ("topic dlq.a does not tell its offsets", 1)
    assert after.next_at_ms >= look.now_ms + BACKOFF.initial_ms * 0.8


def begin(look: Look, ahead_ms: int = 0) -> None:
    """Its first order."""
    made = order({}, {0: 0}, {0: 9}, policy="a", created_at_ms=look.now_ms + ahead_ms)
    made = made.model_copy(update={"request": look.request.order("dlq.t")})
    assert look.book.carry_out(look.kept(), Due("dlq.t", Extents({0: 0}, {0: 9})), made, "{}")
