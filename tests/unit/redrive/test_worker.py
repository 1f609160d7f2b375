"""What a worker does with an order whose attempts fail, without a Kafka."""

import threading
from collections.abc import Callable
from typing import NoReturn, Self, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from sqlalchemy import Engine

from deadwatch.deadletter.filter.errors import FilterError
from deadwatch.orders.order import Order, Status
from deadwatch.runtime.clock import ClockWatch
from deadwatch.store import schema
from deadwatch.store.engine import reading
from deadwatch.store.write import orders
from deadwatch.store.write.order_claims import OrderClaims
from deadwatch.store.write.orders import OrderBook
from redrive.move.failures import FencedError, GivenUpError, MadeAnewError, TruncatedError, UnansweredError
from redrive.move.mover import Idle, Moved, Step
from redrive.move.task import OrderTask, WorkerContext
from redrive.settings import RedriveSettings
from redrive.worker import LeaseKeeper, Worker
from tests.unit.redrive.orders import LEASE_MS, claimed, order
from tests.waiting import until

NOW_MS = 10_000
REFUSED_BY_THE_CLIENT = RedriveSettings(linger_ms=1_000_000)
"""Its client takes 15 minutes at most, so every attempt fails at once."""
LIMIT_MS = 4 * LEASE_MS
IN_A_ROW = range(NOW_MS, NOW_MS + LIMIT_MS + LEASE_MS + 1, LEASE_MS)
"""When an order fails that is claimed again as soon as its lease has run out, until its time is up."""


class Place:
    """A worker whose attempts all fail, and its store: an order waits behind another."""

    def __init__(self, engine: Engine, **request: int) -> None:
        self.book, self.claims, self.stop = OrderBook(engine), OrderClaims(engine), threading.Event()
        for name, created_at_ms in (("a", 1), ("b", 2)):
            asked = {"dlq_topic": f"dlq.{name}", "delivery_timeout_ms": 1_100_000, **request}
            self.book.create(order(asked, {0: 0}, {0: 9}, id=name, created_at_ms=created_at_ms), "{}")
        self.now_ms = NOW_MS
        context = WorkerContext(
            REFUSED_BY_THE_CLIENT,
            clock=lambda: self.now_ms,
            beat=lambda: self.beat(),  # noqa: PLW0108 -- a test may put another in its place
        )
        self.worker, self.other = (Worker(self.claims, context, self.stop) for _ in range(2))

    def beat(self) -> None:
        """No attempt comes so far."""
        raise AssertionError

    def attempt(self, now_ms: int = NOW_MS, *, other: bool = False) -> bool:
        self.now_ms = now_ms
        claim = claimed(self.claims, now_ms)
        assert claim.order.id == "a"
        return (self.other if other else self.worker).work(claim)

    def fails_at(self, now_ms: int, *, other: bool = False) -> Status:
        self.attempt(now_ms, other=other)
        return self.book.get("a").status

    def next(self, now_ms: int) -> str | None:
        claim = self.claims.claim("w", now_ms, LEASE_MS)
        return None if claim is None else claim.order.id


def away(code: int = KafkaError._TRANSPORT) -> Callable[..., NoReturn]:
    def raises(*_: object) -> NoReturn:
        raise KafkaException(KafkaError(code))

    return raises


