"""Transactions of an order, or of a lane of it: records, outcomes and offsets are committed as one, or not.

The transactional id is the order's or the lane's, so whoever opens it fences the one before. What a failure
means is told by its type; after ``AbortedError`` everything is as before the transaction and the next one may
begin.
"""

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, cast

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from collector.kafka import Options
from streaming.redrive.moved import BY_KEY, Record
from streaming.redrive.received import PURGED, STATE

TRY_S: Final = 0.25
"""How long one call blocks before it is asked whether to go on."""
QUEUE_RECORDS: Final = 1_000_000

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
    """Nothing of the transaction has happened; ``failures`` say which target partition refused or expired."""

    def __init__(self, error: KafkaError, failures: Failures) -> None:
        super().__init__(error.str())
        self.error = error
        self.failures = failures


class FencedError(Exception):
    """This producer can do no more: another one has the transactional id, or Kafka gave the session up."""


class GivenUpError(Exception):
    """The worker has to stop and did not get the end of the transaction in time: it is left to Kafka."""


class UnansweredError(Exception):
    """The client waits for an answer that does not come any more: this producer can do no more."""


class Transactions:
    """One producer; ``give_up`` is asked while Kafka keeps us waiting."""

    def __init__(
        self, connection: Options, name: str, delivery_timeout_ms: int, give_up: Callable[[], bool]
    ) -> None:
        self._give_up = give_up
        self._answers_within_s = delivery_timeout_ms / 1_000
        self._begun = False
        self._failures: dict[tuple[str, int], KafkaError] = {}
        self._runs: dict[tuple[str, int], list[tuple[int, int]]] = {}
        self._producer = Producer(
            connection
            | {
                "transactional.id": f"deadwatch-redrive-{name}",
                "transaction.timeout.ms": delivery_timeout_ms + 60_000,
                "delivery.timeout.ms": delivery_timeout_ms,
                "partitioner": "murmur2_random",
                "error_cb": _told_by_the_calls,
                "on_delivery": partial(_delivered, self._failures, self._runs),
                "queue.buffering.max.messages": QUEUE_RECORDS,
                "message.max.bytes": 100 << 20,
                "batch.size": 1_000_000,
            }
        )

    def open(self) -> None:
        """Fence whoever had the id; what they left open is aborted."""
        self._insist(self._producer.init_transactions)

    def write(self, record: Record) -> None:
        """Hand a record over; the first one begins a transaction. Refused at once or by the commit."""
        topic, partition, timestamp_ms, key, value, headers = record
        self.put(topic, partition, timestamp_ms, key, value, list(headers))

    def put(  # noqa: PLR0917 -- a record's parts, for who has no Record
        self,
        topic: str,
        partition: int | None,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes | None]],
    ) -> None:
        """Hand a record over."""
        if not self._begun:
            self._begin()
        to = BY_KEY if partition is None else partition
        try:
            self._producer.produce(
                topic, value, key, to, timestamp=max(timestamp_ms, 0), headers=cast("Headers", headers)
            )
        except KafkaException as raised:
            error: KafkaError = raised.args[0]
            if error.code() != STATE:  # else the reason came as a delivery report
                self._failures[topic, to] = error
            self._abort(error)

    def delivered(self) -> Mapping[tuple[str, int], list[tuple[int, int]]]:
        """Wait until Kafka has all records, or has refused some; the offsets of those that it has.

        By topic and partition: runs in their order, the end left out.
        """
        self._begin()
        while self._producer.flush(TRY_S):  # the offsets' call keeps no time: first see that Kafka answers
            if self._give_up():
                raise GivenUpError
        return self._runs

    def commit(self, offsets: list[TopicPartition], group: object) -> None:
        """All or nothing."""
        self.delivered()
        try:
            self._insist(lambda s: self._send_offsets(offsets, group, s))
            self._insist(self._producer.commit_transaction)
        except KafkaException as raised:
            self._abort(raised.args[0])
        self._begun = False

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
            self._failures.clear()
            self._runs.clear()
            self._producer.begin_transaction()
            self._begun = True

    def _reason(self, error: KafkaError) -> KafkaError:
        """Why the transaction failed, where all that is said is that it has."""
        if error.code() == STATE:
            try:
                self._producer.begin_transaction()
            except KafkaException as raised:
                return cast("KafkaError", raised.args[0])
        return error

    def _abort(self, refused: KafkaError) -> None:
        error = self._reason(refused)
        if error.fatal() and error.code() not in REFUSALS:
            raise FencedError(error.str())
        if not error.fatal():
            self._drop_after(error)
        raise AbortedError(error, dict(self._failures))

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


def _delivered(
    failures: dict[tuple[str, int], KafkaError],
    runs: dict[tuple[str, int], list[tuple[int, int]]],
    error: KafkaError | None,
    message: Message,
) -> None:
    """Knows no producer: one that is not referred to any more ends at once."""
    place = message.topic() or "", message.partition() or 0
    if error is None:
        _extend(runs.setdefault(place, []), message.offset() or 0)
    elif error.code() not in PURGED:
        failures[place] = error


def _extend(runs: list[tuple[int, int]], offset: int) -> None:
    """Offsets of a partition come in their order."""
    if runs and runs[-1][1] == offset:
        runs[-1] = (runs[-1][0], offset + 1)
    else:
        runs.append((offset, offset + 1))
