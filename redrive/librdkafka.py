"""What confluent-kafka leaves out of its types: consumed records, the dead letters in them, and error codes.

The codes of librdkafka itself, as opposed to those of the brokers, begin with ``_``; they are public all the
same. Records that failed for one cause carry the same headers but for their offset at the origin, and reading
headers is most of the work of moving a record: ``DeadLetterDecoder`` reads those of a cause once.
"""
# ruff: noqa: D102, SLF001 -- methods as of confluent_kafka.Message; the codes

import logging
from dataclasses import replace
from functools import partial
from typing import Any, Final, Protocol, TypeGuard, cast

from confluent_kafka import Consumer, KafkaError, Message

from deadwatch.deadletter.dialects import reading
from deadwatch.deadletter.record import Cause, DeadLetter, parse_record
from deadwatch.runtime.kafka import Options

READ_COMMITTED: Final[Options] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
}
"""Options of a consumer that is assigned its partitions and reads up to their ends."""
SEEK_BEYOND: Final = 1_000
"""Offsets that nobody asked for and that are read through; wider gaps are jumped over."""

PARTITION_EOF: Final = KafkaError._PARTITION_EOF
OFFSET_RESET: Final = KafkaError._AUTO_OFFSET_RESET
"""A partition has no record at the offset where it is read, and is read no further."""
TIMED_OUT: Final = KafkaError._TIMED_OUT
INVALID_SETTING: Final = KafkaError._INVALID_ARG
WRONG_STATE: Final = KafkaError._STATE
PURGED: Final = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
OTHER_RECORD_INVALID: Final = KafkaError._INVALID_DIFFERENT_RECORD
"""Reported of a record whose batch was refused because of another record."""
EXPIRED: Final = frozenset({TIMED_OUT, KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT_QUEUE})
AWAY: Final = EXPIRED | {
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.REQUEST_TIMED_OUT,
}
"""Kafka, or a part of it, cannot be reached: that ends without anybody who resumes an order."""
UNKNOWN_PARTITION: Final = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}
)
CONSUMER_NEEDS_OPERATOR: Final = UNKNOWN_PARTITION | {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
}
"""Errors of a consumer that only people can fix."""
CORRUPT_BATCH: Final = frozenset(
    {KafkaError._BAD_COMPRESSION, KafkaError._BAD_MSG, KafkaError._NOT_IMPLEMENTED}
)
"""A consumer asks for the batch at this offset again and again, and reads its partition no further."""
PRODUCER_NEEDS_OPERATOR: Final = frozenset(
    {
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.INVALID_TRANSACTION_TIMEOUT,
    }
)
"""Errors of a producer that only people can fix: raised as they are, also where they are fatal to it."""

REQUEST_TIMED_OUT: Final = "REQTMOUT"
CONNECTION_FAILED: Final = "FAIL"
WHILE_UP: Final = "in state UP"
MAX_CAUSES: Final = 1_000
MAX_DIGITS: Final = 18
"""Digits that surely fit into Kafka's offsets."""

Headers = list[tuple[str, bytes | None]]
CacheKey = tuple[tuple[str, bytes | None], ...]
"""The headers of a record, with None for the value of the one that holds its offset at the origin."""

log = logging.getLogger(__name__)


class ClientLog:
    """Receives the log of a librdkafka client, which alone tells that a request was sent again.

    ``doubtful`` is true once a request has timed out, or a working connection was lost: the request may still
    be on its way, and reach the broker after whatever the client does next (KIP-890).
    """

    def __init__(self) -> None:
        self.doubtful = False

    def log(self, level: int, form: str, facility: str, client: str, text: str) -> None:
        """Called by the client, in the thread that polls it."""
        if facility == REQUEST_TIMED_OUT or (facility == CONNECTION_FAILED and WHILE_UP in text):
            self.doubtful = True
        log.log(level, form, facility, client, text)


class ConsumerRecord(Protocol):
    """A consumed record, or an error of its partition, as ``confluent_kafka.Message`` gives it."""

    def topic(self) -> str: ...
    def partition(self) -> int: ...
    def offset(self) -> int: ...
    def timestamp(self) -> tuple[int, int]: ...
    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
    def headers(self) -> list[tuple[str, bytes | None]] | None: ...
    def error(self) -> KafkaError | None: ...


