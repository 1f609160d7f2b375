"""Dead letters as Connect writes them, of as many causes as asked for: 2 kB each, mostly a stack trace."""

from typing import Final

from confluent_kafka import Producer

Header = tuple[str, str | bytes | None]
ALPHABET: Final = "ghjkmnpqrtvwxyz"  # no word of it is a number, an id or a hash, so that no pattern hides it
VALUE: Final = b"x" * 400
TRACE: Final = b"at org.apache.kafka.connect.json.JsonConverter.toConnectData\n" * 20
COMMON: Final[tuple[Header, ...]] = (
    ("__connect.errors.topic", b"orders"),
    ("__connect.errors.partition", b"3"),
    ("__connect.errors.offset", b"123456"),
    ("__connect.errors.connector.name", b"sink"),
    ("__connect.errors.task.id", b"0"),
    ("__connect.errors.stage", b"VALUE_CONVERTER"),
    ("__connect.errors.exception.class.name", b"org.apache.kafka.connect.errors.DataException"),
    ("__connect.errors.exception.stacktrace", TRACE),
)


def produce(servers: str, topic: str, count: int, messages: int) -> None:
    """Write ``count`` dead letters of ``messages`` distinct messages, these in turns."""
    headers: list[list[Header]] = [
        [*COMMON, ("__connect.errors.exception.message", f"Unknown magic word {_word(number)}".encode())]
        for number in range(messages)
    ]
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": True,  # a request that is sent again would be counted again
            "linger.ms": 20,
            "queue.buffering.max.messages": 500_000,
        }
    )
    for number in range(count):
        while True:
            try:
                producer.produce(topic, VALUE, b"%d" % number, headers=headers[number % messages])
                break
            except BufferError:
                producer.poll(0.05)
    producer.flush()


def _word(number: int) -> str:
    text = ""
    for _ in range(5):
        number, digit = divmod(number, len(ALPHABET))
        text += ALPHABET[digit]
    return text
