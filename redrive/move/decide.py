"""Decides what becomes of each dead letter of an order.

What is written goes into the batch, what has to wait into the queue. For the records of one cause everything
but their time is decided once (``RouteCache``). Most records need nothing else: see ``FastPath``.
"""

from enum import Enum, auto

from deadwatch.orders.decision import (
    Park,
    Result,
    Send,
    Skip,
    Stop,
    Wait,
    decide,
    delay_ms,
    longest_delay_ms,
)
from deadwatch.orders.order import Order
from deadwatch.orders.targets import Skip as NoTarget
from deadwatch.orders.targets import TargetPlace
from redrive.move import rewrite
from redrive.move.batch import Batch, Outcome
from redrive.move.failures import CulpritSearch
from redrive.move.limits import TokenBucket
from redrive.move.record_queue import RecordQueue
from redrive.move.rewrite import PendingRecord, ProducerRecord, place_of
from redrive.move.routes import FIRST_ATTEMPT, CachedRoute, RouteCache
from redrive.move.targets import Router, TargetDeadlines


class Verdict(Enum):
    """Whether a pending record was taken, and whether the transaction may have more."""

    TAKEN = auto()
    LAST = auto()
    """It was taken, and the transaction shall have no more."""
    NOT_TAKEN = auto()
    """The next transaction begins with it, or its target has used up its time."""


class Decider:
    """Decides the pending records of one order."""

    def __init__(
        self,
        order: Order,
        router: Router,
        deadlines: TargetDeadlines,
        queue: RecordQueue,
        culprits: CulpritSearch,
    ) -> None:
        self.order, self._request = order, order.request
        self._router, self._deadlines, self._queue = router, deadlines, queue
        self.culprits = culprits
        self._buckets: dict[str, TokenBucket] = {}
        self.routes = RouteCache(order, router, deadlines)

    def decide(self, pending: PendingRecord, batch: Batch, now_ms: int) -> Verdict:
        """Apply the decision to one record, where possible by the route of its cause."""
        route = self._cached_route(pending, now_ms)
        if route is None:
            return self._decide(pending, batch, now_ms)
        times_ms = (pending.waited_ms, now_ms)
        record = rewrite.for_target(pending, route.to, self.order.id, FIRST_ATTEMPT, times_ms, route.dropped)
        self._write(pending, route.outcome, record, batch)
        return Verdict.TAKEN

    def _write(self, pending: PendingRecord, outcome: Outcome, record: ProducerRecord, batch: Batch) -> None:
        """Add the record to the batch, unless its topic has refused one that is not larger."""
        refused = self.culprits.refused(record)
        if refused:
            pending.refused, pending.failed = refused, True
            batch.add(pending, _outcome(pending, record.topic, Result.FAILED, refused))
        else:
            batch.add(pending, outcome, record)

    def _cached_route(self, pending: PendingRecord, now_ms: int) -> CachedRoute | None:
        dead_letter = pending.dead_letter
        plain = not pending.refused and pending.original is dead_letter
        route = self.routes.route(dead_letter) if plain else None
        if route is None or pending.waited_ms or dead_letter.timestamp_ms + route.longest_delay_ms <= now_ms:
            return route
        return None

    def _decide(self, pending: PendingRecord, batch: Batch, now_ms: int) -> Verdict:
        dead_letter = pending.dead_letter
        route = self._router.route(dead_letter)
        place = route if isinstance(route, TargetPlace) else TargetPlace(route.topic, None)
        deadline = self._deadlines.of(place.topic, place.partition)
        decision = decide(
            attempts=pending.original.attempts,
            due_ms=self._due_ms(pending, now_ms),
            retry=self._request.retry,
            refused=pending.refused or (route.reason if isinstance(route, NoTarget) else ""),
            target=deadline,
            now_ms=now_ms,
            error_class=dead_letter.error_class,
            wrapper=dead_letter.wrapper,
        )
        match decision:
            case Send(attempt):
                return self._send(pending, place, attempt, batch, now_ms, alone=deadline is not None)
            case Wait(until_ms):
                self._queue.hold(pending, until_ms)
            case Park(reason):
                self._park(pending, reason, batch, now_ms)
            case Skip(reason):
                result = Result.FAILED if pending.failed else Result.SKIPPED
                batch.add(pending, _outcome(pending, place.topic, result, reason))
            case Stop():
                return Verdict.NOT_TAKEN
        return Verdict.TAKEN

    def _due_ms(self, pending: PendingRecord, now_ms: int) -> int:
        """When the backoff before the next attempt is over; 0 when it surely is."""
        retry, attempt = self._request.retry, pending.original.attempts + 1
        since_ms = pending.dead_since_ms(now_ms)
        if pending.waited_ms or since_ms + longest_delay_ms(retry, attempt) <= now_ms:
            return 0
        return since_ms + delay_ms(retry, attempt, place_of(pending.dead_letter))

    def _send(
        self,
        pending: PendingRecord,
        place: TargetPlace,
        attempt: int,
        batch: Batch,
        now_ms: int,
        *,
        alone: bool,
    ) -> Verdict:
        """A target that has failed is tried with a single record, so that it costs no others."""
        if alone and batch.records:
            return Verdict.NOT_TAKEN
        ready_ms = self._reserve(pending, place.topic, now_ms)
        if ready_ms > now_ms:
            self._queue.hold(pending, ready_ms)
            return Verdict.TAKEN
        to, times_ms = (place.topic, place.partition), (pending.waited_ms, now_ms)
        dropped = self.routes.rule.patterns(pending.dead_letter.dialect)
        record = rewrite.for_target(pending, to, self.order.id, attempt, times_ms, dropped)
        outcome = self.routes.sent(place.topic, attempt, pending.dead_letter.cause.fingerprint)
        self._write(pending, outcome, record, batch)
        return Verdict.LAST if alone else Verdict.TAKEN

    def _park(self, pending: PendingRecord, reason: str, batch: Batch, now_ms: int) -> None:
        to = self._router.parked(pending.dead_letter.partition)
        deadline = self._deadlines.of(*to)
        if deadline is not None and now_ms < deadline.retry_at_ms:
            self._queue.hold(pending, deadline.retry_at_ms)
            return
        record = rewrite.for_parking(pending, to, self.order.id, reason, now_ms)
        self._write(pending, _outcome(pending, to[0], Result.PARKED, reason), record, batch)

    def _reserve(self, pending: PendingRecord, topic: str, now_ms: int) -> int:
        """When the target's own rate allows the record; each record takes its share once."""
        rate = self._request.limits.per_target_records_per_second
        if rate is None or pending.reserved:
            return 0
        bucket = self._buckets.get(topic, TokenBucket(rate, now_ms)).filled(now_ms)
        self._buckets[topic] = bucket.taken(1)
        pending.reserved = True
        return bucket.ready_at_ms(1)


def _outcome(pending: PendingRecord, topic: str, result: Result, reason: str) -> Outcome:
    fingerprint = pending.dead_letter.cause.fingerprint
    return Outcome(topic, result, reason, pending.original.attempts, fingerprint=fingerprint)
