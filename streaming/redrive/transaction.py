"""Transactions of an order, or of a lane of it: records, outcomes and offsets are committed as one, or not.

The transactional id is the order's or the lane's, so whoever opens it fences the one before. What a failure
means is told by its type; after ``AbortedError`` everything is as before the transaction and the next one may
begin.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, cast

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from collector.kafka import Options
from streaming.redrive.delivery_reports import Refusal, delivered
from streaming.redrive.moved import BY_KEY, DeadLetter, Record, wire_size
from streaming.redrive.received import EXPIRED, STATE

TRY_S: Final = 0.25
"""How long one call blocks before it is asked whether to go on."""
LOOK_S: Final = 0.02
"""How long a client that has failed the transaction is waited for at most."""
QUEUE_RECORDS: Final = 1_000_000
BATCH_BYTES: Final = 1_000_000
"""A record that is larger is in a batch by itself."""

REFUSALS: Final = frozenset(
    {
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.INVALID_TRANSACTION_TIMEOUT,
    }
)
"""What only people can mend: said as it is, whatever it does to the producer."""

Headers = list[tuple[str, str | bytes | None]]
Failures = Mapping[tuple[str, int], KafkaError]


class AbortedError(Exception):
    """Nothing of the transaction has happened; ``failures`` say which target partition refused or expired.

    ``follows``: after a refusal the client's numbers have a gap, which Kafka refuses once: nobody's fault.
    """

    def __init__(
        self,
        error: KafkaError,
        failures: Failures,
        refusals: Sequence[Refusal] = (),
        *,
        follows: bool = False,
    ) -> None:
        super().__init__(error.str())
        self.error = error
        self.failures = failures
        self.refusals = refusals
        self.follows = follows


class FencedError(Exception):
    """This producer can do no more: another one has the transactional id, or Kafka gave the session up."""


class GivenUpError(Exception):
    """The worker has to stop and did not get the end of the transaction in time: it is left to Kafka."""


class UnansweredError(Exception):
    """The client waits for an answer that does not come any more: this producer can do no more."""


class Transactions:
    """One producer; ``give_up`` is asked while Kafka keeps us waiting.

    ``together``: how many records at most wait for their answers at a time; None: as many as there are.
    """

    def __init__(
        self, connection: Options, name: str, delivery_timeout_ms: int, give_up: Callable[[], bool]
    ) -> None:
        self._give_up = give_up
        self._answers_within_s = delivery_timeout_ms / 1_000
        self._begun = self._gap = False
        self.together: int | None = None
        self._unanswered = 0
        self._refusals: list[Refusal] = []
        self._runs: dict[tuple[str, int], list[tuple[int, int]]] = {}
        self._producer = Producer(
            connection
            | {
                "transactional.id": f"deadwatch-redrive-{name}",
                "transaction.timeout.ms": delivery_timeout_ms + 60_000,
                "delivery.timeout.ms": delivery_timeout_ms,
                "partitioner": "murmur2_random",
                "error_cb": _told_by_the_calls,
                "queue.buffering.max.messages": QUEUE_RECORDS,
                "message.max.bytes": 100 << 20,
                "batch.size": BATCH_BYTES,
            }
        )

    def open(self) -> None:
        """Fence whoever had the id; what they left open is aborted."""
        self._insist(self._producer.init_transactions)

    def write(self, record: Record, dead_letter: DeadLetter | None = None, *, alone: bool = False) -> None:
        """Hand a record over; the first one begins a transaction. Refused at once or by the commit.

        One that is ``alone`` shares its batch with no other, and Kafka has it on return.
        """
        topic, partition, timestamp_ms, key, value, headers = record
        if alone:
            self.delivered()
        self.put(topic, partition, timestamp_ms, key, value, list(headers), dead_letter)
        if alone:
            self.delivered()

    def put(  # noqa: PLR0917 -- a record's parts, for who has no Record
        self,
        topic: str,
        partition: int | None,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes | None]],
        dead_letter: DeadLetter | None,
    ) -> None:
        """Hand a record over."""
        if not self._begun:
            self._begin()
        if self.together is not None:
            self._make_room(self.together)
        to = BY_KEY if partition is None else partition
        told = partial(delivered, self._refusals, self._runs, dead_letter, timestamp_ms, headers)
        try:
            self._producer.produce(
                topic,
                value,
                key,
                to,
                told,
                timestamp=max(timestamp_ms, 0),
                headers=cast("Headers", headers),
            )
        except KafkaException as raised:
            error: KafkaError = raised.args[0]
            if error.code() != STATE:  # else the reason came as a delivery report
                size = wire_size(key, value, headers)
                refusal = Refusal(dead_letter, (topic, to), error, size, timestamp_ms, key is not None)
                self._refusals.append(refusal)
            self._abort(error)

    def delivered(self) -> Mapping[tuple[str, int], list[tuple[int, int]]]:
        """Wait until Kafka has all records, or has refused some; the offsets of those that it has.

        By topic and partition: runs in their order, the end left out. A client that has failed the
        transaction sends nothing more: what it still holds could only expire.
        """
        self._begin()
        held = 1
        while held:  # the offsets' call keeps no time: first see that Kafka answers
            held = self._producer.flush(LOOK_S)
            error = self._failed()
            if error is not None and (not held or error.code() not in EXPIRED):
                self._abort(error)
            if held and self._give_up():
                raise GivenUpError
        self._unanswered = 0
        return self._runs

    def _make_room(self, together: int) -> None:
        """For one more."""
        if self._unanswered >= together:
            self.delivered()
        self._unanswered += 1

    def commit(self, offsets: list[TopicPartition], group: object) -> None:
        """All or nothing."""
        self.delivered()
        try:
            self._insist(lambda s: self._send_offsets(offsets, group, s))
            self._insist(self._producer.commit_transaction)
        except KafkaException as raised:
            self._abort(raised.args[0])
        self._begun = self._gap = False

    def abort(self) -> None:
        """Nothing of what was written shall have happened."""
        if self._begun:
            self._drop()

    def _send_offsets(self, offsets: list[TopicPartition], group: object, try_s: float) -> None:
        """The client keeps no time here, and may wait in vain for a broker that was killed and came back."""
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
            sending.join(try_s)
        if refused:
            raise refused[0]

    def _begin(self) -> None:
        if not self._begun:
            self._refusals.clear()
            self._runs.clear()
            self._unanswered = 0
            self._producer.begin_transaction()
            self._begun = True

    def _failed(self) -> KafkaError | None:
        """Why the client has failed the transaction, if it has: another one cannot be begun either way."""
        try:
            self._producer.begin_transaction()
        except KafkaException as raised:
            error: KafkaError = raised.args[0]
            return None if error.code() == STATE else error
        return None

    def _abort(self, refused: KafkaError) -> None:
        error = (self._failed() or refused) if refused.code() == STATE else refused
        if error.fatal() and error.code() not in REFUSALS:
            raise FencedError(error.str())
        if not error.fatal():
            self._drop_after(error)
        follows = self._gap and error.code() == KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
        self._gap = bool(self._refusals)
        failures = {one.target: one.error for one in self._refusals}
        raise AbortedError(error, failures, list(self._refusals), follows=follows)

    def _drop_after(self, error: KafkaError) -> None:
        """One of which Kafka has taken no partition, for want of a right, cannot be ended: it never began."""
        try:
            self._drop()
        except FencedError:
            if error.code() != KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise

    def _drop(self) -> None:
        try:
            self._insist(self._producer.abort_transaction)
        except KafkaException as raised:
            raise FencedError(raised.args[0].str()) from None
        self._producer.poll(0)
        self._begun = False

    def _insist(self, call: Callable[[float], object]) -> None:
        """Until it is done; what can be tried again is."""
        while True:
            try:
                call(TRY_S)
            except KafkaException as raised:
                error: KafkaError = raised.args[0]
                if error.fatal() and error.code() not in REFUSALS:
                    raise FencedError(error.str()) from None
                if not error.retriable():
                    raise
            else:
                return
            if self._give_up():
                raise GivenUpError


def _told_by_the_calls(error: KafkaError) -> None:
    """Without it a fatal error is raised while a delivery report is handed over."""
    del error
