"""Kafka transactions of an order, or of one partition task of it: records, events and offsets commit as one.

The transactional id is the order's or the task's, so whoever opens it fences the producer before. The type of
an error says what a failure means (``redrive.move.failures``); after ``AbortedError`` everything is as before
the transaction, and the next one may begin.

The client is asked nothing while an exception is handled: where it raises then (confluent-kafka 2.16), the
handled one is never freed, nor are the frames of its traceback, with all that they refer to.
"""

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, cast

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from deadwatch.orders.order import TRANSACTION_MARGIN_MS
from deadwatch.orders.selection import Run
from deadwatch.runtime.kafka import Options
from redrive.librdkafka import EXPIRED, PRODUCER_NEEDS_OPERATOR, WRONG_STATE, ClientLog
from redrive.move.failures import (
    BATCH_BYTES,
    AbortedError,
    FencedError,
    GivenUpError,
    Refusal,
    UnansweredError,
    on_delivery,
)
from redrive.move.limits import MAX_RECORDS
from redrive.move.rewrite import BY_KEY, DeadLetterId, ProducerRecord, wire_size

TRY_S: Final = 0.25
"""How long one call of the client blocks before ``give_up`` is asked."""
BACK_S: Final = 1.5
"""How long Kafka answers again before a call that was lost with its connection is given up."""
FLUSH_S: Final = 0.02
"""How long one flush blocks before it is looked whether the client has failed the transaction."""
OFFSETS_TOPIC: Final = "__consumer_offsets"
"""Every cluster has it; to ask for a topic that is not there could make it."""

Headers = list[tuple[str, str | bytes | None]]


