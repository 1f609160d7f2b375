"""Decides what becomes of each dead letter of an order.

What is written goes into the batch, what has to wait into the queue. For the records of one cause everything
but their time is decided once (``RouteCache``). Most records need nothing else: they go to their target
without being decoded (``FastPath``), and what is written is what ``Decider`` would write.
"""

from enum import Enum, auto
from typing import Final, NamedTuple

from deadwatch.contract import headers as names
from deadwatch.deadletter.dialects import SHARE_GROUP
from deadwatch.deadletter.dropped import HeaderRule, Patterns, without
from deadwatch.deadletter.record import Cause, DeadLetter
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
    nominal_delay_ms,
    park_reason,
)
from deadwatch.orders.order import Order
from deadwatch.orders.targets import Skip as NoTarget
from deadwatch.orders.targets import TargetPlace
from redrive.librdkafka import ConsumerRecord, headers_of
from redrive.move import rewrite
from redrive.move.batch import Batch, Outcome
from redrive.move.failures import CulpritSearch
from redrive.move.limits import TokenBucket
from redrive.move.record_queue import RecordQueue
from redrive.move.rewrite import PendingRecord, ProducerRecord, place_of, shared_headers
from redrive.move.targets import Router, TargetDeadlines
from redrive.move.transaction import TransactionalProducer

MAX_CAUSES: Final = 10_000
ZERO: Final = ord("0")
FIRST_ATTEMPT: Final = 1


class CachedRoute(NamedTuple):
    """Where the records of a cause go for the first time, and the outcome that is counted for each."""

    cause: Cause
    router_version: int
    to: tuple[str, int | None]
    outcome: Outcome
    longest_delay_ms: int
    prefix: bytes
    """Their origin without the offset, ``<topic>/<partition>/``; empty where it is not known."""
    dropped: Patterns
    """The headers that they go without."""


class RouteCache:
    """The routes of one order by cause. While a target fails there are none: every record is decided then."""

    def __init__(self, order: Order, router: Router, deadlines: TargetDeadlines) -> None:
        self._request, self._router, self._deadlines = order.request, router, deadlines
        self._routes: dict[int, CachedRoute] = {}
        self.rule = HeaderRule(order.request.drop_headers)
        """The headers that records go without."""

    def known(self, cause: Cause) -> CachedRoute | None:
        """The route of a cause that was asked for before."""
        route = self._routes.get(id(cause))
        if route is None or route.cause is not cause or route.router_version != self._router.version:
            return None
        return None if self._deadlines.running() else route

    def route(self, dead_letter: DeadLetter) -> CachedRoute | None:
        """The route of a dead letter's cause; None where more than the cause matters."""
        route = self.known(dead_letter.cause)
        if route is not None or self._deadlines.running():
            return route
        route = self._made(dead_letter)
        if route is not None:
            if len(self._routes) >= MAX_CAUSES:
                self._routes.clear()
            self._routes[id(dead_letter.cause)] = route
        return route

    def sent(self, topic: str, attempt: int, fingerprint: str) -> Outcome:
        """The outcome of a record that goes to its target."""
        delay_ms = nominal_delay_ms(self._request.retry, attempt)
        return Outcome(topic, Result.SENT, "", attempt, delay_ms, fingerprint)

    def _made(self, dead_letter: DeadLetter) -> CachedRoute | None:
        """None for what is parked or was moved before, and under a rate for each target."""
        place, retry = self._router.route(dead_letter), self._request.retry
        limited = self._request.limits.per_target_records_per_second is not None
        if isinstance(place, NoTarget) or dead_letter.attempts or limited:
            return None
        if park_reason(0, (dead_letter.error_class, dead_letter.wrapper), retry):
            return None
        return CachedRoute(
            dead_letter.cause,
            self._router.version,
            (place.topic, place.partition),
            self.sent(place.topic, FIRST_ATTEMPT, dead_letter.cause.fingerprint),
            longest_delay_ms(retry, FIRST_ATTEMPT),
            _prefix(dead_letter.cause),
            self.rule.patterns(dead_letter.dialect),
        )


def _prefix(cause: Cause) -> bytes:
    """``CachedRoute.prefix``; empty for a share group's records, whose originals are somewhere else."""
    known = cause.source_topic and cause.source_partition is not None
    if not known or cause.marked or cause.dialect == SHARE_GROUP.name:
        return b""
    return f"{cause.source_topic}/{cause.source_partition}/".encode()


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
        retry_at_ms = self._deadlines.retry_at_ms(*to)
        if now_ms < retry_at_ms:
            self._queue.hold(pending, retry_at_ms)
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


class FastPath:
    """For one order that selects all records and has no rate."""

    def __init__(self, decider: Decider, queue: RecordQueue, producer: TransactionalProducer) -> None:
        self._order, self._routes, self._culprits = decider.order.id, decider.routes, decider.culprits
        self._decoder, self._producer = queue.decoder, producer
        self._left_out = queue.handled.reason if queue.handled else None

    def write(self, messages: list[ConsumerRecord], batch: Batch, now_ms: int) -> None:
        """Write the records up to the first of which more has to be known; that one and all behind are left.

        Those that are written are in the batch, also where this raises.
        """
        cause, route, culprits = None, None, self._culprits
        for message in messages:
            headers = headers_of(message)
            known = None if headers is None else self._decoder.cause(headers)
            if headers is None or known is None:
                return
            if known[0] is not cause:
                cause = known[0]
                route = self._routes.known(cause)
            digits, timestamp_ms = known[1], message.timestamp()[1]
            if route is None or not route.prefix or timestamp_ms + route.longest_delay_ms > now_ms:
                return
            if digits[0] == ZERO and len(digits) > 1:
                return
            at, offset = message.partition(), message.offset()
            if self._left_out is not None and self._left_out(at, offset):
                return
            topic, partition = route.to
            shared = shared_headers(self._order, FIRST_ATTEMPT, cause.fingerprint, now_ms)
            by, attempts, group, moved_at = shared
            origin = (names.REDRIVE_ORIGIN, route.prefix + digits)
            kept = without(tuple(headers), route.dropped) if route.dropped else headers
            written = [*kept, by, attempts, group, origin, moved_at]
            key, value = message.key(), message.value()
            record = (topic, partition, timestamp_ms, key, value)
            if topic in culprits.too_large and culprits.refused(ProducerRecord(*record, tuple(written))):
                return
            batch.add_fast(message, at, offset, route.outcome)
            self._producer.produce(*record, written, (at, offset))
