"""Windows of offsets of one topic, read by assignment: no group is joined and no offset is committed.

Records are read committed. Retention, compaction and transactions leave gaps in a window: it is read whole
when its last offset has been passed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from confluent_kafka import Consumer, KafkaException, TopicPartition

from collector.kafka import KafkaConnection
from streaming.letter import Letter, letter_of
from streaming.redrive.cluster import LIBRARY, unavailable
from streaming.redrive.order import Interval
from streaming.redrive.received import PARTITION_EOF, Received, consume

GROUP: Final = "deadwatch-browse"
"""Named because librdkafka asks for one; nothing is ever committed for it."""
AT_ONCE: Final = 100
ROUND_BYTES: Final = 16 << 20
"""Of keys and values that one reading holds; what was fetched together comes on top."""
POLL_S: Final = 0.1

Windows = Mapping[int, Interval]
"""Offsets by partition; the end is left out."""


@dataclass(slots=True)
class Budget:
    """What may still be read; ``now_ms`` only ever grows."""

    records: int
    bytes: int
    until_ms: int
    now_ms: Callable[[], int]

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self.now_ms() >= self.until_ms

    @property
    def spent(self) -> bool:
        """Whether enough has been read."""
        return self.records <= 0 or self.bytes <= 0


@dataclass(slots=True)
class Reading:
    """Letters of one window in the order of their offsets; all before ``position`` has been seen.

    It is beyond the window where a gap reaches further.
    """

    position: int
    letters: list[Letter] = field(default_factory=list)


class WindowReader:
    """A consumer of its own."""

    def __init__(self, connection: KafkaConnection, topic: str) -> None:
        self._connection, self._topic = connection, topic
        self._consumer = Consumer(
            connection.librdkafka()
            | LIBRARY
            | {
                "group.id": GROUP,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 50,
                "queued.max.messages.kbytes": 16_384,
            }
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    def read(self, windows: Windows, budget: Budget) -> dict[int, Reading]:
        """The windows, or the beginnings of some of them where they are large or the time is over.

        What is read is taken from the budget.

        Raises:
            KafkaUnavailableError: the topic cannot be read.
        """
        found = {partition: Reading(first) for partition, (first, _) in windows.items()}
        left = {partition: end for partition, (first, end) in windows.items() if first < end}
        if not left:
            return found
        try:
            places = [TopicPartition(self._topic, partition, windows[partition][0]) for partition in left]
            self._consumer.assign(places)
            self._consumer.resume(places)  # a pause outlives the assignment
            bytes_before = budget.bytes
            while left and not budget.late and bytes_before - budget.bytes < ROUND_BYTES:
                for message in consume(self._consumer, AT_ONCE, POLL_S):
                    self._take(message, left, found, budget)
        except KafkaException as error:
            what = f"topic {self._topic} cannot be read"
            raise unavailable(what, error.args[0], self._connection) from error
        return found

    def _take(
        self, message: Received, left: dict[int, int], found: dict[int, Reading], budget: Budget
    ) -> None:
        error, partition, offset = message.error(), message.partition(), message.offset()
        if error is not None and error.code() != PARTITION_EOF:
            raise KafkaException(error)
        if partition not in left:
            return
        end = left[partition]
        if error is None and offset < end:
            read = letter(message)
            found[partition].letters.append(read)
            budget.records -= 1
            budget.bytes -= read.size + 1
        found[partition].position = offset + 1 if error is None and offset < end else max(offset, end)
        if error is not None or found[partition].position >= end:
            del left[partition]
            self._consumer.pause([TopicPartition(self._topic, partition)])


def letter(message: Received) -> Letter:
    """What a record says."""
    return letter_of(
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        message.headers(),
    )