class TransactionalProducer:
    """One producer; ``give_up`` is asked while Kafka keeps us waiting.

    ``max_unanswered``: how many records at most wait for their answers at a time; None: no limit.
    """

    def __init__(
        self, connection: Options, name: str, delivery_timeout_ms: int, give_up: Callable[[], bool]
    ) -> None:
        self._give_up = give_up
        self._answers_within_s = delivery_timeout_ms / 1_000
        self._begun = self._gap = False
        self.max_unanswered: int | None = None
        self._unanswered = 0
        self._refusals: list[Refusal] = []
        self._runs: dict[tuple[str, int], list[Run]] = {}
        self._options = connection | {
            "transactional.id": f"deadwatch-redrive-{name}",
            "transaction.timeout.ms": delivery_timeout_ms + TRANSACTION_MARGIN_MS,
            "delivery.timeout.ms": delivery_timeout_ms,
            "partitioner": "murmur2_random",
            "error_cb": lambda _: None,  # the calls raise the errors; else a report raises a fatal one
            "queue.buffering.max.messages": MAX_RECORDS,
            "message.max.bytes": 100 << 20,
            "batch.size": BATCH_BYTES,
        }
        self._log = ClientLog()
        self._producer = Producer(self._options, logger=self._log)
        self._answers_since_s: float | None = None

    def open(self) -> None:
        """Fence whoever had the transactional id; the transaction that they left open is aborted."""
        self._until_done(self._producer.init_transactions)

    def close(self) -> None:
        """Let go of the client, which ends it; a transaction that is open is left to Kafka."""
        del self._producer, self._give_up  # who may give up refers to this producer: they would be a cycle

    def _open_again(self) -> None:
        """Raise the epoch with a new producer, so that Kafka refuses what is still on its way of the old one.

        Without it a delayed ``EndTxn`` could end the next transaction in its middle (KIP-890).
        """
        self._log = ClientLog()
        self._producer = Producer(self._options, logger=self._log)
        self._gap, self._answers_since_s = False, None
        self.open()

    def write(
        self, record: ProducerRecord, dead_letter: DeadLetterId | None = None, *, alone: bool = False
    ) -> None:
        """Hand a record over; the first begins a transaction. What is refused raises now or at the commit.

        A record that is ``alone`` shares its batch with no other, and Kafka has taken it on return.
        """
        topic, partition, timestamp_ms, key, value, headers = record
        if alone:
            self.flush()
        self.produce(topic, partition, timestamp_ms, key, value, list(headers), dead_letter)
        if alone:
            self.flush()

    def produce(  # noqa: PLR0917 -- the parts of a record, for the fast path, which makes no ProducerRecord
        self,
        topic: str,
        partition: int | None,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes | None]],
        dead_letter: DeadLetterId | None,
    ) -> None:
        """Hand a record over, as ``write`` does; what a client that is full holds, Kafka takes first."""
        if not self._begun:
            self._begin()
        if self.max_unanswered is not None:
            if self._unanswered >= self.max_unanswered:
                self.flush()
            self._unanswered += 1
        to = BY_KEY if partition is None else partition
        report = partial(on_delivery, self._refusals, self._runs, dead_letter, timestamp_ms, headers)
        pairs, time_ms = cast("Headers", headers), max(timestamp_ms, 0)
        error: KafkaError | None = None
        try:
            self._producer.produce(topic, value, key, to, report, timestamp=time_ms, headers=pairs)
        except BufferError:
            pass
        except KafkaException as raised:
            error = raised.args[0]
        else:
            return
        if error is None:
            self.flush()
            self.produce(topic, partition, timestamp_ms, key, value, headers, dead_letter)
            return
        size = wire_size(key, value, headers)
        self._refused(Refusal(dead_letter, (topic, to), error, size, timestamp_ms, key is not None))

    def flush(self) -> Mapping[tuple[str, int], list[Run]]:
        """Wait until Kafka has all records, or has refused some; returns their runs by topic and partition.

        A client that has failed the transaction sends nothing more: what it still holds could only expire.
        """
        self._begin()
        held = 1
        while held:  # the call that sends offsets keeps no time: first see that Kafka answers
            held = self._producer.flush(FLUSH_S)
            error = self._failed()
            if error is not None and (not held or error.code() not in EXPIRED):
                self._abort(error)
            if held and self._give_up():
                raise GivenUpError
        self._unanswered = 0
        return self._runs

    def commit(self, offsets: list[TopicPartition], group: object) -> None:
        """Commit the records and the consumed offsets of ``group``: all or nothing."""
        self.flush()
        try:
            self._until_done(lambda s: self._send_offsets(offsets, group, s))
            self._until_done(self._producer.commit_transaction)
        except KafkaException as raised:
            error: KafkaError = raised.args[0]
        else:
            self._begun = self._gap = False
            return
        self._abort(error)

    def abort(self) -> None:
        """Abort what was written, if anything was."""
        if self._begun:
            self._abort_transaction()

    def _send_offsets(self, offsets: list[TopicPartition], group: object, try_s: float) -> None:
        """Send the offsets in a thread: the client may wait in vain for a broker that was killed, and longer
        than its timeout.
        """
        refused: list[KafkaException] = []

        def send() -> None:
            try:
                self._producer.send_offsets_to_transaction(offsets, group, try_s)
            except KafkaException as raised:
                refused.append(raised)

        sending = threading.Thread(target=send, name="offsets", daemon=True)
        sending.start()
        deadline_s = time.monotonic() + self._answers_within_s
        sending.join(try_s)
        while sending.is_alive():
            if self._give_up():
                raise GivenUpError
            if time.monotonic() > deadline_s:
                raise UnansweredError
            self._see_whether_lost()
            sending.join(try_s)
        if refused:
            raise refused.pop()  # this frame, which its traceback has, does not have it: no cycle

    def _refused(self, refusal: Refusal) -> None:
        if refusal.error.code() != WRONG_STATE:  # else the reason came as a delivery report
            self._refusals.append(refusal)
        self._abort(refusal.error)

    def _begin(self) -> None:
        if self._begun:
            return
        self._producer.poll(0)
        if self._log.doubtful:
            self._open_again()
        self._refusals.clear()  # after the poll: it may bring a late report of the transaction before
        self._runs.clear()
        self._unanswered = 0
        self._producer.begin_transaction()
        self._begun = True

    def _failed(self) -> KafkaError | None:
        """Why the client has failed the transaction, if it has: the error of beginning a second one tells."""
        try:
            self._producer.begin_transaction()
        except KafkaException as raised:
            error: KafkaError = raised.args[0]
            return None if error.code() == WRONG_STATE else error
        return None

    def _abort(self, refused: KafkaError) -> None:
        """Abort the transaction and raise ``AbortedError``, or ``FencedError`` where the producer is lost."""
        error = (self._failed() or refused) if refused.code() == WRONG_STATE else refused
        if error.fatal() and error.code() not in PRODUCER_NEEDS_OPERATOR:
            raise FencedError(error.str())
        if not error.fatal():
            try:
                self._abort_transaction()
            except FencedError:  # for want of a right Kafka took no partition: for it nothing has begun
                if error.code() != KafkaError.TOPIC_AUTHORIZATION_FAILED:
                    raise
        follows = self._gap and error.code() == KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
        self._gap = bool(self._refusals)
        failures = {refusal.target: refusal.error for refusal in self._refusals}
        raise AbortedError(error, failures, list(self._refusals), follows=follows)

    def _abort_transaction(self) -> None:
        try:
            self._until_done(self._producer.abort_transaction)
        except KafkaException as raised:
            raise FencedError(raised.args[0].str()) from None
        self._producer.poll(0)
        self._begun = False

    def _until_done(self, call: Callable[[float], object]) -> None:
        """Repeat a call with a timeout until it is done; an error that is not retriable is raised."""
        while True:
            try:
                call(TRY_S)
            except KafkaException as raised:
                error: KafkaError = raised.args[0]
                if error.fatal() and error.code() not in PRODUCER_NEEDS_OPERATOR:
                    raise FencedError(error.str()) from None
                if not error.retriable():
                    raise
            else:
                self._answers_since_s = None
                return
            if self._give_up():
                raise GivenUpError
            self._see_whether_lost()

    def _see_whether_lost(self) -> None:
        """Raise ``UnansweredError`` where a call waits for what went down with its connection.

        The client does not always send it again: Kafka answers other requests then, and this one never.
        """
        self._producer.poll(0)  # brings the client's log
        if not self._log.doubtful:
            return
        try:
            self._producer.list_topics(OFFSETS_TOPIC, TRY_S)
        except KafkaException:
            self._answers_since_s = None
            return
        now_s = time.monotonic()
        self._answers_since_s = self._answers_since_s or now_s
        if now_s - self._answers_since_s > BACK_S:
            raise UnansweredError
