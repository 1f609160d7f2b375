"""Moves the records of one order, a transaction at a time; the caller waits, renews its claim and stops it.

A step reads what there is room for, decides every record (``redrive.move.decide``), and commits what is
written, parked, skipped and counted together with the offsets. Nothing here sleeps: a record that has to wait
gets its outcome later, out of order (``redrive.move.open_offsets``).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from deadwatch.contract.events import encode
from deadwatch.orders.decision import Result
from deadwatch.orders.guards import BRAKE_MS, Guard
from deadwatch.orders.order import Order
from deadwatch.orders.reasons import SkipReason
from deadwatch.orders.selection import selects_all
from deadwatch.runtime.clock import clock_ms
from redrive.move.batch import Batch, EventFields, Outcome, events
from redrive.move.decide import Decider, Verdict
from redrive.move.failures import AbortedError, CulpritSearch, MadeAnewError, UnmadeTopicError, missing_right
from redrive.move.fast_path import FastPath
from redrive.move.limits import OrderLimits
from redrive.move.reader import Reader
from redrive.move.record_queue import RecordQueue
from redrive.move.rewrite import BY_KEY, ProducerRecord
from redrive.move.targets import TRANSACTION, Router, Target, TargetDeadlines
from redrive.move.transaction import TransactionalProducer
from redrive.telemetry import SILENT, EndedTransaction, Telemetry

CHUNK: Final = 1_000
"""Records that are decided before they are handed over: Kafka takes them while the next ones are decided."""
IDLE_MS: Final = 20
WRITTEN: Final = frozenset({Result.SENT, Result.PARKED})


@dataclass(frozen=True, slots=True)
class Moved:
    """The step had a transaction, committed or aborted: go on at once."""

    committed: bool = True


@dataclass(frozen=True, slots=True)
class Idle:
    """There is nothing to do before ``until_ms``."""

    until_ms: int


@dataclass(frozen=True, slots=True)
class Finished:
    """Every record of the order has its outcome, or the order has reached a limit (``reason``)."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Paused:
    """Somebody has to fix something first."""

    reason: str


Step = Moved | Idle | Finished | Paused


@dataclass(frozen=True, slots=True)
class TaskContext:
    """What a mover works with: the parts that were opened for one claim."""

    reader: Reader
    queue: RecordQueue
    producer: TransactionalProducer
    router: Router
    deadlines: TargetDeadlines
    guard: Guard
    require_topic: Callable[[], None]
    """Raises ``MadeAnewError``: what was read may be of another topic of that name than the order is of."""
    retry_ms: Callable[[int], int]
    """How long to wait after so many transactions in a row that were aborted for no fault of a record."""
    telemetry: Telemetry = SILENT
    clock: Callable[[], int] = clock_ms