def consume(consumer: Consumer, max_records: int, timeout_s: float) -> list[ConsumerRecord]:
    """Records and errors; returns when there are ``max_records`` of them, or when the time is over."""
    return cast("list[ConsumerRecord]", consumer.consume(max_records, timeout_s))


_headers: Final[Any] = partial(Message.headers)
UNREADABLE: Final[Headers] = []
"""The headers of a message of which ``headers_of`` reads none, known by identity."""


def headers_of(message: ConsumerRecord) -> Headers | None:
    """The headers of a record; None where the name of one is no UTF-8, which keeps all from being read.

    ``Message.headers`` of confluent-kafka 2.16.1 sets an error then and returns a list of null pointers, and
    without an error when called again. ``partial`` looks for the error; a call that Python has
    specialised does not, and goes on with the list.
    """
    try:
        headers: Headers | None = _headers(message)
    except SystemError:
        cast("Any", message).set_headers(UNREADABLE)
        return None
    return None if headers is UNREADABLE else headers or []


def decoded(message: ConsumerRecord) -> DeadLetter:
    """The dead letter, decoded by itself."""
    return _decoded(message, headers_of(message))


def _decoded(message: ConsumerRecord, headers: Headers | None) -> DeadLetter:
    dead_letter = parse_record(*_content(message), headers)
    if headers is not None:
        return dead_letter
    return dead_letter._replace(cause=replace(dead_letter.cause, headers_unreadable=True))


def _content(message: ConsumerRecord) -> tuple[str, int, int, int, bytes | None, bytes | None]:
    """Topic, partition, offset, timestamp in ms, key and value."""
    place = (message.topic(), message.partition(), message.offset())
    return *place, message.timestamp()[1], message.key(), message.value()


class DeadLetterDecoder:
    """Decodes as ``decoded`` does, and remembers the causes that it has met lately."""

    def __init__(self) -> None:
        self._causes: dict[CacheKey, Cause] = {}
        self._dialect_of = {
            name: dialect.name
            for dialect in reading().dialects
            for name in dialect.names("source_offset")
            if not dialect.binary_numbers
        }
        """The dialect by the header that may hold the offset at the origin, where that is text."""
        self._index = 0
        """The index of that header in the record before."""

    def decode(self, message: ConsumerRecord) -> DeadLetter:
        """The dead letter of a record."""
        headers = headers_of(message)
        if not headers:
            return _decoded(message, headers)
        known = self.cause(headers)
        if known is None:
            return self._remembered(message, headers)
        cause, digits = known
        return DeadLetter(*_content(message), tuple(headers), int(digits), cause)

    def cause(self, headers: Headers) -> tuple[Cause, bytes] | None:
        """The cause and the offset's digits of a record with these headers; None: it has to be decoded."""
        index = self._index
        if index >= len(headers):
            return None
        name, raw = headers[index]
        cause = self._causes.get((*headers[:index], (name, None), *headers[index + 1 :]))
        return (cause, raw) if cause is not None and _is_digits(raw) else None

    def _remembered(self, message: ConsumerRecord, headers: Headers) -> DeadLetter:
        """Decode the record, and remember its cause if others may have it."""
        dead_letter = _decoded(message, headers)
        indexes = [index for index, (name, _) in enumerate(headers) if name in self._dialect_of]
        if len(indexes) != 1 or not _is_digits(headers[indexes[0]][1]) or dead_letter.source_offset is None:
            return dead_letter
        self._index = index = indexes[0]
        name, _ = headers[index]
        if self._dialect_of[name] != dead_letter.dialect:
            return dead_letter
        key = (*headers[:index], (name, None), *headers[index + 1 :])
        known = self._causes.get(key)
        if known == dead_letter.cause:
            return dead_letter._replace(cause=known)
        if len(self._causes) >= MAX_CAUSES:
            self._causes.clear()
        self._causes[key] = dead_letter.cause
        return dead_letter


def _is_digits(raw: bytes | None) -> TypeGuard[bytes]:
    return raw is not None and raw.isdigit() and len(raw) <= MAX_DIGITS
