"""Topics of a real Kafka as tests fill and read them: in order, whole, and committed records only."""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Final, TypeVar, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaProducer

from lab.topics import Topics
from redrive.librdkafka import PARTITION_EOF
from tests.waiting import until

WITHIN_S = 60
Headers = list[tuple[str, str | bytes | None]]
_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")
NOT_YET: Final = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_LEADER_FOR_PARTITION,
)
"""What a broker that has just started says, or that tells of a topic before it leads it."""


@contextmanager
def producing(servers: str, **settings: str | float | bool) -> Iterator[Producer]:
    """A producer that keeps the order of each partition; behind the block the broker has taken everything.

    ``settings`` are the client's own, ``linger_ms`` for ``linger.ms``.
    """
    refused: list[KafkaError] = []
    own = {name.replace("_", "."): value for name, value in settings.items()}
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "log_level": 0,
            "on_delivery": lambda error, _: refused.append(error) if error else None,
            **own,
        }
    )
    yield producer
    assert producer.flush(WITHIN_S) == 0
    assert not refused, refused[0]


def connect_headers(topic: str, partition: int, offset: int, **more: object) -> Headers:
    """What Connect tells of a record that failed; ``more`` is ``connector_name`` for ``connector.name``."""
    told = {"topic": topic, "partition": partition, "offset": offset, **more}
    return [
        (f"__connect.errors.{name.replace('_', '.')}", str(value).encode()) for name, value in told.items()
    ]


class NotUtf8(str):
    """The name of a header that is no UTF-8, for kafka-python; Kafka's own clients write none."""

    __slots__ = ()

    def encode(self, _encoding: str = "", _errors: str = "") -> bytes:
        return b"\xff\xfe" + super().encode()


def produce_unreadable(servers: str, topic: str, partition: int, headers: Headers, count: int = 1) -> None:
    """Records that have one more header than ``headers``, whose name is no UTF-8."""
    with closing(KafkaProducer(bootstrap_servers=servers)) as producer:
        told = [*headers, (NotUtf8("own"), b"1")]
        for sent in [producer.send(topic, b"{}", b"key", told, partition) for _ in range(count)]:
            sent.get(WITHIN_S)


@contextmanager
def undone(servers: str) -> Iterator[Producer]:
    """A producer in a transaction that is open inside the block and comes to nothing at its end."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions(WITHIN_S)
    producer.begin_transaction()
    yield producer
    assert producer.flush(WITHIN_S) == 0
    producer.abort_transaction(WITHIN_S)


def truncate(servers: str, topic: str, *offsets: int) -> None:
    """Delete what is before these offsets of its partitions, in their order; -1: all that there is."""
    places = [TopicPartition(topic, partition, offset) for partition, offset in enumerate(offsets)]
    admin = AdminClient({"bootstrap.servers": servers})
    for deleted in admin.delete_records(places).values():
        deleted.result(WITHIN_S)


def make_anew(servers: str, topic: str) -> None:
    """Delete the topic, and make another one of its name, as wide."""
    Topics(servers).create(topic, partitions=delete(servers, topic))


def delete(servers: str, topic: str) -> int:
    """Delete the topic, and wait until the broker tells of none; how many partitions it had."""
    admin = AdminClient({"bootstrap.servers": servers})
    width = len(admin.list_topics(timeout=WITHIN_S).topics[topic].partitions)
    admin.delete_topics([topic])[topic].result(WITHIN_S)
    until(lambda: topic not in admin.list_topics(timeout=WITHIN_S).topics)
    return width


def reader(servers: str, isolation: str = "read_committed") -> Consumer:
    """A consumer that tells where a partition ends, and commits nothing.

    An end is told by an answer without records: who writes every half second must not be waited for as long.
    """
    config = {
        "group.id": "tests",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 10,
        "log_level": 0,
    }
    return Consumer(config | {"bootstrap.servers": servers, "isolation.level": isolation})


def ends(servers: str, topic: str, isolation: str = "read_committed") -> dict[int, int]:
    """Where each partition ends for such a reader; none of a topic that does not exist."""
    with closing(reader(servers, isolation)) as consumer:
        partitions = consumer.list_topics(topic, timeout=WITHIN_S).topics[topic].partitions
        ask = partial(consumer.get_watermark_offsets, timeout=WITHIN_S)
        return {number: _answered(ask, TopicPartition(topic, number))[1] for number in partitions}


def _answered(ask: Callable[[_Asked], _Answer], about: _Asked) -> _Answer:
    """The answer of a broker that may be ``NOT_YET`` ready for it."""
    answers = list[_Answer]()

    def answered() -> bool:
        try:
            answers.append(ask(about))
        except KafkaException as error:
            if error.args[0].code() not in NOT_YET:
                raise
        return bool(answers)

    until(answered, "a broker that is ready")
    return answers[0]


def until_decided(servers: str, topic: str) -> None:
    """Return as soon as all that the topic holds now is committed or undone, so that readers get past it.

    Kafka answers the end of a transaction before the markers of it are on every partition. A transaction that
    begins later is not waited for: whoever looks while records are moved sees the end of one of them.
    """
    written = ends(servers, topic, "read_uncommitted")

    def decided() -> bool:
        readable = ends(servers, topic)
        return all(readable[partition] >= end for partition, end in written.items())

    until(
        decided, lambda: f"the markers on {topic}: {written} is written, {ends(servers, topic)} is readable"
    )


def messages(servers: str, topic: str, within_s: float = WITHIN_S) -> Iterator[Message]:
    """Every committed record, in the order of each partition; none of a topic that does not exist."""
    with closing(reader(servers)) as consumer:
        left = set(consumer.list_topics(topic, timeout=within_s).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in left])
        deadline_s = time.monotonic() + within_s
        while left:
            assert time.monotonic() < deadline_s, f"{topic} could not be read to its end"
            for message in consumer.consume(1_000, 0.1):
                error = message.error()
                if error is None:
                    yield message
                elif error.code() == PARTITION_EOF:  # any other one goes by: Kafka is asked again
                    left.discard(message.partition() or 0)


def headers_of(message: Message) -> dict[str, bytes]:
    """The headers of a record, whose names differ."""
    return dict(cast("list[tuple[str, bytes]]", message.headers() or []))


def committed(consumer: Consumer, places: list[TopicPartition]) -> list[TopicPartition]:
    """The committed offsets of a group."""
    return _answered(partial(consumer.committed, timeout=30), places)