class Mover:
    """The work of one claim on one order."""

    def __init__(
        self, order: Order, event_fields: EventFields, context: TaskContext, user: str, now_ms: int
    ) -> None:
        self._order, self._event_fields, self._user = order, event_fields, user
        self._reader, self._queue, self._producer = context.reader, context.queue, context.producer
        self._router, self._deadlines, self._guard = context.router, context.deadlines, context.guard
        self._require_topic, self._retry_ms = context.require_topic, context.retry_ms
        self._telemetry, self._clock = context.telemetry, context.clock
        self._targets: set[str] = set()
        self._culprits = CulpritSearch()
        self._decider = Decider(order, self._router, self._deadlines, self._queue, self._culprits)
        limits = order.request.limits
        plain = not (limits.records_per_second or limits.bytes_per_second) and selects_all(order)
        self._fast_path = FastPath(self._decider, self._queue, self._producer) if plain else None
        moved = sum(state.offsets.moved for state in context.reader.partitions.values())
        self._limits = OrderLimits(limits, moved, now_ms)
        self._number = self._failures = 0

    def step(self, now_ms: int) -> Step:
        """Have at most one transaction. Once this has raised, the claim is over: the next one reads anew."""
        limits = self._limits
        limits.refill(now_ms)
        reason, room = self._guard.trip(now_ms, frozenset(self._targets))
        if reason or room == 0:
            return Paused(reason) if reason else Idle(now_ms + BRAKE_MS)
        limits.make_room(room)
        if self._fast_path is None:
            self._queue.gather(now_ms, min(CHUNK, limits.max_in_flight))
            limits.start_at_first_record(now_ms, self._queue.in_hand())
        if limits.left() == 0:
            return Finished(f"limits.max_records ({self._order.request.limits.max_records}) is reached")
        wait_until_ms = limits.wait_until_ms(self._queue.in_hand())
        if wait_until_ms is not None:
            return Idle(wait_until_ms)
        return self._transact(now_ms)

    @property
    def waiting(self) -> int:
        """How many records are put off."""
        return self._queue.waiting()

    def _transact(self, now_ms: int) -> Step:
        """Write while deciding, then commit what was written, if there is something."""
        batch = Batch()
        failed: AbortedError | KafkaException | MadeAnewError | UnmadeTopicError
        try:
            self._fill(batch, now_ms)
            if batch.done or self._queue.passed_over:
                self._require_topic()  # all that is committed was read before
        except (AbortedError, KafkaException, MadeAnewError, UnmadeTopicError) as raised:
            failed = raised.with_traceback(None)
        else:
            if batch.done or self._queue.passed_over:
                return self._commit(batch, now_ms)
            return self._deadline_expired() or self._nothing_moved(now_ms)
        if isinstance(failed, AbortedError):
            self._queue.put_all_back(batch, now_ms)
            self._report(batch, now_ms, failed)
            return self._aborted(failed, batch, now_ms)
        self._producer.abort()
        if isinstance(failed, UnmadeTopicError):
            return Paused(failed.reason(self._user))
        raise type(failed)(*failed.args)  # itself would be a cycle with this frame

    def _fill(self, batch: Batch, now_ms: int) -> None:
        """Read, decide and write in chunks, up to the limits."""
        allowed, size = self._limits.allowed()
        written = 0
        for _ in range(0, allowed, CHUNK):
            before = batch.done
            self._read(batch, now_ms, min(CHUNK, allowed - batch.count))
            more = self._decide(batch, now_ms, allowed, size)
            begin, written = written, len(batch.records)
            for record, dead_letter in batch.records[begin:]:
                alone = dead_letter in self._culprits.alone
                self._producer.write(record, dead_letter, alone=alone)
                if alone:
                    self._culprits.taken(dead_letter)
            if not more or batch.done == before:
                return

    def _read(self, batch: Batch, now_ms: int, most: int) -> None:
        """Write what may take the fast path; the rest is in hand then."""
        fast_path = None if self._deadlines.running() else self._fast_path
        messages = self._queue.poll(now_ms, most) if fast_path else None
        if fast_path is None or messages is None:
            self._queue.gather(now_ms, most)
            return
        before = len(batch.fast)
        try:
            fast_path.write(messages, batch, now_ms)
        finally:
            self._queue.add(messages[len(batch.fast) - before :], now_ms)

    def _decide(self, batch: Batch, now_ms: int, allowed: int, size: float) -> bool:
        """Decide what is in hand; whether the transaction may have more."""
        while batch.count < allowed and batch.size < size:
            pending = self._queue.take()
            if pending is None:
                return True
            verdict = self._decider.decide(pending, batch, now_ms)
            if verdict is Verdict.NOT_TAKEN:
                self._queue.put_back([pending])
            if verdict is not Verdict.TAKEN:
                return False
        return False

    def _nothing_moved(self, now_ms: int) -> Step:
        if self._queue.finished():
            return Finished()
        due_ms = self._queue.next_due_ms()
        return Idle(now_ms + IDLE_MS if due_ms is None or not self._queue.all_read() else due_ms)

    def _commit(self, batch: Batch, now_ms: int) -> Step:
        self._queue.close(batch)
        expired = self._reader.expired.total()
        if expired:
            batch.outcomes[Outcome("", Result.SKIPPED, SkipReason.RECORD_GONE)] += expired
        aborted: AbortedError | None = None
        written: Iterable[Target] = ()
        try:
            written = self._write_events_and_commit(batch, now_ms)
        except AbortedError as raised:
            aborted = raised.with_traceback(None)
        self._report(batch, now_ms, aborted)
        if aborted:
            self._queue.reopen(batch)
            self._queue.put_all_back(batch, now_ms)
            return self._aborted(aborted, batch, now_ms)
        self._failures = 0
        self._queue.passed_over = False
        self._limits.committed(batch.count, batch.size, batch.moved)
        self._guard.wrote(batch.count)
        self._reader.expired.clear()
        self._targets.update(one.target_topic for one in batch.outcomes if one.result is Result.SENT)
        self._culprits.committed()
        if self._deadlines.running():
            self._deadlines.progressed(written)
            self._deadlines.answered(self._event_fields.events_topic)
        return Moved()

    def _write_events_and_commit(self, batch: Batch, now_ms: int) -> Iterable[Target]:
        """Returns the partitions that records were written to, also where their keys decided."""
        self._number += 1
        written, topic = self._producer.flush(), self._event_fields.events_topic
        for event in list(events(batch, written, self._event_fields, self._reader.closed, now_ms)):
            key, value = encode(event)
            self._producer.write(ProducerRecord(topic, None, now_ms, key, value, ()))
        self._producer.commit(self._reader.offsets_to_commit(), self._reader.group)
        return written

    def _report(self, batch: Batch, began_ms: int, aborted: AbortedError | None = None) -> None:
        error_type, times_ms = aborted.error.name() if aborted else "", (began_ms, self._clock())
        self._telemetry.ended(
            EndedTransaction(self._event_fields, self._number, batch, *times_ms, error_type)
        )

    def _aborted(self, aborted: AbortedError, batch: Batch, now_ms: int) -> Step:
        """Nothing has happened; find whose fault it was."""
        topics = {one.target_topic for one in batch.outcomes if one.result in WRITTEN}
        unnamed = aborted.error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED and not aborted.failures
        refused = self._router.unwritable({*topics, self._event_fields.events_topic}) if unnamed else []
        right = missing_right(aborted.error, self._order.id, self._user, aborted.failures, refused)
        if right:
            return Paused(right)
        culprits = self._culprits.judge(aborted.refusals)
        if culprits is not None or aborted.follows:
            self._queue.refuse(culprits or {})
            self._producer.max_unanswered = self._culprits.max_unanswered
            return Moved(committed=False)
        self._failures += 1
        self._deadlines.failed(aborted.failures or [TRANSACTION], now_ms)
        self._router.refresh()
        most = self._order.request.guards.max_consecutive_failures
        failing = None if most is None else self._deadlines.failing(most)
        if failing:
            return Paused(f"{_name(failing)} failed {most} times in a row ({aborted}): fix it, then resume")
        return self._deadline_expired() or Idle(now_ms + self._retry_ms(self._failures))

    def _deadline_expired(self) -> Paused | None:
        target = self._deadlines.expired()
        if target is None:
            return None
        limit_ms = self._order.request.task_timeout_ms
        return Paused(
            f"{_name(target)} made no progress within task_timeout_ms ({limit_ms}): fix it, then resume"
        )


def _name(target: Target) -> str:
    topic, partition = target
    if not topic:
        return "the transaction"
    return f"target {topic}" if partition == BY_KEY else f"target {topic}/{partition}"
