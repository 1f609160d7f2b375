"""A worker: takes an order, works on it until it is done, stopped or somebody else's, and takes the next.

Any number of workers may run. Whoever claims an order opens its transactional id, so one that is thought dead
and is not can commit nothing more. What Kafka refuses for want of rights pauses the order with the reason;
what may pass is tried again, later each time.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaException
from sqlalchemy.exc import SQLAlchemyError

from collector.contract.backoff import Backoff
from streaming.redrive.claim import Claim, ClaimLostError, Orders
from streaming.redrive.hold import Hold
from streaming.redrive.order import Status
from streaming.redrive.received import HOPELESS
from streaming.redrive.refusals import refused_right
from streaming.redrive.steps import Finished, Idle, Moved, Paused, Step
from streaming.redrive.transaction import REFUSALS, FencedError, GivenUpError, UnansweredError
from streaming.redrive.work import House, Work, user_of
from streaming.store.trouble import line

logger = logging.getLogger(__name__)

Ending = tuple[Status, str] | None
"""In which state to let go of an order, and why; None: as it is, for the next worker."""

UNREACHABLE: Final = "Kafka did not answer within task_timeout_ms ({} ms): see that it runs, then resume"


Bulk = Callable[[Claim, Hold, threading.Event], Ending]
"""Works on an order whose engine is spark."""


def run(orders: Orders, house: House, stop: threading.Event, name: str, bulk: Bulk | None = None) -> None:
    """Work until ``stop`` is set; a transaction that has begun is ended first."""
    settings = house.settings
    backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
    failures = 0
    while not stop.is_set():
        house.beat()
        try:
            claim = orders.claim(name, house.clock(), settings.lease_ms)
            worked = claim is not None and Worker(orders, house, stop, bulk).work(claim)
            failures = 0 if worked or claim is None else failures + 1
        except SQLAlchemyError as error:
            logger.error("no order could be claimed: %s", line(error))  # noqa: TRY400 -- one line tells it all
            claim, failures = None, failures + 1
        except Exception:
            logger.exception("no order could be claimed")
            claim, failures = None, failures + 1
        if failures:
            stop.wait(backoff.delay_ms(failures, house.rng) / 1_000)
        elif claim is None:
            stop.wait(settings.poll_interval_ms / 1_000)


class Worker:
    """Works on one claim."""

    def __init__(self, orders: Orders, house: House, stop: threading.Event, bulk: Bulk | None = None) -> None:
        self._orders, self._house, self._stop, self._bulk = orders, house, stop, bulk

    def work(self, claim: Claim) -> bool:
        """Until it has to be let go of; false when the next claim should wait a little."""
        refusal = self._refusal(claim)
        settings = self._house.settings
        times_ms = (settings.lease_ms, settings.poll_interval_ms)
        try:
            with Hold(self._orders, claim, self._house.clock, times_ms) as hold:
                ending, well = ((Status.FAILED, refusal), True) if refusal else self._attempt(claim, hold)
            if not hold.lost:
                self._let_go(claim, ending, hold.wanted)
        except ClaimLostError:
            logger.warning("order %s is another worker's now", claim.order.id)
            return True
        return well

    def _refusal(self, claim: Claim) -> str:
        """Deadlines that contradict each other (KIP-91)."""
        asked, least = claim.order.request.delivery_timeout_ms, self._house.settings.least_delivery_timeout_ms
        if asked >= least:
            return ""
        return f"delivery_timeout_ms {asked} is below the worker's linger_ms + request_timeout_ms ({least})"

    def _attempt(self, claim: Claim, hold: Hold) -> tuple[Ending, bool]:
        """How the order is let go of, and whether all went well."""
        logger.info("order %s: claim %d", claim.order.id, claim.epoch)
        if self._bulk is not None and claim.order.request.engine == "spark":
            return self._bulk(claim, hold, self._stop), True
        try:
            with Work(self._house, claim, lambda: self._stopped_since_ms(hold)) as work:
                return self._steps(work, hold), True
        except FencedError as error:
            logger.warning("order %s: this worker was fenced: %s", claim.order.id, error)
        except UnansweredError:
            logger.warning("order %s: Kafka's client waits in vain, another one goes on", claim.order.id)
        except GivenUpError:
            if self._stopped_since_ms(hold) is None:
                limit_ms = claim.order.request.task_timeout_ms
                return (Status.PAUSED, UNREACHABLE.format(limit_ms)), True
            logger.warning("order %s: an open transaction is left to Kafka, which aborts it", claim.order.id)
        except KafkaException as error:
            return self._kafka_refused(claim, error)
        return None, False

    def _stopped_since_ms(self, hold: Hold) -> int | None:
        """When this worker was first seen to be stopped, or its order."""
        if self._stop.is_set():
            hold.stop()
        return hold.stopped_since_ms

    def _steps(self, work: Work, hold: Hold) -> Ending:
        """One after the other, and whatever has to be waited for in between."""
        while not hold.stopped.is_set():
            self._house.beat()
            if self._stop.is_set():
                return None
            ending = self._after(work.step(), hold)
            hold.waiting = work.waiting
            if ending is not None:
                return ending
        return None

    def _after(self, step: Step, hold: Hold) -> Ending:
        match step:
            case Finished(reason):
                return Status.COMPLETED, reason
            case Paused(reason):
                return Status.PAUSED, reason
            case Idle(until_ms):
                self._wait(until_ms, hold)
            case Moved():
                pass
        return None

    def _wait(self, until_ms: int, hold: Hold) -> None:
        """Until then, or until the order or the worker is stopped."""
        while not self._stop.is_set():
            left_ms = until_ms - self._house.clock()
            self._house.beat()
            if left_ms <= 0 or hold.stopped.wait(min(left_ms, self._house.settings.poll_interval_ms) / 1_000):
                return

    def _kafka_refused(self, claim: Claim, raised: KafkaException) -> tuple[Ending, bool]:
        """For want of rights or of a topic the order is paused, anything else is tried again."""
        error = raised.args[0]
        logger.warning("order %s: %s", claim.order.id, error.str())
        right = refused_right(error, claim.order, user_of(self._house.settings))
        if right:
            return (Status.PAUSED, right), True
        if error.code() in HOPELESS or error.code() in REFUSALS:
            return (Status.PAUSED, f"Kafka refuses: {error.str()}: mend it, then resume"), True
        return None, False

    def _let_go(self, claim: Claim, ending: Ending, wanted: Status) -> None:
        now_ms = self._house.clock()
        if ending is None and wanted is Status.CANCELLING:
            ending = Status.CANCELLED, ""
        if ending is None:
            self._orders.release(claim, now_ms)
        else:
            self._orders.settle(claim, *ending, now_ms)
        status = ending[0] if ending else "left to the next worker"
        logger.info("order %s: %s", claim.order.id, status)
