"""What the query could not read because Kafka has it no more: counted, by topic and reason.

An offset without a record is no gap by itself: markers of transactions and what they aborted have offsets
too. So a hole at the begin of what was planned for a batch is a gap only as far as the partition begins
behind it by now. The markers among what was deleted are counted with it: the figure is an upper bound.

What a deleted topic held unread is known from the last look at its end. A topic that was made anew under its
old name has another id (KIP-516) and is read from its beginning.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from streaming.plans import Offsets, Place, Plan
from streaming.store.read_topics import Ended

DELETED_UNREAD: Final = "deleted_unread"
TOPIC_DELETED: Final = "topic_deleted"
TOPIC_RECREATED: Final = "topic_recreated"


class TopicsEndedError(Exception):
    """Topics are not the ones that the query was started on: it has to begin anew."""

    def __init__(self, topics: Iterable[str]) -> None:
        super().__init__(f"deleted, or deleted and made anew: {', '.join(sorted(topics))}")


@dataclass(frozen=True, slots=True)
class Hole:
    """Planned offsets before the first record that was read; ``end`` is excluded."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """Topics that are there, by id, and their ends; and those that were read and are ``gone``."""

    ids: Mapping[str, str]
    ends: Offsets
    gone: frozenset[str] = frozenset()


def holes(plan: Plan, first: Offsets) -> dict[Place, Hole]:
    """Where a batch was to begin and did not; ``first`` are the offsets of the first records read."""
    found = {}
    for place, end in plan.end.items():
        begin = plan.begin.get(place, end)
        reached = first.get(place, end)
        if reached > begin:
            found[place] = Hole(begin, reached)
    return found


def missed(found: Mapping[Place, Hole], beginnings: Offsets) -> Counter[str]:
    """Offsets by topic that were deleted in the holes; a partition without beginning is gone."""
    counts: Counter[str] = Counter()
    for (topic, partition), hole in found.items():
        begins = min(hole.end, beginnings.get((topic, partition), hole.end))
        if begins > hole.begin:
            counts[topic] += begins - hole.begin
    return counts


def went_back(plan: Plan) -> set[str]:
    """Topics whose end is before their begin: they were made anew."""
    return {place[0] for place, end in plan.end.items() if end < plan.begin.get(place, end)}


def ended(stored: Offsets, ids: Mapping[str, str], now: Cluster, ends: Offsets) -> Iterator[Ended]:
    """Topics of the store that are another one by now, or gone with something that was not read.

    ``ids`` are of the topics as they were read, ``ends`` where they ended when they were last seen. Without
    ids (brokers before 2.8) a topic that is shorter than what was read of it is another one; with equal ids
    it has lost records, and goes on.
    """
    for topic in sorted({place[0] for place in stored}):
        here = [place for place in stored if place[0] == topic]
        unread = sum(max(0, ends.get(place, 0) - stored[place]) for place in here)
        known, found = ids.get(topic, ""), now.ids.get(topic, "")
        shorter = any(now.ends.get(place, stored[place]) < stored[place] for place in here)
        if known != found if known and found else shorter:
            yield Ended(topic, TOPIC_RECREATED, unread)
        elif topic in now.gone and unread:
            reached = {place[1]: max(stored[place], ends.get(place, 0)) for place in here}
            yield Ended(topic, TOPIC_DELETED, unread, reached)
