"""A publisher on a Kafka that fails as it is told to, and an event that tests tell apart by its offset."""

import threading
from collections.abc import Callable, Sequence
from random import Random

from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError

from collector.positions import Positions
from collector.publish.dead_letters import DeadLetter, DeadLetterWriter, KafkaDeadLetterProducer
from collector.publish.producer import FencedError, KafkaEventProducer, Record, RecordRefusedError, Retries
from collector.publish.publisher import ChunkQueue, Delivery, Publisher
from deadwatch.contract.backoff import Backoff
from deadwatch.contract.events import Position, WorkerStarted
from deadwatch.runtime.health import unheard

TIMES = {"happened_at_ms": 0, "observed_at_ms": 0}


def event(offset: int, source: str = "log:a") -> WorkerStarted:
    place = Position(0, offset)
    return WorkerStarted(source=source, position=place, **TIMES, kafka_cluster="c", worker=f"w{offset}")


class Broker(KafkaEventProducer):
    """Commits what it is sent, after the given failures; a lost answer commits all the same.

    It refuses every transaction with a value that holds one of ``refused``.
    """

    def __init__(self, *failures: str, refused: Sequence[bytes] = ()) -> None:
        self.failures = list(failures)
        self.refused = refused
        self.committed: list[Record] = []
        self.opened = 0

    def connect(self) -> "Broker":
        self.opened += 1
        if self.failures and self.failures[0] == "unreachable":
            self.failures.pop(0)
            raise KafkaConnectionError
        return self

    def transact(self, records: Sequence[Record]) -> None:
        failure = self.failures.pop(0) if self.failures else ""
        if any(part in value for part in self.refused for _, value in records):
            raise RecordRefusedError("too large")
        if failure == "fenced":
            raise FencedError
        if failure != "timeout":
            self.committed += records
        if failure:
            raise KafkaTimeoutError(failure)

    def close(self) -> None:
        """Nothing is held."""

    def holds(self, *texts: str) -> bool:
        return any(all(text.encode() in value for text in texts) for _, value in tuple(self.committed))


class Queue(KafkaDeadLetterProducer):
    """A dead letter queue that keeps what it is given, after the given errors."""

    def __init__(self, *errors: KafkaError) -> None:
        self.errors = list(errors)
        self.dead_letters: list[DeadLetter] = []

    def write(self, dead_letters: Sequence[DeadLetter]) -> list[tuple[DeadLetter, KafkaError]]:
        if self.errors:
            raise self.errors.pop(0)
        self.dead_letters += dead_letters
        return []

    def close(self) -> None:
        """Nothing is held."""


def publisher_of(
    broker: Broker,
    positions: Positions,
    chunks: ChunkQueue,
    queue: Queue,
    published: Callable[[], None] = unheard,
) -> Publisher:
    retries = Retries(Backoff(1, 2), Random(1), threading.Event())
    delivery = Delivery(broker.connect, topic="events", kafka="k:9092", retries=retries)
    dead_letters = DeadLetterWriter(lambda: queue, topic="dlq.d", retries=retries)
    return Publisher(chunks, positions, delivery, dead_letters, retries.stopping, published=published)
