"""What earlier orders have done with the records of a topic, as it has to be known when an order is made.

Each transaction writes into ``deadwatch.events`` what it has moved. A worker notes where that topic ends
before it lets go of an order: the store knows all of it once streaming has read up to there, and what others
write later is not waited for (docs/decisions/0047).
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from deadwatch.orders.errors import KafkaUnavailableError
from deadwatch.orders.handled import Handled
from deadwatch.store.write.handled import HandledBook
from redrive.cluster import WRITTEN, Cluster

WITHIN_MS: Final = 10_000
"""How long streaming is waited for."""
LOOK_MS: Final = 200
"""Streaming proceeds by batches, and hardly one takes less time than this."""


@dataclass(frozen=True, slots=True)
class Before:
    """What was moved or parked before; ``unread`` says why that may not be all of it, "" where it is."""

    handled: Handled
    unread: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """What earlier orders have done, by the store; ``monotonic_ms`` is a clock that never goes back."""

    store: HandledBook
    events_topic: str
    monotonic_ms: Callable[[], int]
    wait_ms: Callable[[int], None]
    first_ends: dict[int, int] = field(default_factory=dict)
    """Where the events ended when this process asked first: a restored store has older notes."""

    def of(self, topic: str, topic_id: str, cluster: Cluster, partitions: Mapping[str, int]) -> Before:
        """What was done with a topic's records, after waiting until streaming has caught up.

        ``partitions`` has the number of partitions of each topic of the cluster.

        Raises:
            KafkaUnavailableError: Kafka cannot be asked.
        """
        unread = self._unread(topic, cluster, partitions)
        return Before(self.store.handled(topic, topic_id, range(partitions[topic])), unread)

    def _unread(self, topic: str, cluster: Cluster, partitions: Mapping[str, int]) -> str:
        """What streaming has not read in time; "" where it has read all that matters."""
        events, begun, noted = self.events_topic, self.store.begun(topic), self.store.ends(topic)
        if events not in partitions:
            return f"topic {events} does not exist, or we may not see it (DESCRIBE)" if begun else ""
        written = cluster.extents(events, partitions[events], WRITTEN)
        if not self.first_ends:
            self.first_ends.update(written.end)
        needed: Mapping[int, int] = written.end if begun else {}
        if noted:  # a topic that was deleted and created again may end before
            first = self.first_ends
            needed = {one: min(at, max(noted.get(one, 0), first.get(one, 0))) for one, at in needed.items()}
        until_ms = self.monotonic_ms() + WITHIN_MS
        while count := behind(self.store.reached(events), written.begin, needed):
            if self.monotonic_ms() >= until_ms:
                return f"streaming has not read {count} offsets of {events}"
            self.wait_ms(LOOK_MS)
        return ""


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes of workers: how far the events have to be read until the store knows all that was done."""

    store: HandledBook
    events_topic: str
    cluster: Cluster

    def note(self, topic: str, over: bool) -> None:
        """Store where the events end, before an order of the topic is let go of.

        Unless its work is ``over`` and Kafka answers, the end is stored as unknown.
        """
        ends: Mapping[int, int] = {}
        if over:
            with suppress(KafkaUnavailableError):
                count = self.cluster.partitions().get(self.events_topic, 0)
                ends = self.cluster.extents(self.events_topic, count, WRITTEN).end if count else {}
        self.store.note_ends(topic, ends)


def behind(reached: Mapping[int, int], begin: Mapping[int, int], end: Mapping[int, int]) -> int:
    """How many offsets of all partitions exist and were not read."""
    return sum(max(end[one] - max(reached.get(one, 0), begin.get(one, 0)), 0) for one in end)
