"""Dead letters of all partitions as one list by time, oldest or newest first, which can be continued.

Each partition is an interval of offsets that is consumed from one end. A partition keeps its own order;
between partitions the earlier (or later) time goes first, then the lower partition. What is left of the
intervals says where to continue: the list is the same whether it is read at once or in pages.

Windows of offsets are read by assignment: no group is joined and no offset is committed. Records are read
committed. Retention, compaction and transactions leave gaps in a window: it is read whole when its last
offset has been passed. A partition that has been read is unassigned, never paused: a pause, an assignment and
a resume may leave it silent for good (librdkafka issue 5591).
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from deadwatch.deadletter.record import DeadLetter
from deadwatch.orders.order import Interval
from deadwatch.runtime.kafka import KafkaConnection
from redrive.cluster import LIBRARY, asking
from redrive.librdkafka import PARTITION_EOF, READ_COMMITTED, ConsumerRecord, consume, decoded

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
    """What may still be read; ``now_ms`` is a monotonic clock."""

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
        """Whether enough records or bytes have been read."""
        return self.records <= 0 or self.bytes <= 0


@dataclass(slots=True)
class Reading:
    """Dead letters of one window in the order of their offsets; every offset before ``position`` was read.

    ``position`` is beyond the window where a gap reaches further.
    """

    position: int
    records: list[DeadLetter] = field(default_factory=list)


class WindowReader:
    """Reads windows with a consumer of its own."""

    def __init__(self, connection: KafkaConnection, topic: str) -> None:
        self._connection, self._topic = connection, topic
        own = {"group.id": GROUP, "fetch.wait.max.ms": 50, "queued.max.messages.kbytes": 16_384}
        with asking(connection, f"topic {topic} cannot be read"):
            self._consumer = Consumer(connection.librdkafka() | LIBRARY | READ_COMMITTED | own)

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def read(self, windows: Windows, budget: Budget) -> dict[int, Reading]:
        """The windows, or the beginnings of some of them where they are large or the time is over.

        Records and bytes that are read are taken from the budget. Raises ``KafkaUnavailableError``.
        """
        found = {partition: Reading(first) for partition, (first, _) in windows.items()}
        left = {partition: end for partition, (first, end) in windows.items() if first < end}
        if not left:
            return found
        with asking(self._connection, f"topic {self._topic} cannot be read"):
            places = [TopicPartition(self._topic, partition, windows[partition][0]) for partition in left]
            self._consumer.assign(places)
            bytes_before = budget.bytes
            while left and not budget.late and bytes_before - budget.bytes < ROUND_BYTES:
                for message in consume(self._consumer, AT_ONCE, POLL_S):
                    self._take(message, left, found, budget)
        return found

    def _take(
        self, message: ConsumerRecord, left: dict[int, int], found: dict[int, Reading], budget: Budget
    ) -> None:
        error, partition, offset = message.error(), message.partition(), message.offset()
        if error is not None and error.code() != PARTITION_EOF:
            raise KafkaException(error)
        if partition not in left:
            return
        end = left[partition]
        if error is None and offset < end:
            read = decoded(message)
            found[partition].records.append(read)
            budget.records -= 1
            budget.bytes -= read.size + 1
        found[partition].position = offset + 1 if error is None and offset < end else max(offset, end)
        if error is not None or found[partition].position >= end:
            del left[partition]
            self._consumer.incremental_unassign([TopicPartition(self._topic, partition)])


LEAST_WINDOW: Final = 16
FIRST_WINDOW: Final = 128
LARGEST_WINDOW: Final = 4_096
ReadWindows = Callable[[Windows, Budget], Mapping[int, Reading]]


@dataclass(slots=True)
class PartitionCursor:
    """What is left of a partition; ``held`` are its next records, read and not yet returned.

    ``first`` and ``end`` are the offsets that were not returned.
    """

    first: int
    end: int
    window: int = FIRST_WINDOW
    held: deque[DeadLetter] = field(default_factory=deque)
    read_to: int = -1
    """Where the reading ended that ``held`` comes from; -1: nothing was read."""


class Merge:
    """Returns records in order until every partition is at its end or the budget is spent."""

    def __init__(self, left: Mapping[int, Interval], read: ReadWindows, *, newest_first: bool) -> None:
        self._parts = {partition: PartitionCursor(*interval) for partition, interval in sorted(left.items())}
        self._read, self._newest_first = read, newest_first
        self.moved = False
        """Whether any partition has advanced."""

    @property
    def left(self) -> dict[int, Interval]:
        """The intervals that were not returned, by partition; none of them is empty."""
        return {
            partition: (part.first, part.end)
            for partition, part in self._parts.items()
            if part.first < part.end
        }

    def records(self, budget: Budget) -> Iterator[DeadLetter]:
        """The next records; ends when nothing is left, or when the budget is too small for the next one.

        However small the budget is, at least one partition advances as long as there is time.
        """
        while self._fill(budget):
            held = [part for part in self._parts.values() if part.held]
            if not held:
                return
            part = min(held, key=self._rank)
            record = part.held.popleft()
            next_offset = record.offset if self._newest_first else record.offset + 1
            self._move(part, next_offset if part.held else part.read_to)
            yield record

    def _rank(self, part: PartitionCursor) -> tuple[int, int]:
        record = part.held[0]
        return (-record.timestamp_ms if self._newest_first else record.timestamp_ms), record.partition

    def _fill(self, budget: Budget) -> bool:
        """Whether every partition that is not at its end holds its next record."""
        while empty := {
            partition: part
            for partition, part in self._parts.items()
            if not part.held and part.first < part.end
        }:
            if budget.late or (self.moved and budget.spent):
                return False
            share = max(LEAST_WINDOW, budget.records // len(empty))
            windows = {partition: self._window(part, share) for partition, part in empty.items()}
            for partition, reading in self._read(windows, budget).items():
                self._hold(self._parts[partition], windows[partition], reading)
        return True

    def _window(self, part: PartitionCursor, most: int) -> Interval:
        width = min(part.window, most)
        if self._newest_first:
            return max(part.first, part.end - width), part.end
        return part.first, min(part.end, part.first + width)

    def _hold(self, part: PartitionCursor, window: Interval, reading: Reading) -> None:
        whole = reading.position >= window[1]
        if self._newest_first and not whole:  # the newest of the window are missing
            part.window = max(1, part.window // 4)
            return
        if whole:
            part.window = min(LARGEST_WINDOW, part.window * 2)
        part.read_to = window[0] if self._newest_first else min(reading.position, part.end)
        part.held.extend(reversed(reading.records) if self._newest_first else reading.records)
        if not part.held:  # a gap in the offsets
            self._move(part, part.read_to)

    def _move(self, part: PartitionCursor, to: int) -> None:
        self.moved = self.moved or to != (part.end if self._newest_first else part.first)
        if self._newest_first:
            part.end = to
        else:
            part.first = to
