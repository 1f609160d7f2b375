"""The topic identity tracker: holds the query on the topics that it was started on, and counts lost records.

Before a batch is merged, Kafka is asked for the ids of its topics: a batch that may hold records of a topic
that was recreated is not merged. The query begins again, as it does where rights have changed: ``settle``
counts what the old topic held unread, and it goes on from the offsets in the store. Lost records are counted
in the transaction of the batch that passes them, in one of their own where Spark has come without a record,
or in the one that ends their topic.

One thread at a time moves on from what the store has.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import Self

from kafka.admin import OffsetSpec
from kafka.errors import UnknownTopicOrPartitionError
from kafka.protocol.consumer import IsolationLevel
from kafka.structs import OffsetAndTimestamp

from deadwatch.contract.events import RedriveHandled
from deadwatch.runtime.kafka import is_topic_name
from deadwatch.store.batch import Batch, Offsets, Place, Present, SeriesDelta
from deadwatch.store.store import Store
from streaming import cluster, data_loss
from streaming.cluster import Described, ids_of, partitions_of
from streaming.lag import Lag
from streaming.settings import StreamingSettings

log = logging.getLogger(__name__)


class TopicsEndedError(Exception):
    """Topics are not the ones that the query was started on: it has to begin anew."""

    def __init__(self, topics: Iterable[str]) -> None:
        super().__init__(f"deleted, made anew, or shorter than before: {', '.join(sorted(topics))}")


class RightsChangedError(Exception):
    """The query was started on other topics than those that may be read now: it has to begin anew."""

    def __init__(self, topics: Iterable[str]) -> None:
        super().__init__(f"may be read now, or no longer: {cluster.listed(topics)}")


class TopicTracker:
    """Connected inside ``with``; what it has seen of the ends of topics is kept between connections."""

    def __init__(self, settings: StreamingSettings, store: Store, clock_ms: Callable[[], int]) -> None:
        self._settings, self._store, self._clock_ms = settings, store, clock_ms
        self.lag = Lag(settings.events_topic)
        self._moving = threading.Lock()
        self._ids: dict[str, str] = {}
        self._ends: dict[Place, int] = {}
        self._reached: dict[Place, int] = {}
        self._epochs: dict[Place, int] = {}
        """Of the leaders (KIP-320) that told the ends at the last look."""
        self._left_out: frozenset[str] = frozenset()
        self.untimely: Mapping[Place, int] = {}
        """Offsets of records whose time Spark cannot hold: their topics are left out while they are there."""
        self._untimely_ids: Mapping[str, str] = {}
        """The ids that these topics had."""

    def __enter__(self) -> Self:
        """Connect. Raises ``KafkaError``."""
        self._admin = cluster.connect(self._settings)
        return self

    def __exit__(self, *_: object) -> None:
        self._admin.close()

    def settle(self) -> frozenset[str]:
        """Leave topics behind that have ended, and begin those that are new; no query may run.

        Returns the dead letter topics that are left out: they may not be read, or have an untimely record.
        Raises ``KafkaError``.
        """
        described = cluster.read_topics(self._admin, self._settings)
        self._left_out = self._unreadable(described)
        self._ids, self._reached = self._store.topic_ids(), self._store.offsets()
        if not self.lag.looked_ms:
            self.lag.resume(self._store.figures())
        readable = self._readable(described)
        ids, ends = ids_of(readable), self._offsets(partitions_of(readable), OffsetSpec.LATEST)
        written = self._written(data_loss.truncated(self._reached, ends))
        now = data_loss.Topics(ids, ends, self._gone(ids), written)
        ended = list(data_loss.ended(self._reached, self._ids, now, self._ends))
        if ended:
            for lost in ended:
                log.warning("%s: %s, at least %d records were not read", lost.topic, lost.reason, lost.unread)
            self._store.end_topics(ended, self._settings.kafka_cluster, self._clock_ms())
            topics = {lost.topic for lost in ended}
            self._ends = {place: end for place, end in self._ends.items() if place[0] not in topics}
            self._ids, self._reached = self._store.topic_ids(), self._store.offsets()
        new = {place for place in partitions_of(readable) - self._reached.keys() if place[0] in ids}
        self._pass(self._offsets(new, OffsetSpec.EARLIEST), ids)  # what is deleted from now on is lost
        return self._left_out

    def note_untimely(self, place: Place, offset: int) -> None:
        """Leave the topic out while it has this record; of events there is no other topic to go on with."""
        topic, _ = place
        if topic != self._settings.events_topic:
            self.untimely = {**self.untimely, place: offset}
            self._untimely_ids = {**self._untimely_ids, topic: self._ids.get(topic, "")}

    def complete(self, batch: Batch) -> Batch:
        """A batch that was read, with the offsets that it begins at and the records that were lost before it.

        Raises ``KafkaError``, and ``TopicsEndedError`` if it may have records of a topic that was recreated.
        """
        read, redriven = {topic for topic, _ in batch.offsets}, self._redriven(batch)
        described = self._describe(read | redriven)
        found = ids_of([topic for topic in described if topic["name"] in read])
        changed = _recreated(found, self._ids)
        known = {topic: topic_id for topic, topic_id in found.items() if topic_id}
        with self._moving:
            begins = self._reached_of(batch.offsets)
            changed |= {topic for topic, _ in data_loss.truncated(begins, batch.first_offsets)}
            if changed:
                raise TopicsEndedError(changed)
            self._ids, self._reached = {**self._ids, **known}, {**self._reached, **batch.offsets}
        skipped = data_loss.skipped(begins, batch.first_offsets)
        beginnings = self._offsets(skipped.keys() & partitions_of(described), OffsetSpec.EARLIEST)
        missed = self._missed(skipped, beginnings)
        present = self._present([topic for topic in described if topic["name"] in redriven])
        series = (*batch.series, *missed)
        return replace(batch, begins=begins, topic_ids=known, series=series, present=present)

    def _reached_of(self, partitions: Iterable[Place]) -> Offsets:
        """Where the store is with these partitions."""
        return {partition: self._reached[partition] for partition in partitions if partition in self._reached}

    def _missed(self, skipped: Mapping[Place, range], beginnings: Offsets) -> list[SeriesDelta]:
        """The counts of the skipped offsets that were deleted."""
        counts = data_loss.missed(skipped, beginnings)
        for topic, count in counts.items():
            log.warning("%s: %d offsets were deleted before they were read", topic, count)
        kafka_cluster, now_ms = self._settings.kafka_cluster, self._clock_ms()
        return data_loss.counters(counts, data_loss.DELETED_UNREAD, kafka_cluster, now_ms)

    def _redriven(self, batch: Batch) -> set[str]:
        """Topics of which the store keeps what redrives have sent, if the batch adds to that."""
        added = {event.dlq_topic for event in batch.events if isinstance(event, RedriveHandled)}
        known = added | self._store.redriven_topics() if added else added
        return {topic for topic in known if is_topic_name(topic)}

    def _present(self, described: Described) -> dict[str, Present]:
        """These topics as they are now, without those that Kafka does not let us see."""
        ids = ids_of(described)
        first: dict[str, dict[int, int]] = {topic: {} for topic in ids}
        partitions = (place for place in partitions_of(described) if place[0] in ids)
        for (topic, partition), offset in self._offsets(partitions, OffsetSpec.EARLIEST).items():
            first[topic][partition] = offset
        existing = {topic: Present(topic_id, first[topic]) for topic, topic_id in ids.items()}
        return existing | {topic: Present("", {}) for topic in _unknown(described)}

    def check(self, passed: Offsets) -> dict[str, int]:
        """Records behind the end of every topic that is read, by topic; ``passed`` is where Spark has come.

        Raises:
            TopicsEndedError: a topic was recreated or truncated, or deleted with records that were not read.
            RightsChangedError: a topic can be read that could not be, or no longer.
            KafkaError, SQLAlchemyError: Kafka or the store does not answer.
        """
        described = cluster.read_topics(self._admin, self._settings)
        if changed_rights := self._unreadable(described) ^ self._left_out:
            raise RightsChangedError(changed_rights)
        readable = self._readable(described)
        ids, partitions = ids_of(readable), partitions_of(readable)
        changed = _recreated(ids, self._ids)
        if not changed:
            self._pass(passed, ids)
        looked_ms = self._clock_ms()
        found = self._list(partitions, OffsetSpec.LATEST)
        ends = {partition: end.offset for partition, end in found.items()}
        changed |= {topic for topic, _ in data_loss.truncated(self._reached, ends)}
        self._ends |= {partition: end for partition, end in ends.items() if partition[0] not in changed}
        self._epochs |= {at: end.leader_epoch or 0 for at, end in found.items() if at[0] not in changed}
        changed |= self._unread() & self._gone(ids)
        if changed:
            raise TopicsEndedError(changed)
        merged: Offsets = self._store.offsets()  # without what is being merged; waits while the store is away
        if not ends.keys() <= merged.keys():
            merged = {**self._offsets(partitions, OffsetSpec.EARLIEST), **merged}
        self.lag.note(looked_ms, ends, merged)
        behind = Counter(dict.fromkeys(ids, 0))
        for partition, end in ends.items():
            behind[partition[0]] += max(0, end - merged.get(partition, end))
        return behind

    def _unread(self) -> set[str]:
        """The topics that had records at the last look which no batch has had yet."""
        reached = self._reached
        return {partition[0] for partition, end in self._ends.items() if end > reached.get(partition, end)}

    def advance(self, passed: Offsets) -> None:
        """Note where Spark has come: orders wait for that. Raises ``KafkaError`` and ``SQLAlchemyError``."""
        ids = ids_of(self._describe({topic for topic, _ in self._ahead(passed)}))
        anew = _recreated(ids, self._ids)
        same = {topic: topic_id for topic, topic_id in ids.items() if topic not in anew}
        self._pass(passed, same)

    def _pass(self, passed: Offsets, ids: Mapping[str, str]) -> None:
        """In the topics of ``ids`` move on to where Spark has come, over markers and what was deleted.

        A batch that is being merged begins there or further on: it reads nothing of what is counted here.
        """
        passed = {partition: end for partition, end in passed.items() if partition[0] in ids}
        ahead = self._ahead(passed)
        if not ahead:
            return
        beginnings = self._offsets(ahead, OffsetSpec.EARLIEST)
        with self._moving:
            ends = self._ahead(passed)
            if not ends:
                return
            begins = self._reached_of(ends)
            new = {topic: ids[topic] for topic, _ in ends if ids[topic] and topic not in self._ids}
            missed = self._missed(data_loss.skipped(begins, ends), beginnings)
            self._store.pass_over(begins, ends, new, missed)
            self._ids, self._reached = {**self._ids, **new}, {**self._reached, **ends}

    def _ahead(self, passed: Offsets) -> Offsets:
        return {partition: end for partition, end in passed.items() if end > self._reached.get(partition, -1)}

    def _written(self, shorter: Iterable[Place]) -> Offsets:
        """Where partitions end that are shorter than before, with what open transactions have written.

        Only of those that have another leader than at the last look: one that does not know yet that it is
        none any more tells an end that the others are beyond.
        """
        found = self._list(shorter, OffsetSpec.LATEST, IsolationLevel.READ_UNCOMMITTED)
        before = self._epochs
        return {at: one.offset for at, one in found.items() if (one.leader_epoch or 0) > before.get(at, inf)}

    def _gone(self, existing: Iterable[str]) -> frozenset[str]:
        """Topics that were read and that Kafka says it does not have; not those that it hides from us."""
        return _unknown(self._describe(self._ids.keys() - set(existing)))

    def _unreadable(self, described: Described) -> frozenset[str]:
        """The topics to leave out now; an untimely record that was deleted, or its topic, is forgotten."""
        anew = _recreated(ids_of(described), self._untimely_ids)
        places = {place for place in self.untimely.keys() & partitions_of(described) if place[0] not in anew}
        begins, ends = (self._offsets(places, spec) for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST))
        there = {place: self.untimely[place] for place in places}
        self.untimely = {place: at for place, at in there.items() if begins[place] <= at < ends[place]}
        return cluster.unreadable(described, self._settings) | {topic for topic, _ in self.untimely}

    def _readable(self, described: Described) -> Described:
        return [topic for topic in described if topic["name"] not in self._left_out]

    def _describe(self, topics: Iterable[str]) -> Described:
        """These topics, with an error code where they cannot be described."""
        names = sorted(topics)
        described: Described = self._admin.describe_topics(names) if names else []
        return described

    def _offsets(self, partitions: Iterable[Place], spec: OffsetSpec) -> dict[Place, int]:
        return {place: found.offset for place, found in self._list(partitions, spec).items()}

    def _list(
        self,
        partitions: Iterable[Place],
        spec: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
    ) -> dict[Place, OffsetAndTimestamp]:
        return cluster.listed_offsets(self._admin, partitions, spec, isolation)


def _recreated(ids: Mapping[str, str], before: Mapping[str, str]) -> set[str]:
    """The topics that have another id than before, where both are known."""
    return {topic for topic, found in ids.items() if found and (before.get(topic) or found) != found}


def _unknown(described: Described) -> frozenset[str]:
    """The topics that Kafka says it does not have."""
    unknown = UnknownTopicOrPartitionError.errno
    return frozenset(topic["name"] for topic in described if topic["error_code"] == unknown)
