"""What waits: dead letters that no redrive has moved or parked and that may still lie on their topic.

Of a topic it is what has arrived less what was moved or parked, and no more than lies there (``TopicRow``);
of a cause its own records less its own that were moved or parked, and no more than waits on its topic. A
record that came back is a record more. Where retention has removed moved and unmoved records alike, the
number is too large rather than too small (docs/decisions/0033).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from sqlalchemy import Connection

from api import dead_letter_topics
from api.brokers import QueueRow, parked_rows
from api.dead_letter_topics import HANDLED, PARKED, SENT, Place, TopicRow
from api.dead_letters import GroupRow, Shelf, on_shelf
from api.rows import series_growth
from collector.contract.topics import PARKED_SUFFIX
from streaming.store.limits import OTHER
from streaming.store.series import REDRIVE_GROUPS, REDRIVE_RECORDS


class Cause(NamedTuple):
    """As much of a group of dead letters as says what waits of it."""

    fingerprint: str
    kafka_cluster: str
    dlq_topic: str
    records: int
    last_ms: int


@dataclass(frozen=True)
class Waiting:
    """All that says what waits; ``sent`` and ``parked`` are of causes, by fingerprint."""

    topics: Sequence[TopicRow]
    sent: Mapping[str, int]
    parked: Mapping[str, int]
    archived: Mapping[Place, int] = field(default_factory=dict)
    """What waits of archived causes, by topic."""

    def of(self, cause: Cause | GroupRow) -> int:
        """Of this cause; 0 where retention has removed all of it, as far as that can be told."""
        place = cause.kafka_cluster, cause.dlq_topic
        return self.of_counts(cause.fingerprint, place, cause.records, cause.last_ms)

    def of_counts(self, fingerprint: str, place: Place, records: int, last_ms: int) -> int:
        """The same, for who asks for a hundred thousand causes."""
        left = records - self.sent.get(fingerprint, 0) - self.parked.get(fingerprint, 0)
        found = self._places.get(place)
        if left <= 0 or found is None:
            return min(max(left, 0), self._everywhere) if fingerprint == OTHER else max(left, 0)
        topic, waiting = found
        return 0 if waiting and topic.has_lost(records, last_ms) else min(left, waiting)

    @property
    def total(self) -> int:
        """On all topics, without what was archived."""
        return sum(max(0, topic.waiting - self.archived.get(topic.place, 0)) for topic in self.topics)

    @cached_property
    def _places(self) -> Mapping[Place, tuple[TopicRow, int]]:
        return {topic.place: (topic, topic.waiting) for topic in self.topics}

    @cached_property
    def _everywhere(self) -> int:
        """The bound of what has no cause of its own: what is moved of it counts for the cause it has."""
        return sum(topic.waiting for topic in self.topics)


def read(connection: Connection) -> Waiting:
    """As the store tells."""
    handled: dict[str, Counter[str]] = {SENT: Counter(), PARKED: Counter()}
    for (dlq_topic, fingerprint, outcome), records, *_ in series_growth(connection, REDRIVE_GROUPS):
        if outcome in handled and not dlq_topic.endswith(PARKED_SUFFIX):
            handled[outcome][fingerprint] += records
    found = Waiting(dead_letter_topics.read(connection), handled[SENT], handled[PARKED])
    archived: Counter[Place] = Counter()
    for row in connection.execute(on_shelf(Shelf.ARCHIVED)):
        group = GroupRow(*row)
        archived[group.kafka_cluster, group.dlq_topic] += found.of(group)
    return replace(found, archived=archived)


@dataclass(frozen=True, slots=True)
class Parked:
    """Of one dead letter topic: what was ever parked, and of that what redrives have moved on.

    ``queue`` is the topic of parked records now, if that is known.
    """

    kafka_cluster: str
    dlq_topic: str
    ever: int
    moved_on: int
    last_ms: int
    queue: QueueRow | None

    @property
    def topic(self) -> str:
        """Where they lie."""
        return self.dlq_topic + PARKED_SUFFIX

    @property
    def waiting(self) -> int:
        """How many wait there; where no more is known, offsets: markers of transactions have them too."""
        return self._offsets if self.at_most else self._left

    @property
    def at_most(self) -> bool:
        """Whether no more than their offsets is known: retention has removed some, or others have written."""
        return self.queue is not None and (not self.ever or self._offsets < self._left)

    @property
    def _left(self) -> int:
        return max(0, self.ever - self.moved_on)

    @property
    def _offsets(self) -> int:
        return self.queue.records if self.queue else 0


def parked(connection: Connection) -> list[Parked]:
    """Of each dead letter topic of which something was parked, the most first."""
    ever: Counter[Place] = Counter()
    moved_on: Counter[Place] = Counter()
    last_ms: dict[Place, int] = {}
    for (cluster, topic, _, outcome), records, _, grown_ms in series_growth(connection, REDRIVE_RECORDS):
        if outcome == PARKED:
            place = cluster, topic
            ever[place] += records
            last_ms[place] = max(last_ms.get(place, 0), grown_ms)
        if outcome in HANDLED and topic.endswith(PARKED_SUFFIX):
            moved_on[cluster, topic.removesuffix(PARKED_SUFFIX)] += records
    queues = {(row.kafka_cluster, row.dlq_topic): row for row in parked_rows(connection) if row.partitions}
    found = [
        Parked(*place, ever[place], moved_on[place], last_ms.get(place, 0), queues.get(place))
        for place in {**ever, **queues}
    ]
    return sorted(found, key=lambda one: (-one.waiting, one.dlq_topic))
