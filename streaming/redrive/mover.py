"""Moves the records of one order, a transaction at a time; the caller waits, renews its claim and stops it.

A step reads what there is room for, decides every record (``decision``), and commits what is written, parked,
skipped and counted together with the offsets. A record that has to wait is closed later, out of order; the
ledgers keep that in the commit. Nothing here sleeps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from collector.contract.events import encode
from streaming.redrive import report
from streaming.redrive.batch import Batch, Outcome, Result
from streaming.redrive.clock import clock_ms
from streaming.redrive.deciding import Decider, Verdict
from streaming.redrive.decision import SkipReason
from streaming.redrive.guards import BRAKE_MS, Guard
from streaming.redrive.intake import Intake
from streaming.redrive.isolation import Isolation
from streaming.redrive.moved import BY_KEY, DeadLetter, Record
from streaming.redrive.order import Order
from streaming.redrive.pace import Pace
from streaming.redrive.patience import TRANSACTION, Patiences
from streaming.redrive.reading import Reader
from streaming.redrive.refusals import missing_right
from streaming.redrive.routes import Routes
from streaming.redrive.selection import selects_all
from streaming.redrive.steps import Finished, Idle, Moved, Paused, Step
from streaming.redrive.straight import Straight
from streaming.redrive.telemetry import SILENT, Telemetry, Transaction
from streaming.redrive.transaction import AbortedError, Transactions

SLICE_MS: Final = 200
"""A limited order moves what its rate allows in this time at once: a transaction for each record is dear."""
CHUNK: Final = 1_000
"""Records that are decided before they are handed over: Kafka takes them while the next ones are decided."""
IDLE_MS: Final = 20
WRITTEN: Final = frozenset({Result.SENT, Result.PARKED})


@dataclass(frozen=True, slots=True)
class Parts:
    """What a mover works with."""

    reader: Reader
    intake: Intake
    transactions: Transactions
    routes: Routes
    patiences: Patiences
    guard: Guard
    telemetry: Telemetry = SILENT
    clock: Callable[[], int] = clock_ms


class Mover:
    """One claim's work on one order."""

    def __init__(self, order: Order, frame: report.Frame, parts: Parts, user: str, now_ms: int) -> None:
        self._order, self._request, self._frame, self._user = order, order.request, frame, user
        self._reader, self._intake = parts.reader, parts.intake
        self._transactions, self._routes, self._patiences = parts.transactions, parts.routes, parts.patiences
        self._guard, self._targets = parts.guard, set[str]()
        self._telemetry, self._clock = parts.telemetry, parts.clock
        self._isolation = Isolation()
        self._decider = Decider(order, parts.routes, parts.patiences, parts.intake, self._isolation)
        limits = self._request.limits
        self._straight = self._may_go_straight(parts)
        self._pace = Pace.start(limits.records_per_second, limits.bytes_per_second, now_ms)
        self._paced = False
        self._in_flight = self._room = limits.max_in_flight
        self._number = 0
        self._gone = sum(parts.reader.expired.values())
        self._moved = sum(lane.ledger.moved for lane in parts.reader.lanes.values())

    def step(self, now_ms: int) -> Step:
        """At most one transaction."""
        self._pace = self._pace.filled(now_ms)
        reason, room = self._guard.trip(now_ms, frozenset(self._targets))
        if reason or room == 0:
            return Paused(reason) if reason else Idle(now_ms + BRAKE_MS)
        self._room = self._in_flight if room is None else room
        if self._straight is None:
            self._intake.gather(now_ms, min(CHUNK, self._in_flight))
            self._begin_pace(now_ms)
        if self._left() == 0:
            return Finished(f"limits.max_records ({self._request.limits.max_records}) is reached")
        wait_until_ms = self._too_early()
        if wait_until_ms is not None:
            return Idle(wait_until_ms)
        return self._transact(now_ms)

    @property
    def moved(self) -> int:
        """How many records have gone to their targets, by all claims of the order."""
        return self._moved

    @property
    def waiting(self) -> int:
        """How many letters are put off."""
        return self._intake.waiting()

    def _begin_pace(self, now_ms: int) -> None:
        """The rate counts from the first record: what it took to get there gives no burst."""
        if not self._paced and self._intake.in_hand():
            limits = self._request.limits
            self._pace = Pace.start(limits.records_per_second, limits.bytes_per_second, now_ms)
            self._paced = True

    def _transact(self, now_ms: int) -> Step:
        """Write while deciding, then commit."""
        batch = Batch()
        if self._gone:
            batch.outcomes[Outcome("", Result.SKIPPED, SkipReason.RECORD_GONE)] = self._gone
        try:
            self._grow(batch, now_ms)
        except AbortedError as aborted:
            self._tell(batch, now_ms, aborted)
            self._intake.take_all_back(batch, now_ms)
            return self._aborted(aborted, batch, now_ms)
        except KafkaException:
            self._intake.take_all_back(batch, now_ms)
            self._transactions.abort()
            raise
        if batch.done or self._intake.passed:
            return self._commit(batch, now_ms)
        return self._expired() or self._nothing_moved(now_ms)

    def _grow(self, batch: Batch, now_ms: int) -> None:
        """Decide and write in small portions, up to the limits or as long as there is more."""
        allowed = min(self._pace.records_now(self._left()), self._room)
        size = self._pace.bytes_now()
        for _ in range(0, allowed, CHUNK):
            before = batch.done
            self._take_in(batch, now_ms, min(CHUNK, allowed - batch.count))
            more = self._fill(batch, now_ms, allowed, size)
            for record, place in batch.unwritten():
                self._write(record, place)
            if not more or batch.done == before:
                return

    def _write(self, record: Record, place: DeadLetter) -> None:
        alone = place in self._isolation.alone
        self._transactions.write(record, place, alone=alone)
        if alone:
            self._isolation.taken(place)

    def _take_in(self, batch: Batch, now_ms: int, most: int) -> None:
        """What may go straight is written; the rest is in hand then."""
        straight = self._straight
        messages = self._intake.read(now_ms, most) if straight and not self._patiences.running() else None
        if straight is None or messages is None:
            self._intake.gather(now_ms, most)
            return
        before = len(batch.straight)
        try:
            straight.write(messages, batch, now_ms)
        finally:
            self._intake.add(messages[len(batch.straight) - before :], now_ms)

    def _may_go_straight(self, parts: Parts) -> Straight | None:
        """Where neither a selection nor a rate has to look at single records."""
        limits = self._request.limits
        if limits.records_per_second or limits.bytes_per_second or not selects_all(self._order):
            return None
        causes, transactions = self._decider.causes, parts.transactions
        return Straight(self._order.id, parts.intake, causes, transactions, self._isolation)

    def _left(self) -> int:
        """How many records the order may still move."""
        most = self._request.limits.max_records
        return self._in_flight if most is None else min(max(most - self._moved, 0), self._in_flight)

    def _too_early(self) -> int | None:
        """When the rate allows what is in hand, where it does not now."""
        bucket, in_hand = self._pace.records, self._intake.in_hand()
        if not in_hand:
            return None
        if bucket is not None:
            wanted = min(in_hand, max(int(bucket.rate * SLICE_MS / 1_000), 1), self._left())
            if bucket.balance < wanted:
                return bucket.ready_at_ms(wanted)
        return self._pace.ready_at_ms() if self._pace.records_now(1) == 0 else None

    def _nothing_moved(self, now_ms: int) -> Step:
        if self._intake.finished():
            return Finished()
        due_ms = self._intake.next_due_ms()
        return Idle(now_ms + IDLE_MS if due_ms is None or not self._intake.all_read() else due_ms)

    def _fill(self, batch: Batch, now_ms: int, allowed: int, size: float) -> bool:
        """Decide what is in hand; whether the transaction may have more."""
        while batch.count < allowed and batch.size < size:
            item = self._intake.take()
            if item is None:
                return True
            try:
                verdict = self._decider.decide(item, batch, now_ms)
            except KafkaException:
                self._intake.take_back([item])
                raise
            if verdict is Verdict.LATER or verdict is Verdict.STOPPED:
                self._intake.take_back([item])
            if verdict is not Verdict.TAKEN:
                return False
        return False

    def _commit(self, batch: Batch, now_ms: int) -> Step:
        partitions = self._intake.close(batch)
        try:
            self._end(batch, partitions, now_ms)
        except AbortedError as aborted:
            self._tell(batch, now_ms, aborted)
            self._intake.reopen(batch)
            self._intake.take_all_back(batch, now_ms)
            return self._aborted(aborted, batch, now_ms)
        self._tell(batch, now_ms)
        self._intake.passed.clear()
        self._pace = self._pace.taken(batch.count, batch.size)
        self._moved += batch.moved.total()
        self._guard.wrote(batch.count)
        self._gone = 0
        self._targets.update(one.target_topic for one in batch.outcomes if one.result is Result.SENT)
        self._isolation.committed()
        if self._patiences.running():
            self._patiences.progressed(record.target for record in batch.records)
            self._patiences.answered(self._frame.events_topic)
        return Moved()

    def _tell(self, batch: Batch, began_ms: int, aborted: AbortedError | None = None) -> None:
        frame = self._frame
        error_type = aborted.error.name() if aborted is not None else ""
        times_ms = (began_ms, self._clock())
        self._telemetry.ended(
            Transaction(frame.order, frame.dlq_topic, frame.epoch, self._number, batch, *times_ms, error_type)
        )

    def _end(self, batch: Batch, partitions: set[int], now_ms: int) -> None:
        """Outcomes and offsets, and the commit."""
        self._number += 1
        written = self._transactions.delivered()
        for event in list(report.events(batch, written, self._frame, self._number, now_ms)):
            key, value = encode(event)
            self._transactions.write(Record(self._frame.events_topic, None, now_ms, key, value, ()))
        self._transactions.commit(self._reader.offsets(partitions), self._reader.group)

    def _aborted(self, aborted: AbortedError, batch: Batch, now_ms: int) -> Step:
        """Nothing has happened; find whose fault it was."""
        topics = {one.target_topic for one in batch.outcomes if one.result in WRITTEN}
        refused = self._routes.unwritable({*topics, self._frame.events_topic}) if _unnamed(aborted) else []
        right = missing_right(aborted, self._order.id, self._user, refused)
        if right:
            return Paused(right)
        to_blame = self._isolation.judge(aborted.refusals)
        if to_blame is not None or aborted.follows:
            self._intake.refuse(to_blame or {})
            self._transactions.together = self._isolation.together
            return Moved()
        self._patiences.failed(aborted.failures or [TRANSACTION], now_ms)
        self._routes.refresh()
        most = self._request.guards.max_consecutive_failures
        failing = None if most is None else self._patiences.failing(most)
        if failing:
            name = _name(failing)
            return Paused(f"{name} failed {most} times in a row ({aborted}): mend it, then resume")
        return self._expired() or Moved()

    def _expired(self) -> Paused | None:
        target = self._patiences.expired()
        if target is None:
            return None
        limit_ms = self._request.task_timeout_ms
        return Paused(
            f"{_name(target)} made no progress within task_timeout_ms ({limit_ms}): mend it, then resume"
        )


def _unnamed(aborted: AbortedError) -> bool:
    """Whether a topic is refused that Kafka does not name."""
    return aborted.error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED and not aborted.failures


def _name(target: tuple[str, int]) -> str:
    topic, partition = target
    if not topic:
        return "the transaction"
    return f"target {topic}" if partition == BY_KEY else f"target {topic}/{partition}"
