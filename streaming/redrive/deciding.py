"""Applies decisions to letters: what is written goes into the batch, what has to wait back to the intake."""

from enum import Enum, auto
from typing import Final

from streaming.redrive import moved
from streaming.redrive.batch import Batch, Item, Outcome, Result
from streaming.redrive.causes import Causes, Course
from streaming.redrive.decision import Park, Send, Skip, Stop, Wait, decide, delay_ms, longest_delay_ms
from streaming.redrive.intake import Intake
from streaming.redrive.isolation import Isolation
from streaming.redrive.order import Order
from streaming.redrive.pace import Bucket
from streaming.redrive.patience import Patiences
from streaming.redrive.routes import Routes
from streaming.redrive.targets import Skip as NoTarget
from streaming.redrive.targets import TargetPlace

TOO_LARGE: Final = "msg_size_too_large"
"""Kafka's word."""


class Verdict(Enum):
    """What became of a letter in hand."""

    TAKEN = auto()
    LAST = auto()
    """Taken, and the transaction shall have no more."""
    LATER = auto()
    """The next transaction shall begin with it."""
    STOPPED = auto()
    """Its target has used up its time."""


class Decider:
    """For one order."""

    def __init__(
        self, order: Order, routes: Routes, patiences: Patiences, intake: Intake, isolation: Isolation
    ) -> None:
        self._order, self._request = order, order.request
        self._routes, self._patiences, self._intake = routes, patiences, intake
        self._isolation = isolation
        self._per_target: dict[str, Bucket] = {}
        self.causes = Causes(order, routes, patiences)

    def decide(self, item: Item, batch: Batch, now_ms: int) -> Verdict:
        """Apply the decision to one letter."""
        course = self._course(item, now_ms)
        if course is None:
            return self._decide(item, batch, now_ms)
        times_ms = (item.waited_ms, now_ms)
        record = moved.sent(item.subject, course.to, self._order.id, course.attempt, times_ms)
        self._write(item, course.outcome, record, batch)
        return Verdict.TAKEN

    def _write(self, item: Item, outcome: Outcome, record: moved.Record, batch: Batch) -> None:
        """Unless its topic has refused one that is not larger."""
        if self._isolation.refuses(record):
            item.refused, item.failed = TOO_LARGE, True
            batch.add(item, _outcome(item, record.topic, Result.FAILED, item.refused))
        else:
            batch.add(item, outcome, record)

    def _course(self, item: Item, now_ms: int) -> Course | None:
        """The one of its cause, where the letter has waited long enough."""
        letter, original = item.subject
        course = None if item.refused or original is not letter else self.causes.of(letter)
        if course is None or item.waited_ms or letter.timestamp_ms + course.longest_delay_ms <= now_ms:
            return course
        return None

    def _decide(self, item: Item, batch: Batch, now_ms: int) -> Verdict:
        letter = item.subject.letter
        route = self._routes.route(letter)
        place = route if isinstance(route, TargetPlace) else TargetPlace(route.topic, None)
        patience = self._patiences.of(place.topic, place.partition)
        decision = decide(
            attempts=item.subject.original.attempts,
            due_ms=self._due_ms(item, now_ms),
            retry=self._request.retry,
            refused=item.refused or (route.reason if isinstance(route, NoTarget) else ""),
            patience=patience,
            now_ms=now_ms,
            error_class=letter.error_class,
        )
        match decision:
            case Send(attempt):
                return self._send(item, place, attempt, batch, now_ms, alone=patience is not None)
            case Wait(until_ms):
                self._intake.hold(item, until_ms)
            case Park(reason):
                self._park(item, reason, batch, now_ms)
            case Skip(reason):
                result = Result.FAILED if item.failed else Result.SKIPPED
                batch.add(item, _outcome(item, place.topic, result, reason))
            case Stop():
                return Verdict.STOPPED
        return Verdict.TAKEN

    def _due_ms(self, item: Item, now_ms: int) -> int:
        """When the backoff before the next attempt is over; 0 when it surely is."""
        letter, retry = item.subject.letter, self._request.retry
        attempt, since_ms = item.subject.original.attempts + 1, item.subject.dead_since_ms(now_ms)
        if item.waited_ms or since_ms + longest_delay_ms(retry, attempt) <= now_ms:
            return 0
        return since_ms + delay_ms(retry, attempt, (letter.topic, letter.partition, letter.offset))

    def _send(
        self, item: Item, place: TargetPlace, attempt: int, batch: Batch, now_ms: int, *, alone: bool
    ) -> Verdict:
        """To its target; one that has failed is tried with a single record, so that it costs no others."""
        if alone and batch.records:
            return Verdict.LATER
        ready_ms = self._reserve(item, place.topic, now_ms)
        if ready_ms > now_ms:
            self._intake.hold(item, ready_ms)
            return Verdict.TAKEN
        to = (place.topic, place.partition)
        record = moved.sent(item.subject, to, self._order.id, attempt, (item.waited_ms, now_ms))
        outcome = self.causes.sent(place.topic, attempt, item.subject.letter.cause.fingerprint)
        self._write(item, outcome, record, batch)
        return Verdict.LAST if alone else Verdict.TAKEN

    def _park(self, item: Item, reason: str, batch: Batch, now_ms: int) -> None:
        to = self._routes.parked(item.subject.letter.partition)
        record = moved.parked(item.subject, to, self._order.id, reason, now_ms)
        self._write(item, _outcome(item, to[0], Result.PARKED, reason), record, batch)

    def _reserve(self, item: Item, topic: str, now_ms: int) -> int:
        """When the target's own rate allows the record; each takes its share once."""
        rate = self._request.limits.per_target_records_per_second
        if rate is None or item.reserved:
            return 0
        bucket = self._per_target.get(topic, Bucket(rate, now_ms)).filled(now_ms)
        self._per_target[topic] = bucket.taken(1)
        item.reserved = True
        return bucket.ready_at_ms(1)


def _outcome(item: Item, topic: str, result: Result, reason: str) -> Outcome:
    letter, original = item.subject
    return Outcome(topic, result, reason, original.attempts, fingerprint=letter.cause.fingerprint)
