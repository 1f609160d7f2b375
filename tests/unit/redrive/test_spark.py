"""Partition tasks of an order: what each gets, how they end together, and how one watches its claim."""

import threading
from dataclasses import replace
from typing import NoReturn

import pytest
from sqlalchemy import Engine

from deadwatch.orders.order import Claim, ClaimLostError, Order, Status
from deadwatch.store.write.order_claims import OrderClaims
from deadwatch.store.write.orders import OrderBook
from redrive.move.task import WorkerContext
from redrive.settings import RedriveSettings
from redrive.spark import FAILED, Ended, _WatchedClaim, combined, partition_tasks, work_in_executors
from redrive.worker import Ending, LeaseKeeper, Worker, run
from tests.unit.redrive import orders
from tests.waiting import WITHIN_S

LIMITS = {"records_per_second": 90, "bytes_per_second": 3_001, "per_target_records_per_second": 30}
DONE: Ending = (Status.COMPLETED, "")


def order(**limits: float | None) -> Order:
    begin, cut_off = {0: 1, 1: 0, 2: 5}, {0: 9, 1: 0, 2: 6, 3: 4}
    return orders.order({"engine": "spark", "limits": limits}, begin, cut_off, id="a")


def test_every_partition_with_something_to_move_is_a_task_at_its_share_of_the_rates() -> None:
    found = partition_tasks(RedriveSettings(), Claim(order(**LIMITS), 3, 0), 2)
    assert [(one.partition, one.parallel_tasks, one.claim.epoch) for one in found] == [
        (partition, 2, 3) for partition in (0, 2, 3)
    ]
    first = found[0].claim.order
    assert (first.id, first.begin, first.cut_off) == ("a", {0: 1}, {0: 9})
    shares = {"records_per_second": 45, "bytes_per_second": 1_500, "per_target_records_per_second": 15}
    assert first.request.limits.model_dump(include={*LIMITS}) == shares


def test_more_slots_than_tasks_give_no_smaller_shares() -> None:
    found = partition_tasks(RedriveSettings(), Claim(order(records_per_second=90), 1, 0), 64)
    assert [one.claim.order.request.limits.records_per_second for one in found] == [30, 30, 30]


@pytest.mark.parametrize(
    ("endings", "ending"),
    [
        ([], DONE),
        ([DONE, DONE], DONE),
        ([DONE, None], None),
        ([DONE, (Status.PAUSED, "a"), None], (Status.PAUSED, "a")),
        ([(Status.PAUSED, "a"), (Status.FAILED, "b")], (Status.FAILED, "b")),
        ([DONE, (Status.CANCELLED, "")], None),
    ],
)
def test_many_endings_are_one(endings: list[Ending], ending: Ending) -> None:
    assert combined(endings) == ending


class Executors:
    """A Spark whose jobs end once the worker has said three times that it lives."""

    defaultParallelism = 2  # noqa: N815 -- Spark's name

    def __init__(self, *, left_open: bool) -> None:
        self.beats, self.ended, self._left_open = 0, threading.Event(), left_open

    def beat(self) -> None:
        self.beats += 1
        if self.beats == 3:
            self.ended.set()

    def setJobGroup(self, *_group: object, **_options: object) -> None:  # noqa: N802 -- Spark's name
        """There is one job."""

    def parallelize(self, *_tasks: object) -> "Executors":
        return self

    map = parallelize

    def cancelJobGroup(self, _group: str) -> None:  # noqa: N802 -- Spark's name
        self.ended.set()

    def collect(self) -> list[Ended]:
        return [(DONE, False), (DONE if self.ended.wait(WITHIN_S) else None, self._left_open)]


@pytest.mark.parametrize("left_open", [False, True])
@pytest.mark.parametrize("stopped", [False, True])
def test_a_worker_that_waits_for_its_job_says_that_it_lives_and_what_may_be_left_open(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, *, left_open: bool, stopped: bool
) -> None:
    """Who cancels the order has to wait until that is fenced."""
    spark, task = Executors(left_open=left_open), Task(engine)
    if stopped:
        task.stop.set()
    monkeypatch.setattr("redrive.spark._context", lambda _: spark)
    context = WorkerContext(RedriveSettings())
    with LeaseKeeper(task.claims, task.held, context.clock, (60_000, 60_000)) as lease:
        ending = work_in_executors(context.settings, task.held, lease, task.stop, beat=spark.beat)
    assert (ending, lease.left_open) == ((None, True) if stopped else (DONE, left_open))


