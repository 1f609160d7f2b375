"""The data-loss detector: records that Kafka deleted before the query could read them, by topic and reason.

An offset without a record is no loss by itself: markers of transactions and aborted records have offsets too.
So the offsets between where the store is and the first record that was read (or where Spark has come without
a record) are lost only as far as the partition now begins behind them: an upper bound, markers included.

What a deleted topic held unread is known from the last look at its end. A topic that was recreated under its
old name has another id (KIP-516) and is read from its beginning. One that keeps its id and is shorter than
what was read of it has lost its last records (an unclean election), and is read from its end.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from deadwatch.store.batch import Offsets, Place, SeriesDelta
from deadwatch.store.write.progress import Ended

DELETED_UNREAD: Final = "deleted_unread"
TOPIC_DELETED: Final = "topic_deleted"
TOPIC_RECREATED: Final = "topic_recreated"
TOPIC_TRUNCATED: Final = "topic_truncated"


@dataclass(frozen=True, slots=True)
class Topics:
    """The ids and the ends of the topics that exist, and those that were read and are ``gone``.

    ``written`` are the ends, with what is not committed, of partitions that have surely lost what was behind.
    """

    ids: Mapping[str, str]
    ends: Offsets
    gone: frozenset[str] = frozenset()
    written: Offsets = field(default_factory=dict)


def skipped(begins: Offsets, reached: Offsets) -> dict[Place, range]:
    """The offsets from where partitions begin to what was reached of them without a record."""
    ahead = {partition: range(begins.get(partition, end), end) for partition, end in reached.items()}
    return {partition: offsets for partition, offsets in ahead.items() if offsets}


def missed(found: Mapping[Place, range], beginnings: Offsets) -> Counter[str]:
    """How many of the skipped offsets were deleted, by topic; a partition without beginning is gone."""
    counts: Counter[str] = Counter()
    for partition, offsets in found.items():
        begins = min(offsets.stop, beginnings.get(partition, offsets.stop))
        if begins > offsets.start:
            counts[partition[0]] += begins - offsets.start
    return counts


def counters(counts: Mapping[str, int], reason: str, kafka_cluster: str, now_ms: int) -> list[SeriesDelta]:
    """These records as counters of the store."""
    return [Ended(topic, reason, count).missed(kafka_cluster, now_ms) for topic, count in counts.items()]


def truncated(begins: Offsets, found: Offsets) -> set[Place]:
    """Partitions of which an offset is found that is before their begin."""
    return {partition for partition, begin in begins.items() if found.get(partition, begin) < begin}


def ended(stored: Offsets, ids: Mapping[str, str], now: Topics, last_ends: Offsets) -> Iterator[Ended]:
    """Topics of the store that were recreated, deleted with records that were not read, or truncated.

    ``ids`` are of the topics as they were read, ``last_ends`` where they ended when they were last seen.
    Without ids (brokers before 2.8) a topic that is shorter than what was read of it was recreated.
    """
    topics: defaultdict[str, dict[Place, int]] = defaultdict(dict)
    for place, offset in stored.items():
        topics[place[0]][place] = offset
    for topic, here in sorted(topics.items()):
        unread = {place: max(0, last_ends.get(place, 0) - offset) for place, offset in here.items()}
        known, found, cut = ids.get(topic, ""), now.ids.get(topic, ""), truncated(here, now.ends)
        if known != found if known and found else cut:
            yield Ended(topic, TOPIC_RECREATED, sum(unread.values()))
        elif topic in now.gone and any(unread.values()):
            reached = {partition[1]: offset + unread[partition] for partition, offset in here.items()}
            yield Ended(topic, TOPIC_DELETED, sum(unread.values()), reached)
        elif cut:
            reached = {partition[1]: now.ends[partition] for partition in cut}
            written = {partition[1]: now.written[partition] for partition in cut & now.written.keys()}
            yield Ended(topic, TOPIC_TRUNCATED, sum(unread[one] for one in cut), reached, written)
