"""The dead letter topic, from where the order has come to its cut-off; every offset of its selection once.

Records are read committed, by assignment: the partitions are the order's alone, a second worker is kept off
by the order's transactional id. What may be read ahead is limited by each partition's ledger.
"""

from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from collector.kafka import Options
from streaming.redrive.ledger import Ledger
from streaming.redrive.order import Interval
from streaming.redrive.received import HOPELESS, PARTITION_EOF, Received, consume
from streaming.redrive.selection import Intervals, around

TIMEOUT_S: Final = 10.0
POLL_S: Final = 0.1
WHY: Final = 10
"""Errors that are looked through."""
SEEK_BEYOND: Final = 1_000
"""Offsets outside of the selection that are read through; wider gaps are jumped over."""


@dataclass(slots=True)
class Lane:
    """One partition: what is done, where its selection ends, whether it is paused."""

    ledger: Ledger
    end: int
    paused: bool = False
    interval: Interval = (0, 0)
    """The one of the selection that was read last."""

    @property
    def read(self) -> bool:
        """Whether nothing more has to be read."""
        return self.ledger.position >= self.end


class Reader:
    """A consumer of its own; ``group`` is what offsets are committed for."""

    def __init__(self, connection: Options, order: str, topic: str, plan: Intervals) -> None:
        self._topic, self._plan = topic, plan
        self._consumer = Consumer(
            connection
            | {
                "group.id": f"deadwatch-redrive-{order}",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 100,
            }
        )
        self.expired: dict[int, int] = {}
        """Offsets that retention took before they were read, by partition."""
        self.lanes: dict[int, Lane] = {}

    def open(self) -> None:
        """Go on where the last transaction of the order ended."""
        places = [TopicPartition(self._topic, partition) for partition in self._plan]
        committed = self._committed(places) if places else []
        self.lanes = {place.partition: self._lane(place) for place in committed}
        self._consumer.assign(
            [TopicPartition(self._topic, n, lane.ledger.position) for n, lane in self.lanes.items()]
        )

    @property
    def group(self) -> object:
        """For the transaction."""
        return self._consumer.consumer_group_metadata()

    def poll(self, most: int) -> list[Received]:
        """Records of the selection, open in their ledgers now; none when there are none at the moment."""
        self._open_lanes()
        taken: list[Received] = []
        for message in consume(self._consumer, most, POLL_S):
            error = message.error()
            if error is None:
                if self._take(message):
                    taken.append(message)
            elif error.code() == PARTITION_EOF:
                self._ended(message)
            elif error.code() in HOPELESS:
                raise KafkaException(error)
        return taken

    def offsets(self, partitions: set[int]) -> list[TopicPartition]:
        """What to commit."""
        return [
            TopicPartition(self._topic, partition, *self.lanes[partition].ledger.commit())
            for partition in sorted(partitions)
        ]

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()

    def _committed(self, places: list[TopicPartition]) -> list[TopicPartition]:
        """Where librdkafka waits in vain for a group that we may not see, it says why beside."""
        try:
            return self._consumer.committed(places, timeout=TIMEOUT_S)
        except KafkaException:
            for message in consume(self._consumer, WHY, POLL_S):
                error = message.error()
                if error is not None and error.code() in HOPELESS:
                    raise KafkaException(error) from None
            raise

    def _lane(self, place: TopicPartition) -> Lane:
        """Where a partition goes on: at what was committed, else where the selection begins."""
        intervals = self._plan[place.partition]
        if place.error is not None:
            raise KafkaException(place.error)
        first = intervals[0][0]
        ledger = Ledger.resumed(place.offset, place.metadata or "") if place.offset >= 0 else Ledger(first)
        low, _ = self._consumer.get_watermark_offsets(
            TopicPartition(self._topic, place.partition), timeout=TIMEOUT_S
        )
        end = intervals[-1][1]
        if ledger.position < min(low, end):
            self.expired[place.partition] = sum(
                max(min(stop, low) - max(start, ledger.position), 0) for start, stop in intervals
            )
            ledger.position = min(low, end)
        return Lane(ledger, end)

    def _open_lanes(self) -> None:
        for partition, lane in self.lanes.items():
            if lane.paused and not lane.read and lane.ledger.room(lane.ledger.position):
                lane.paused = False
                self._consumer.resume([TopicPartition(self._topic, partition)])
                self._consumer.seek(TopicPartition(self._topic, partition, lane.ledger.position))

    def _take(self, message: Received) -> bool:
        partition, offset = message.partition(), message.offset()
        lane = self.lanes[partition]
        if lane.paused or offset < lane.ledger.position:
            return False
        start, stop = lane.interval
        if not start <= offset < stop and not self._enters(partition, lane, offset):
            return False
        if not lane.ledger.room(offset):
            self._pause(partition, lane)
            return False
        lane.ledger.read(offset)
        return True

    def _enters(self, partition: int, lane: Lane, offset: int) -> bool:
        """Whether an interval of the selection begins here; the end and the gaps are passed over."""
        if offset >= lane.end:
            lane.ledger.position = max(lane.ledger.position, lane.end)
            self._pause(partition, lane)
            return False
        found = around(self._plan, partition, offset)
        if found is None:
            self._pass_over(partition, lane, offset)
            return False
        lane.interval = found
        return True

    def _pass_over(self, partition: int, lane: Lane, offset: int) -> None:
        """Outside of the selection: on to the next interval."""
        following = next((start for start, _ in self._plan[partition] if start > offset), lane.end)
        lane.ledger.position = following
        if following - offset > SEEK_BEYOND and following < lane.end:
            self._consumer.seek(TopicPartition(self._topic, partition, following))

    def _pause(self, partition: int, lane: Lane) -> None:
        lane.paused = True
        self._consumer.pause([TopicPartition(self._topic, partition)])

    def _ended(self, message: Received) -> None:
        """The end of a partition is where it was when the order was made, or an open transaction."""
        lane = self.lanes[message.partition()]
        if not lane.paused:  # else records before it were not taken
            lane.ledger.position = max(lane.ledger.position, message.offset())
