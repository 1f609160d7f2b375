"""What waits: dead letters that no redrive has moved or parked and that may still lie on their topic.

For a topic this is what has arrived less what was moved or parked, and no more than lies there
(``TopicRow``); for a cause it is its own records less its own that were moved or parked, and no more than
waits on its topic. A record that came back counts as one more record. Where retention has removed moved and
unmoved records alike, the number is too large rather than too small (docs/decisions/0033).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from sqlalchemy import Connection

from api.signals import dead_letter_topics
from api.signals.dead_letter_groups import GroupRow, groups_on
from api.signals.dead_letter_topics import HANDLED, PARKED, SENT, Place, TopicRow
from api.signals.group_choices import Shelf
from api.signals.series import series_rows
from api.store import StoredRow
from deadwatch.contract.topics import PARKED_SUFFIX
from deadwatch.store import schema
from deadwatch.store.series import REDRIVE_GROUPS, REDRIVE_RECORDS
from deadwatch.store.write.counters import OTHER


class CauseFigures(NamedTuple):
    """The columns of a group from which follows what waits of it."""

    fingerprint: str
    kafka_cluster: str
    dlq_topic: str
    records: int
    last_ms: int


@dataclass(frozen=True)
class Waiting:
    """What waits on every topic; ``sent`` and ``parked`` are counts of causes, by fingerprint."""

    topics: Sequence[TopicRow]
    sent: Mapping[str, int]
    parked: Mapping[str, int]
    archived: Mapping[Place, int] = field(default_factory=dict)
    """What waits of archived causes, by topic."""

    def of(self, cause: CauseFigures | GroupRow) -> int:
        """How much of this cause waits; 0 where retention has removed all of it, as far as that is known."""
        name = cause.fingerprint
        left = cause.records - self.sent.get(name, 0) - self.parked.get(name, 0)
        found = self._places.get((cause.kafka_cluster, cause.dlq_topic))
        if left <= 0 or found is None:
            return min(max(left, 0), self._everywhere) if name == OTHER else max(left, 0)
        topic, waiting = found
        return 0 if waiting and topic.has_lost(cause.records, cause.last_ms) else min(left, waiting)

    @property
    def total(self) -> int:
        """What waits on all topics, without archived causes."""
        return sum(self.active(topic) for topic in self.topics)

    def active(self, topic: TopicRow) -> int:
        """What waits on this topic, without archived causes."""
        return max(0, topic.waiting - self.archived.get(topic.place, 0))

    @cached_property
    def _places(self) -> Mapping[Place, tuple[TopicRow, int]]:
        return {topic.place: (topic, topic.waiting) for topic in self.topics}

    @cached_property
    def _everywhere(self) -> int:
        """The bound for records without an own cause: what is moved of them counts for their cause."""
        return sum(topic.waiting for topic in self.topics)


def read(connection: Connection) -> Waiting:
    """What waits, by the counts of the store."""
    handled: dict[str, Counter[str]] = {SENT: Counter(), PARKED: Counter()}
    for (dlq_topic, fingerprint, outcome), records, *_ in series_rows(connection, REDRIVE_GROUPS):
        if outcome in handled and not dlq_topic.endswith(PARKED_SUFFIX):
            handled[outcome][fingerprint] += records
    found = Waiting(dead_letter_topics.read(connection), handled[SENT], handled[PARKED])
    archived: Counter[Place] = Counter()
    columns = (schema.groups.c[name] for name in CauseFigures._fields)
    for row in connection.execute(groups_on(Shelf.ARCHIVED).with_only_columns(*columns)):
        cause = CauseFigures(*row)
        archived[cause.kafka_cluster, cause.dlq_topic] += found.of(cause)
    return replace(found, archived=archived)


@dataclass(frozen=True, slots=True)
class Parked:
    """What was ever parked of one dead letter topic, and what redrives have moved on of that.

    ``queue`` is the topic of parked records now, None: not known.
    """

    kafka_cluster: str
    dlq_topic: str
    ever: int
    moved_on: int
    last_ms: int
    queue: StoredRow | None

    @property
    def topic(self) -> str:
        """The name of the topic of parked records."""
        return self.dlq_topic + PARKED_SUFFIX

    @property
    def waiting(self) -> int:
        """How many wait there; ``at_most``: offsets, of which markers of transactions have some, too."""
        return self.queue.records if self.queue and self.at_most else max(0, self.ever - self.moved_on)

    @property
    def at_most(self) -> bool:
        """Whether only the offsets are known: retention has removed some, or others have written there."""
        return self.queue is not None and (not self.ever or self.queue.records < self.ever - self.moved_on)


def parked(connection: Connection) -> list[Parked]:
    """Every dead letter topic of which something was parked, the most first."""
    ever: Counter[Place] = Counter()
    moved_on: Counter[Place] = Counter()
    last_ms: dict[Place, int] = {}
    for (cluster, topic, _, outcome), records, _, grown_ms, _ in series_rows(connection, REDRIVE_RECORDS):
        if outcome == PARKED:
            place = cluster, topic
            ever[place] += records
            last_ms[place] = max(last_ms.get(place, 0), grown_ms)
        if outcome in HANDLED and topic.endswith(PARKED_SUFFIX):
            moved_on[cluster, topic.removesuffix(PARKED_SUFFIX)] += records
    known = dead_letter_topics.queues(connection, parked=True)
    queues = {place: row for place, row in known.items() if row.partitions}
    found = [
        Parked(*place, ever[place], moved_on[place], last_ms.get(place, 0), queues.get(place))
        for place in {**ever, **queues}
    ]
    return sorted(found, key=lambda row: (-row.waiting, row.dlq_topic))
