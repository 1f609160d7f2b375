"""Reading a dead letter topic for a plan: read committed, by assignment, so that no group's offset moves.

The reading ends at the order's cut-off, after so many records or after so long, whichever comes first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from collector.kafka import KafkaConnection
from streaming.letter import letter_of
from streaming.redrive.cluster import LIBRARY, unavailable
from streaming.redrive.order import Order
from streaming.redrive.plan import Tally
from streaming.redrive.selection import Intervals, intervals, within

GROUP: Final = "deadwatch-redrive-scan"
"""Named because librdkafka asks for one; nothing is ever committed for it."""
CHUNK: Final = 1_000
POLL_S: Final = 0.1
WORTH_A_JUMP: Final = 1_000
"""Offsets between two intervals that are jumped over rather than read."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long a scan may take, and how many records it may read."""

    max_records: int
    timeout_ms: int


def scan(
    connection: KafkaConnection, order: Order, tally: Tally, bounds: Bounds, now_ms: Callable[[], int]
) -> bool:
    """Count what the order's topic holds; whether the reading was cut short. ``now_ms`` only ever grows.

    Raises:
        KafkaUnavailableError: the topic cannot be read.
    """
    plan = intervals(order)
    if not plan:
        return False
    consumer = Consumer(
        connection.librdkafka()
        | LIBRARY
        | {
            "group.id": GROUP,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        return _Scan(consumer, order.request.dlq_topic, plan, tally).run(bounds, now_ms)
    except KafkaException as error:
        what = f"topic {order.request.dlq_topic} cannot be read"
        raise unavailable(what, error.args[0], connection) from error
    finally:
        consumer.close()


class _Scan:
    def __init__(self, consumer: Consumer, topic: str, plan: Intervals, tally: Tally) -> None:
        self._consumer, self._topic, self._plan, self._tally = consumer, topic, plan, tally
        self._open = {partition: found[-1][1] for partition, found in plan.items()}
        self._sought: set[int] = set()
        self._read = 0

    def run(self, bounds: Bounds, now_ms: Callable[[], int]) -> bool:
        """Read; whether something is left."""
        until_ms = now_ms() + bounds.timeout_ms
        self._consumer.assign(
            [TopicPartition(self._topic, partition, found[0][0]) for partition, found in self._plan.items()]
        )
        while self._open and self._read < bounds.max_records and now_ms() < until_ms:
            most = min(CHUNK, bounds.max_records - self._read)
            self._sought.clear()
            for message in self._consumer.consume(most, POLL_S):
                self._take(message)
        return bool(self._open)

    def _take(self, message: Any) -> None:  # noqa: ANN401 -- what the library calls optional is there
        error, partition, offset = message.error(), message.partition(), message.offset()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 -- its own code
            raise KafkaException(error)
        if partition not in self._open or partition in self._sought:  # it was fetched before the jump
            return
        end = self._open[partition]
        if error is not None or offset >= end - 1:
            self._finish(partition)
        if error is None and offset < end:
            self._read += 1
            time_ms = message.timestamp()[1]
            record = (time_ms, message.key(), message.value(), message.headers())
            self._tally.add(letter_of(self._topic, partition, offset, *record))
            self._jump(partition, offset)

    def _finish(self, partition: int) -> None:
        del self._open[partition]
        self._consumer.pause([TopicPartition(self._topic, partition)])

    def _jump(self, partition: int, offset: int) -> None:
        """Over what lies between the intervals."""
        if partition not in self._open or within(self._plan, partition, offset + 1):
            return
        following = next(first for first, _ in self._plan[partition] if first > offset)
        if following - offset > WORTH_A_JUMP:
            self._sought.add(partition)
            self._consumer.seek(TopicPartition(self._topic, partition, following))