@pytest.fixture
def alone(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Place:
    """No other order is there to be claimed; both clocks are the place's."""
    place = Place(engine, task_timeout_ms=LIMIT_MS)
    place.book.pause("b", "later")
    monkeypatch.setattr("redrive.worker.monotonic_ms", lambda: place.now_ms)
    return place


def test_an_order_that_fails_lets_others_have_their_turn(engine: Engine) -> None:
    place = Place(engine)
    assert not place.attempt()
    assert place.book.get("a").status is Status.RUNNING
    assert [place.next(now_ms) for now_ms in (NOW_MS, NOW_MS, NOW_MS + LEASE_MS)] == ["b", None, "a"]


def test_a_worker_that_stops_releases_an_order_that_fails(engine: Engine) -> None:
    place = Place(engine)
    place.stop.set()
    assert not place.attempt()
    assert (place.book.get("a").worker, place.next(NOW_MS)) == ("", "a")


@pytest.mark.parametrize(
    ("limit_ms", "status", "reason"),
    [(300_000, Status.RUNNING, ""), (0, Status.PAUSED, "every attempt failed for task_timeout_ms (0 ms)")],
)
def test_an_order_that_fails_for_too_long_is_paused_with_what_kafka_says(
    engine: Engine, limit_ms: int, status: Status, reason: str
) -> None:
    place = Place(engine, task_timeout_ms=limit_ms)
    assert place.attempt() is (status is Status.PAUSED)
    left = place.book.get("a")
    assert left.status is status
    assert left.status_reason.startswith(reason)
    assert ("queue.buffering.max.ms" in left.status_reason) is bool(reason)


@pytest.mark.parametrize(
    "error",
    [
        FilterError("a filter that is refused today", hint="go through headers"),
        MadeAnewError("dlq.a"),
        TruncatedError("dlq.a", 0, 5, 9),
    ],
)
def test_an_order_that_cannot_be_carried_out_any_more_fails_with_the_reason(
    alone: Place, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refused(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr("redrive.worker.OrderTask", refused)
    assert alone.attempt()
    left = alone.book.get("a")
    assert (left.status, left.status_reason) == (Status.FAILED, str(error))


def test_an_order_that_fails_in_a_row_has_its_time(alone: Place) -> None:
    *before, last = [alone.fails_at(now_ms) for now_ms in IN_A_ROW]
    assert (set(before), last) == ({Status.RUNNING}, Status.PAUSED)


class Work:
    """Of a claim that makes these steps, and then fails."""

    waiting = 0

    def __init__(self, *steps: Step) -> None:
        self._steps = iter(steps)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def step(self) -> Step:
        for step in self._steps:
            return step
        raise KafkaException(KafkaError(KafkaError.INVALID_REPLICATION_FACTOR))


WAITS_FOR_ITS_RATE, SELECTS_NOTHING, IS_ABORTED = Idle(0), Moved(), Moved(committed=False)


@pytest.mark.parametrize(
    ("step", "status"), [(WAITS_FOR_ITS_RATE, Status.PAUSED), (SELECTS_NOTHING, Status.RUNNING)]
)
def test_to_wait_is_no_progress_of_an_order_that_fails_in_a_row_and_a_transaction_is(
    alone: Place, monkeypatch: pytest.MonkeyPatch, step: Step, status: Status
) -> None:
    monkeypatch.setattr("redrive.worker.OrderTask", lambda *_: Work(step))
    monkeypatch.setattr(Place, "beat", lambda _: None)
    *before, last = [alone.fails_at(now_ms) for now_ms in IN_A_ROW]
    assert (set(before), last) == ({Status.RUNNING}, status)


def test_a_transaction_is_told_in_which_nothing_was_selected(
    alone: Place, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else an order that reads on counts as stuck; one whose transactions are aborted does."""
    monkeypatch.setattr(Place, "beat", lambda _: None)
    steps: tuple[Step, ...] = SELECTS_NOTHING, WAITS_FOR_ITS_RATE, IS_ABORTED
    for number, step in enumerate(steps):
        alone.now_ms = now_ms = NOW_MS + number * LEASE_MS
        claim = claimed(alone.claims, now_ms)
        lease = LeaseKeeper(alone.claims, claim, lambda: alone.now_ms, (LEASE_MS, 60_000))
        task = cast("OrderTask", Work(step))
        with pytest.raises(KafkaException):
            alone.worker._steps(claim.order, task, lease, ClockWatch(lambda: alone.now_ms))
        with lease, reading(engine) as connection:
            (running,) = orders.running(connection)
        assert running.proceeded_at_ms == NOW_MS


def test_an_order_that_fails_with_every_worker_in_turn_has_its_time(alone: Place) -> None:
    turns = enumerate([*IN_A_ROW, IN_A_ROW[-1] + LEASE_MS])
    *before, last = [alone.fails_at(now_ms, other=turn % 2 == 1) for turn, now_ms in turns]
    assert (set(before), last) == ({Status.RUNNING}, Status.PAUSED)


@pytest.mark.parametrize("others", [False, True], ids=["resumed later", "worked on by another worker"])
def test_failures_that_do_not_follow_one_another_pause_no_order(alone: Place, others: bool) -> None:
    alone.fails_at(NOW_MS)
    if others:
        alone.claims.release(claimed(alone.claims, NOW_MS + LEASE_MS, "v"))
    later_ms = NOW_MS + 10 * LIMIT_MS
    *before, last = [alone.fails_at(later_ms + now_ms) for now_ms in IN_A_ROW]
    assert (set(before), last) == ({Status.RUNNING}, Status.PAUSED)


def test_failures_with_an_outage_in_between_pause_no_order(
    alone: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for now_ms in IN_A_ROW[:-2]:
        alone.fails_at(now_ms)
    with monkeypatch.context() as patched:
        patched.setattr("redrive.worker.OrderTask", away())
        alone.fails_at(IN_A_ROW[-2])
    assert alone.fails_at(IN_A_ROW[-1]) is Status.RUNNING


WHY = "; or cancel, and order the offsets around it"
CODES = {
    KafkaError._ALL_BROKERS_DOWN: "",
    KafkaError.LEADER_NOT_AVAILABLE: "",
    KafkaError._BAD_COMPRESSION: WHY,
}


@pytest.mark.parametrize(("code", "reason"), CODES.items())
def test_an_order_waits_as_long_as_kafka_is_away_and_is_paused_before_what_cannot_be_read(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, code: int, reason: str
) -> None:
    monkeypatch.setattr("redrive.worker.OrderTask", away(code))
    place = Place(engine, task_timeout_ms=0)
    assert place.attempt() is bool(reason)
    left = place.book.get("a")
    assert left.status is (Status.PAUSED if reason else Status.RUNNING)
    assert left.status_reason.endswith(reason)


def test_a_store_that_is_away_is_a_line_and_loses_the_claim_with_its_lease(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    place = Place(engine)
    claim = claimed(place.claims, NOW_MS)
    with engine.begin() as connection:
        schema.metadata.drop_all(connection)
    lost = []
    for place.now_ms in (NOW_MS + LEASE_MS - 1, NOW_MS + LEASE_MS):
        with LeaseKeeper(place.claims, claim, lambda: place.now_ms, (LEASE_MS, 60_000)) as lease:
            lost.append((lease.lost, lease.stopped.is_set()))
    assert lost == [(False, False), (True, True)]
    told = "order a: its claim is not renewed: the store does not work"
    assert {record.getMessage()[: len(told)] for record in caplog.records} == {told}
    assert not any(record.exc_info for record in caplog.records)


@pytest.fixture
def fenced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The orders whose workers are fenced from now on."""
    found = list[str]()
    monkeypatch.setattr("redrive.worker.fence", lambda _settings, asked, _stopped: found.append(asked.id))
    return found


def test_an_order_that_somebody_may_still_work_on_is_cancelled_once_they_are_fenced(
    alone: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert alone.next(0) == "a"
    alone.book.cancel("a", "mistake", 1)
    answers: list[Exception] = [FencedError("a later one"), UnansweredError(), GivenUpError()]
    beats = list[int]()

    def fence(_settings: object, asked: Order, stopped: Callable[[], bool]) -> None:
        assert (asked.id, stopped()) == ("a", False)
        raise answers.pop()

    monkeypatch.setattr("redrive.worker.fence", fence)
    monkeypatch.setattr(alone, "beat", lambda: beats.append(alone.now_ms))
    for well, status in [(False, Status.CANCELLING)] * 2 + [(True, Status.CANCELLED)]:
        assert alone.attempt(alone.now_ms + LEASE_MS) is well
        assert alone.book.get("a").status is status
    assert beats == [NOW_MS + claims * LEASE_MS for claims in (1, 2, 3)]


@pytest.mark.parametrize("had", [True, False], ids=["another worker had it", "nobody had it"])
def test_so_they_are_where_it_is_cancelled_while_an_attempt_waits_for_kafka(
    alone: Place, monkeypatch: pytest.MonkeyPatch, fenced: list[str], *, had: bool
) -> None:
    """Kafka may have got the end of the transaction, and commits it when it goes on."""
    assert not had or alone.next(0) == "a"

    def opened(_context: object, _claim: object, stopped_since_ms: Callable[[], int | None]) -> NoReturn:
        alone.book.cancel("a", "mistake", 1)
        until(lambda: stopped_since_ms() is not None)
        raise GivenUpError

    monkeypatch.setattr("redrive.worker.OrderTask", opened)
    assert not alone.attempt(LEASE_MS)
    assert (alone.book.get("a").status, fenced) == (Status.CANCELLED, ["a"])


@pytest.mark.parametrize("stopped", ["paused", "worker stopped", "unreachable", "unanswered"])
def test_so_they_are_where_it_is_cancelled_after_an_attempt_has_left_a_transaction_to_kafka(
    alone: Place, monkeypatch: pytest.MonkeyPatch, fenced: list[str], stopped: str
) -> None:
    def opened(_context: object, _claim: object, stopped_since_ms: Callable[[], int | None]) -> NoReturn:
        if stopped == "paused":
            alone.book.pause("a", "Kafka stalls")
            until(lambda: stopped_since_ms() is not None)
        elif stopped == "worker stopped":
            alone.stop.set()
        raise UnansweredError if stopped == "unanswered" else GivenUpError

    monkeypatch.setattr("redrive.worker.OrderTask", opened)
    alone.attempt(LEASE_MS)
    running = stopped in {"worker stopped", "unanswered"}
    assert alone.book.get("a").status is (Status.RUNNING if running else Status.PAUSED)
    assert alone.book.cancel("a", "mistake", 1).status is Status.CANCELLING
    alone.stop.clear()
    alone.attempt(LEASE_MS)
    assert (alone.book.get("a").status, fenced) == (Status.CANCELLED, ["a"])


@pytest.mark.parametrize("had", [False, True], ids=["nobody had it", "another worker had it"])
def test_an_order_that_was_cancelled_meanwhile_is_not_begun(
    alone: Place, fenced: list[str], *, had: bool
) -> None:
    assert not had or alone.next(0) == "a"
    claim = claimed(alone.claims, LEASE_MS)
    assert alone.book.cancel("a", "mistake", 1).status is Status.CANCELLING
    assert alone.worker.work(claim)
    assert (alone.book.get("a").status, fenced) == (Status.CANCELLED, ["a"] * had)
