"""A worker: claims an order, works on it until it is done, stopped or another worker's, and claims the next.

Any number of workers may run. Whoever claims an order opens its transactional id, so one that is thought dead
and is not can commit nothing more. What only people can fix pauses the order with the reason; anything else
is tried again: when the lease has ended, so that other orders have their turn before.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Self

from confluent_kafka import KafkaException
from sqlalchemy.exc import SQLAlchemyError

from deadwatch.contract.backoff import Backoff
from deadwatch.deadletter.filter.errors import FilterError
from deadwatch.orders.order import Claim, ClaimLostError, Order, Orders, Status
from deadwatch.runtime.clock import ClockWatch, monotonic_ms
from deadwatch.store.trouble import line
from redrive.attempts import Attempts
from redrive.librdkafka import AWAY, CONSUMER_NEEDS_OPERATOR, CORRUPT_BATCH, PRODUCER_NEEDS_OPERATOR
from redrive.move.failures import (
    FencedError,
    ForgottenError,
    GivenUpError,
    MadeAnewError,
    UnansweredError,
    refused_right,
)
from redrive.move.mover import Finished, Idle, Moved, Paused
from redrive.move.task import OrderTask, WorkerContext, fence, user_of

log = logging.getLogger(__name__)

Ending = tuple[Status, str] | None
"""In which state to let go of an order, and why; None: as it is, for the next worker."""

UNREACHABLE: Final = "Kafka did not answer within task_timeout_ms ({} ms): see that it runs, then resume"
FAILING: Final = "every attempt failed for task_timeout_ms ({} ms), the last with {}: fix it, then resume"
UNREADABLE: Final = "{}: fix it, then resume; or cancel, and order the offsets around it"


class LeaseKeeper:
    """Renews the lease of a claim inside ``with``: at once, and from then on in a thread.

    ``stopped`` is set when the work has to end: ``wanted`` is the status that users want, ``lost`` that
    another worker has the order, ``left_open`` that the end of a transaction may be on its way to Kafka.
    How many records are ``waiting``, and when the last transaction ``proceeded_at_ms``, each renewal stores.
    """

    def __init__(
        self, orders: Orders, claim: Claim, clock: Callable[[], int], times_ms: tuple[int, int]
    ) -> None:
        self._orders, self._claim, self._clock = orders, claim, clock
        self._lease_ms, self._poll_interval_ms = times_ms
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"lease-{claim.order.id}", daemon=True)
        self.stopped = threading.Event()
        self.stopped_since_ms: int | None = None
        self.wanted = Status.RUNNING
        self.lost = self.left_open = False
        self.waiting = self.proceeded_at_ms = 0

    def __enter__(self) -> Self:
        self._renew()
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def stop(self) -> None:
        """Ask the work to end."""
        if self.stopped_since_ms is None:
            self.stopped_since_ms = monotonic_ms()
        self.stopped.set()

    def _keep(self) -> None:
        while not self.lost and not self._ended.wait(self._poll_interval_ms / 1_000):
            self._renew()

    def _renew(self) -> None:
        try:
            claim = replace(self._claim, waiting=self.waiting, proceeded_at_ms=self.proceeded_at_ms)
            self._claim, self.wanted = self._orders.renew(claim, self._clock(), self._lease_ms)
        except ClaimLostError:
            self.lost = True
        except Exception as error:  # the store may be away for a moment; the lease says for how long
            if isinstance(error, SQLAlchemyError):
                order = self._claim.order.id
                log.error("order %s: its claim is not renewed: %s", order, line(error))  # noqa: TRY400 -- it suffices
            else:
                log.exception("order %s: its claim is not renewed", self._claim.order.id)
            self.lost = self._clock() >= self._claim.expires_at_ms
        if self.lost or self.wanted in {Status.PAUSED, Status.CANCELLING}:
            self.stop()


ExecutorWork = Callable[[Claim, LeaseKeeper, threading.Event], Ending]
"""Works on an order whose engine is spark."""


def run(
    orders: Orders,
    context: WorkerContext,
    stop: threading.Event,
    name: str,
    spark: ExecutorWork | None = None,
) -> None:
    """Work until ``stop`` is set; a transaction that has begun is ended first."""
    settings, worker = context.settings, Worker(orders, context, stop, spark)
    backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
    failures = 0
    while not stop.is_set():
        context.beat()
        claim, well = None, False
        try:
            claim = orders.claim(name, context.clock(), settings.lease_ms)
            well = claim is None or worker.work(claim)
        except SQLAlchemyError as error:
            log.error("%s: %s", _undone(claim), line(error))  # noqa: TRY400 -- one line tells it all
        except Exception:
            log.exception("%s", _undone(claim))
        failures = 0 if well else failures + 1
        if failures:
            stop.wait(backoff.delay_ms(failures, context.rng) / 1_000)
        elif claim is None:
            stop.wait(settings.poll_interval_ms / 1_000)


def _undone(claim: Claim | None) -> str:
    return f"order {claim.order.id} is left to the next claim" if claim else "no order could be claimed"


class Worker:
    """Works on one claim at a time."""

    def __init__(
        self, orders: Orders, context: WorkerContext, stop: threading.Event, spark: ExecutorWork | None = None
    ) -> None:
        self._orders, self._context, self._stop, self._spark = orders, context, stop, spark
        self._attempts = Attempts(context.settings.lease_ms)

    def work(self, claim: Claim) -> bool:
        """Work until the claim has to be let go of; false when the next one should wait a little."""
        settings = self._context.settings
        times_ms = (settings.lease_ms, settings.poll_interval_ms)
        try:
            with LeaseKeeper(self._orders, claim, self._context.clock, times_ms) as lease:
                ending, well = (None, True) if lease.stopped.is_set() else self._attempt(claim, lease)
                doubtful = claim.epoch > 1 or lease.left_open
                if ending is None and lease.wanted is Status.CANCELLING and doubtful:
                    self._fence(claim.order)  # after the attempt: it may have come to nothing
                in_executors = claim.order.request.engine == "spark"
                over = not in_executors or (ending is not None and ending[0] is not Status.PAUSED)
                self._context.note(claim.order.request.dlq_topic, over)  # else some may go on for a moment
            if not lease.lost:
                self._let_go(claim, ending, lease, well=well)
        except ClaimLostError:
            log.warning("order %s is another worker's now", claim.order.id)
            return True
        except (GivenUpError, UnansweredError):
            log.warning("order %s is cancelled once Kafka answers", claim.order.id)
            return False
        return well

    def _fence(self, order: Order) -> None:
        """What is still open of the order must not be moved once it is over; who had it may only be slow."""
        try:
            fence(self._context.settings, order, self._is_stopped)
        except (FencedError, KafkaException) as error:  # for them it is no better
            log.warning("order %s: who had it is not fenced: %s", order.id, error)

    def _is_stopped(self) -> bool:
        self._context.beat()
        return self._stop.is_set()

    def _attempt(self, claim: Claim, lease: LeaseKeeper) -> tuple[Ending, bool]:
        """How the order is let go of, and whether all went well."""
        settings, asked = self._context.settings, claim.order.request.delivery_timeout_ms
        least = settings.linger_ms + settings.request_timeout_ms
        if asked < least:  # it could never be carried out (KIP-91)
            why = f"delivery_timeout_ms {asked} is below the worker's linger_ms + request_timeout_ms"
            return (Status.FAILED, f"{why} ({least})"), True
        log.info("order %s: claim %d", claim.order.id, claim.epoch)
        if self._spark is not None and claim.order.request.engine == "spark":
            return self._spark(claim, lease, self._stop), True
        return self._move(claim, lease)

    def _move(self, claim: Claim, lease: LeaseKeeper) -> tuple[Ending, bool]:
        """As ``_attempt``, in this process."""
        clock = ClockWatch(self._context.clock)
        try:
            with OrderTask(self._context, claim, lambda: self._stopped_since_ms(lease)) as task:
                return self._steps(claim.order, task, lease, clock), True
        except FencedError as error:
            why = str(error)  # what a handler of the log keeps would keep the order's clients
            log.warning("order %s: this worker was fenced: %s", claim.order.id, why)
        except (ForgottenError, MadeAnewError, FilterError) as error:
            return (Status.FAILED, str(error)), True
        except UnansweredError:
            lease.left_open = True
            log.warning("order %s: Kafka's client waits in vain, another one goes on", claim.order.id)
            return None, True
        except GivenUpError:
            lease.left_open = True
            if self._stopped_since_ms(lease) is None:
                limit_ms = claim.order.request.task_timeout_ms
                return (Status.PAUSED, UNREACHABLE.format(limit_ms)), True
            log.warning("order %s: an open transaction is left to Kafka", claim.order.id)
        except KafkaException as error:
            return self._kafka_refused(claim, error)
        return None, False

    def _stopped_since_ms(self, lease: LeaseKeeper) -> int | None:
        """When the worker or its order was first seen to be stopped (``monotonic_ms``); None: it is not."""
        if self._stop.is_set():
            lease.stop()
        return lease.stopped_since_ms

    def _steps(self, order: Order, task: OrderTask, lease: LeaseKeeper, clock: ClockWatch) -> Ending:
        """Make one step after the other, and wait in between where a step says so.

        Every moment that the task keeps is of the clock that it was opened by: when somebody sets that clock,
        the order is claimed anew.
        """
        while not lease.stopped.is_set() and not self._stop.is_set():
            if clock.set_by_ms():
                log.warning("the clock of this machine was set by %+d ms", clock.set_by_ms())
                return None
            self._context.beat()
            step = task.step()
            lease.waiting = task.waiting
            match step:
                case Finished(reason):
                    return Status.COMPLETED, reason
                case Paused(reason):
                    return Status.PAUSED, reason
                case Idle(until_ms):
                    self._wait(until_ms, lease, clock)
                case Moved(committed):
                    self._attempts.forget(order.id)
                    if committed:
                        lease.proceeded_at_ms = self._context.clock()
        return None

    def _wait(self, until_ms: int, lease: LeaseKeeper, clock: ClockWatch) -> None:
        """Wait until then, or until the order or the worker is stopped, or the clock is set."""
        while not self._stop.is_set() and not clock.set_by_ms():
            left_ms = until_ms - self._context.clock()
            self._context.beat()
            poll_ms = self._context.settings.poll_interval_ms
            if left_ms <= 0 or lease.stopped.wait(min(left_ms, poll_ms) / 1_000):
                return

    def _kafka_refused(self, claim: Claim, raised: KafkaException) -> tuple[Ending, bool]:
        """Pause the order for want of a right or of a topic; anything else is tried again for some time.

        While Kafka is away it is tried for as long as that lasts, and what was refused before is forgotten.
        """
        error = raised.args[0]
        log.warning("order %s: %s", claim.order.id, error.str())
        right = refused_right(error, claim.order, user_of(self._context.settings))
        if right:
            return (Status.PAUSED, right), True
        if error.code() in CORRUPT_BATCH:
            return (Status.PAUSED, UNREADABLE.format(error.str())), True
        if error.code() in CONSUMER_NEEDS_OPERATOR or error.code() in PRODUCER_NEEDS_OPERATOR:
            return (Status.PAUSED, f"Kafka refuses: {error.str()}: fix it, then resume"), True
        if error.code() in AWAY:
            self._attempts.forget(claim.order.id)
            return None, False
        if not self._attempts.failed(claim, monotonic_ms()):
            return None, False
        limit_ms = claim.order.request.task_timeout_ms
        return (Status.PAUSED, FAILING.format(limit_ms, error.str().strip())), True

    def _let_go(self, claim: Claim, ending: Ending, lease: LeaseKeeper, *, well: bool) -> None:
        """Settle the order in its ending, or leave it to the next worker.

        After an attempt that has failed the lease runs out, so that other orders have their turn before.
        """
        claim = replace(claim, left_open=lease.left_open)
        if ending is None and lease.wanted is Status.CANCELLING:
            ending = Status.CANCELLED, ""
        if ending is not None:
            self._orders.settle(claim, *ending, self._context.clock())
            self._attempts.forget(claim.order.id)
        elif well or self._stopped_since_ms(lease) is not None:
            self._orders.release(claim)
        log.info("order %s: %s", claim.order.id, ending[0] if ending else "left to the next worker")
