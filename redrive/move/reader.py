"""Reads the dead letter topic, from where the order has come to its cut-off; every selected offset once.

Records are read committed, by assignment: the partitions are the order's alone, and the order's transactional
id keeps off a second worker. What may be read ahead is limited by the open offsets of each partition. What
retention takes before it is read, also while it is read, is counted; compaction and aborted transactions
leave gaps in the offsets as well, and these are not. A partition that ends before the cut-off has lost its
last records, whose offsets go to others: that ends the order (``TruncatedError``), unless it is done with it.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from deadwatch.orders.order import Interval
from deadwatch.orders.selection import Intervals, around
from deadwatch.runtime.kafka import Options
from redrive.librdkafka import (
    CONSUMER_NEEDS_OPERATOR,
    CORRUPT_BATCH,
    OFFSET_RESET,
    PARTITION_EOF,
    READ_COMMITTED,
    SEEK_BEYOND,
    WRONG_STATE,
    ConsumerRecord,
    consume,
)
from redrive.move.failures import TruncatedError
from redrive.move.open_offsets import OpenOffsets

TIMEOUT_S: Final = 10.0
POLL_S: Final = 0.1
ERRORS_EXAMINED: Final = 10
"""Errors that are looked through for the reason of a call that timed out."""


@dataclass(slots=True)
class PartitionState:
    """One partition: its open offsets, where its selection ends, whether it is paused."""

    offsets: OpenOffsets
    end: int
    paused: bool = False
    interval: Interval = (0, 0)
    """The interval of the selection that was read last."""

    @property
    def read(self) -> bool:
        """Whether nothing more has to be read."""
        return self.offsets.position >= self.end

    @property
    def done(self) -> bool:
        """Whether every record has its outcome: what becomes of the partition does not matter."""
        return self.read and not self.offsets.open


class Reader:
    """A consumer of its own; ``group`` is what offsets are committed for."""

    def __init__(self, connection: Options, order: str, topic: str, plan: Intervals) -> None:
        self._topic, self._plan = topic, plan
        own = {"group.id": f"deadwatch-redrive-{order}", "fetch.wait.max.ms": 100}
        self._consumer = Consumer(connection | READ_COMMITTED | own | {"auto.offset.reset": "error"})
        self.expired: Counter[int] = Counter()
        """How many selected offsets retention took before they were read, by partition, as far as no commit
        has told of them."""
        self.resumed = 0
        """What ``closed`` was at the last commit, by what Kafka has kept of it."""
        self.partitions: dict[int, PartitionState] = {}

    def open(self) -> None:
        """Go on where the last transaction of the order ended."""
        places = [TopicPartition(self._topic, partition) for partition in self._plan]
        committed = self._committed(places) if places else []
        self.partitions = {place.partition: self._resumed(place) for place in committed}
        self._consumer.assign(
            [TopicPartition(self._topic, n, state.offsets.position) for n, state in self.partitions.items()]
        )

    @property
    def closed(self) -> int:
        """How many offsets of all partitions are done: more with every commit, whoever makes it."""
        return sum(state.offsets.closed for state in self.partitions.values())

    @property
    def group(self) -> object:
        """The consumer group's metadata, for the transaction."""
        return self._consumer.consumer_group_metadata()

    def poll(self, max_records: int) -> list[ConsumerRecord]:
        """Selected records, which are open from now on; empty when there are none at the moment."""
        self._resume_paused()
        taken: list[ConsumerRecord] = []
        for message in consume(self._consumer, max_records, POLL_S):
            error = message.error()
            if error is None:
                if self._take(message):
                    taken.append(message)
            elif error.code() == PARTITION_EOF:
                self._ended(message)
            elif error.code() == OFFSET_RESET:
                self._start_again(message.partition())
            elif error.code() in CORRUPT_BATCH:
                place = f"partition {message.partition()} of {message.topic()}"
                text = f"{place} cannot be read from offset {message.offset()} on ({error.str()})"
                raise KafkaException(KafkaError(error.code(), text))
            elif error.code() in CONSUMER_NEEDS_OPERATOR:
                raise KafkaException(error)
        return taken

    def offsets_to_commit(self) -> list[TopicPartition]:
        """The first open offset of every partition; its metadata names the other open ones.

        Those of partitions in which nothing has happened are among them: Kafka forgets the offsets of a group
        without members one by one, ``offsets.retention.minutes`` after their commit.
        """
        return [
            TopicPartition(self._topic, partition, *state.offsets.commit())
            for partition, state in self.partitions.items()
        ]

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def _committed(self, places: list[TopicPartition]) -> list[TopicPartition]:
        """For a group that we may not see librdkafka waits in vain; an error of the consumer says why."""
        try:
            return self._consumer.committed(places, timeout=TIMEOUT_S)
        except KafkaException as raised:
            why: KafkaError = raised.args[0]
        for message in consume(self._consumer, ERRORS_EXAMINED, POLL_S):
            error = message.error()
            if error is not None and error.code() in CONSUMER_NEEDS_OPERATOR:
                why = error
                break
        raise KafkaException(why)

    def _resumed(self, place: TopicPartition) -> PartitionState:
        """Where a partition goes on: at what was committed, else where the selection begins."""
        if place.error is not None:
            raise KafkaException(place.error)
        if place.offset >= 0:
            offsets = OpenOffsets.resumed(place.offset, place.metadata or "")
        else:
            offsets = OpenOffsets(self._plan[place.partition][0][0])
        self.resumed += offsets.closed
        state = PartitionState(offsets, self._plan[place.partition][-1][1])
        if not state.done:
            self._pass_expired(place.partition, offsets, self._begin(place.partition))
        return state

    def _begin(self, partition: int) -> int:
        """The first offset that a partition holds. Raises ``TruncatedError``."""
        place, expected = TopicPartition(self._topic, partition), self._plan[partition][-1][1]
        low, end = self._consumer.get_watermark_offsets(place, timeout=TIMEOUT_S)
        if end < expected:
            raise TruncatedError(self._topic, partition, end, expected)
        return low

    def _pass_expired(self, partition: int, offsets: OpenOffsets, low: int) -> None:
        """The partition begins at ``low``: count what was selected before it and not read."""
        intervals = self._plan[partition]
        low = min(low, intervals[-1][1])
        if offsets.position < low:
            self.expired[partition] += sum(
                max(min(stop, low) - max(start, offsets.position), 0) for start, stop in intervals
            )
            offsets.expired(low)

    def _start_again(self, partition: int) -> None:
        """Read on where the partition has a record again: nothing is left of it at its position."""
        if self.partitions[partition].done:
            return
        offsets, low = self.partitions[partition].offsets, self._begin(partition)
        self._pass_expired(partition, offsets, low)
        self._go_to(partition, max(offsets.position, low))

    def _go_to(self, partition: int, offset: int) -> None:
        """Read on from this offset; to seek is refused once the client has given up the partition."""
        place = TopicPartition(self._topic, partition, offset)
        try:
            self._consumer.seek(place)
        except KafkaException as raised:
            if raised.args[0].code() != WRONG_STATE:
                raise
            self._consumer.incremental_unassign([place])
            self._consumer.incremental_assign([place])

    def _resume_paused(self) -> None:
        for partition, state in self.partitions.items():
            if state.paused and not state.read and state.offsets.room(state.offsets.position):
                state.paused = False
                self._consumer.resume([TopicPartition(self._topic, partition)])
                self._go_to(partition, state.offsets.position)

    def _take(self, message: ConsumerRecord) -> bool:
        """Whether the record is selected and there is room for it; it is open then."""
        partition, offset = message.partition(), message.offset()
        state = self.partitions[partition]
        if state.paused or offset < state.offsets.position:
            return False
        start, stop = state.interval
        if not start <= offset < stop and not self._enters(partition, state, offset):
            return False
        if not state.offsets.room(offset):
            self._pause(partition, state)
            return False
        state.offsets.read(offset)
        return True

    def _enters(self, partition: int, state: PartitionState, offset: int) -> bool:
        """Whether an interval of the selection begins here; the end and the gaps are passed over."""
        if offset >= state.end:
            state.offsets.position = max(state.offsets.position, state.end)
            self._pause(partition, state)
            return False
        found = around(self._plan, partition, offset)
        if found is None:
            self._pass_over(partition, state, offset)
            return False
        state.interval = found
        return True

    def _pass_over(self, partition: int, state: PartitionState, offset: int) -> None:
        """The offset is not selected: go on to the next interval."""
        following = next((start for start, _ in self._plan[partition] if start > offset), state.end)
        state.offsets.position = following
        if following - offset > SEEK_BEYOND and following < state.end:
            self._go_to(partition, following)

    def _pause(self, partition: int, state: PartitionState) -> None:
        state.paused = True
        self._consumer.pause([TopicPartition(self._topic, partition)])

    def _ended(self, message: ConsumerRecord) -> None:
        """A leader that is new may know only later how far the partition is committed."""
        state = self.partitions[message.partition()]
        if not state.paused:  # else records before it were not taken
            state.offsets.position = max(state.offsets.position, message.offset())
            if not state.read:
                self._begin(message.partition())
