"""What earlier orders have done with the records of a topic, as it has to be known when an order is made.

Kafka is the truth: each transaction tells in ``deadwatch.events`` what it has moved. So the store knows all
of it once streaming has read that topic to the end that it has now, transactions included whose end is not
written yet.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from streaming.redrive.cluster import Cluster
from streaming.redrive.handled import Handled

WITHIN_MS: Final = 10_000
LOOK_MS: Final = 50


class Kept(Protocol):
    """``streaming.store.handled.HandledBook``."""

    def begun(self, topic: str) -> bool: ...  # noqa: D102 -- as there
    def reached(self, topic: str) -> Mapping[int, int]: ...  # noqa: D102
    def handled(self, topic: str, topic_id: str, partitions: Collection[int]) -> Handled: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Before:
    """What was moved or parked before; ``unread`` says why that may not be all, "": it is."""

    handled: Handled
    unread: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """``monotonic_ms`` measures how long is waited, ``wait_ms`` waits."""

    kept: Kept
    events_topic: str
    monotonic_ms: Callable[[], int]
    wait_ms: Callable[[int], None]

    def of(self, topic: str, cluster: Cluster, partitions: Mapping[str, int]) -> Before:
        """Once streaming has caught up, which is waited for; ``partitions`` are those of all topics.

        Raises:
            KafkaUnavailableError: Kafka cannot be asked.
        """
        unread = self._unread(cluster, partitions) if self.kept.begun(topic) else ""
        handled = self.kept.handled(topic, cluster.topic_id(topic), range(partitions[topic]))
        return Before(handled, unread)

    def _unread(self, cluster: Cluster, partitions: Mapping[str, int]) -> str:
        """What streaming has not read in time, if anything."""
        topic = self.events_topic
        if topic not in partitions:
            return f"topic {topic} does not exist, or we may not see it (DESCRIBE)"
        written = cluster.written(topic, partitions[topic])
        until_ms = self.monotonic_ms() + WITHIN_MS
        while count := behind(self.kept.reached(topic), written.begin, written.end):
            if self.monotonic_ms() >= until_ms:
                return f"streaming has not read {count} offsets of {topic}"
            self.wait_ms(LOOK_MS)
        return ""


def behind(reached: Mapping[int, int], begin: Mapping[int, int], end: Mapping[int, int]) -> int:
    """Offsets of all partitions that are there and were not read."""
    return sum(max(end[one] - max(reached.get(one, 0), begin.get(one, 0)), 0) for one in end)