@pytest.mark.parametrize("begun", [True, False], ids=["the job fails", "there is no session"])
def test_what_spark_raises_pauses_the_order_unless_the_worker_stops(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, *, begun: bool
) -> None:
    """A signal to all its processes ends the JVM as well."""

    def refuse(_: object) -> NoReturn:
        raise LookupError

    task, spark = Task(engine), Executors(left_open=False)
    monkeypatch.setattr("redrive.spark._context", (lambda _: spark) if begun else refuse)
    monkeypatch.setattr(Executors, "collect", refuse)
    lease = LeaseKeeper(task.claims, task.held, lambda: 0, (60_000, 60_000))
    for ending in (Status.PAUSED, FAILED.format("LookupError")), None:
        assert work_in_executors(RedriveSettings(), task.held, lease, task.stop, beat=lambda: None) == ending
        assert lease.left_open is begun
        task.stop.set()


class Task:
    """A partition task's view of a claim, beside the store that holds the order."""

    def __init__(self, engine: Engine) -> None:
        self.book, self.claims, self.stop = OrderBook(engine), OrderClaims(engine), threading.Event()
        self.book.create(order(), "{}")
        self.held = orders.claimed(self.claims, 1_000)
        self.watched = _WatchedClaim(self.claims, self.held, self.stop)


def test_a_task_tells_what_it_may_have_left_open(engine: Engine) -> None:
    task = Task(engine)
    told = [task.watched.left_open]
    taken = orders.claimed(task.watched, 2_000)
    told.append(task.watched.left_open)
    for left_open in (False, True):
        task.watched.release(replace(taken, left_open=left_open))
        told.append(task.watched.left_open)
    task.watched.settle(taken, Status.PAUSED, "no progress", 1)
    assert [*told, task.watched.left_open] == [False, True, False, True, False]


def test_a_task_goes_on_while_its_claim_is_the_latest_and_the_order_runs(engine: Engine) -> None:
    task = Task(engine)
    taken = orders.claimed(task.watched, 2_000)
    assert task.watched.renew(taken, 3_000, 5_000)[1] is Status.RUNNING
    task.watched.release(taken)
    orders.claimed(task.watched, 3_000)
    task.book.pause("a", "to look")
    assert task.watched.renew(taken, 3_000, 5_000)[1] is Status.PAUSED
    assert (task.watched.claim("", 3_000, 5_000), task.stop.is_set(), task.watched.ending) == (
        None,
        True,
        None,
    )


def test_a_task_of_an_older_claim_ends(engine: Engine) -> None:
    task = Task(engine)
    taken = orders.claimed(task.watched, 1_000)
    orders.claimed(task.claims, 9_000, "another")
    with pytest.raises(ClaimLostError):
        task.watched.renew(taken, 9_000, 5_000)
    assert (task.watched.claim("", 9_000, 5_000), task.stop.is_set()) == (None, True)


@pytest.mark.parametrize(
    ("ending", "over"),
    [(DONE, True), ((Status.FAILED, "a"), True), ((Status.PAUSED, "Spark failed"), False), (None, False)],
    ids=["done", "impossible", "the job failed", "left to the next worker"],
)
def test_while_some_executors_may_go_on_the_end_of_their_events_is_not_known(
    engine: Engine, ending: Ending, *, over: bool
) -> None:
    task, noted = Task(engine), list[tuple[str, bool]]()
    context = WorkerContext(RedriveSettings(), note=lambda topic, known: noted.append((topic, known)))
    assert Worker(task.claims, context, threading.Event(), lambda *_: ending).work(task.held)
    assert noted == [("dlq.t", over)]


def test_what_fails_while_an_order_is_let_go_of_is_told_of_that_order(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    task = Task(engine)

    def note(topic: str, over: bool) -> None:
        task.stop.set()
        raise LookupError(topic, over)

    context = WorkerContext(RedriveSettings(), clock=lambda: 9_000, note=note)
    run(task.claims, context, task.stop, "w", lambda *_: DONE)
    assert "order a is left to the next claim" in caplog.text
    assert "LookupError" in caplog.text
