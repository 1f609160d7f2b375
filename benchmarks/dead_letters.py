"""Dead letters of all dialects, mixed: 1.9 kB and ten headers each, of as many causes as asked for.

The cause of a record is a word in its message, and decides its dialect. The message tells a number as well,
another one in every record, as messages do: whoever groups by cause has to look through it.
"""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from confluent_kafka import Producer

from deadwatch.contract import headers

Header = tuple[str, str | bytes | None]
Headers = list[Header]
ALPHABET: Final = "ghjkmnpqrtvwxyz"  # no word of it is a number, an id or a hash, so that no pattern hides it
SIZE: Final = 1_900
"""Bytes of a record's headers and value; the value fills up what the headers leave."""
EXCEPTION: Final = b"org.apache.kafka.common.errors.SerializationException"
TRACE: Final = b"".join(
    b"\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:%d)\n" % line
    for line in range(331, 343)
)
OWN: Final[tuple[Header, ...]] = (
    ("content-type", b"application/json"),
    ("tenant", b"acme"),
    ("schema", b"orders-value-7"),
    ("correlation-id", b"1f2e3d4c"),
)
"""What an application had put on its record, where the dialect does not fill ten headers."""


class Written(NamedTuple):
    """What was written, as a reader adds it up: records, bytes of their values, headers."""

    records: int
    bytes: int
    headers: int


class Dialect(NamedTuple):
    """The headers that are the same in all its records, and the names of those that are not."""

    fixed: tuple[Header, ...]
    offset: str
    message: str
    number: Callable[[int], bytes] = b"%d".__mod__


def _spring(exception: str, original: str) -> Dialect:
    return Dialect(
        (
            (headers.SPRING_DLT + "original-consumer-group", b"billing"),  # so in both families
            (exception + "fqcn", b"org.springframework.kafka.listener.ListenerExecutionFailedException"),
            (exception + "cause-fqcn", b"java.lang.IllegalStateException"),
            (exception + "stacktrace", TRACE),
            (original + "topic", b"invoices"),
            (original + "partition", struct.pack(">i", 3)),
            (original + "timestamp", struct.pack(">q", 1_795_250_000_000)),
            (original + "timestamp-type", b"CreateTime"),
        ),
        original + "offset",
        exception + "message",
        struct.Struct(">q").pack,
    )


DIALECTS: Final = (
    Dialect(
        (
            (headers.CONNECT_TOPIC, b"orders"),
            (headers.CONNECT_PARTITION, b"3"),
            (headers.CONNECT_CONNECTOR, b"sink"),
            (headers.CONNECT + "task.id", b"0"),
            (headers.CONNECT + "stage", b"VALUE_CONVERTER"),
            (headers.CONNECT + "class.name", b"org.apache.kafka.connect.json.JsonConverter"),
            (headers.CONNECT_EXCEPTION, b"org.apache.kafka.connect.errors.DataException"),
            (headers.CONNECT + "exception.stacktrace", TRACE),
        ),
        headers.CONNECT_OFFSET,
        headers.CONNECT_MESSAGE,
    ),
    Dialect(
        (
            *OWN,
            (headers.SHARE_TOPIC, b"payments"),
            (headers.SHARE_PARTITION, b"3"),
            (headers.SHARE_GROUP, b"settlement"),
            (headers.SHARE_DELIVERY_COUNT, b"5"),
        ),
        headers.SHARE_OFFSET,
        headers.SHARE_MESSAGE,
    ),
    Dialect(
        (
            *OWN,
            (headers.STREAMS_TOPIC, b"clicks"),
            (headers.STREAMS_PARTITION, b"3"),
            (headers.STREAMS_EXCEPTION, EXCEPTION),
            (headers.STREAMS + "stacktrace", TRACE),
        ),
        headers.STREAMS_OFFSET,
        headers.STREAMS_MESSAGE,
    ),
    _spring(headers.SPRING_DLT + "exception-", headers.SPRING_DLT + "original-"),
    _spring(headers.SPRING + "exception-", headers.SPRING + "original-"),
)


def record(number: int, causes: int) -> tuple[bytes, Headers]:
    """Value and headers of the ``number``-th record; the causes take turns."""
    cause = number % causes
    dialect = DIALECTS[cause % len(DIALECTS)]
    message = b"Unknown magic word %b in record %d" % (_word(cause), number)
    pairs = [*dialect.fixed, (dialect.offset, dialect.number(number)), (dialect.message, message)]
    room = SIZE - sum(len(name) + len(value or b"") for name, value in pairs)
    return b'{"id":%d,"text":"%b"}' % (number, b"x" * room), pairs


def produce(servers: str, topic: str, count: int, causes: int) -> Written:
    """Write ``count`` dead letters of ``causes`` causes; they are there all at once, in one transaction."""
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "transactional.id": topic,
            "transaction.timeout.ms": 900_000,
            "compression.type": "lz4",  # millions of them stay in the page cache
            "linger.ms": 20,
            "queue.buffering.max.messages": 500_000,
        }
    )
    producer.init_transactions()
    producer.begin_transaction()
    size = headers_written = 0
    for number in range(count):
        value, pairs = record(number, causes)
        size += len(value)
        headers_written += len(pairs)
        while True:
            try:
                producer.produce(topic, value, b"%d" % number, headers=pairs)
                break
            except BufferError:
                producer.poll(0.05)
    producer.commit_transaction()
    return Written(count, size, headers_written)


def _word(number: int) -> bytes:
    text = ""
    for _ in range(5):
        number, digit = divmod(number, len(ALPHABET))
        text += ALPHABET[digit]
    return text.encode()
