"""Holds the query on the topics that it was started on, and tells what Kafka deleted before it was read.

After a batch was read and before it is merged, Kafka is asked for the ids of its topics: a batch that may
hold records of a topic made anew at the offsets of its predecessor is not merged. The query begins again:
``settle`` counts what the old topic held unread, puts Spark's checkpoint aside where it stands on that topic,
and goes on from the offsets in the store. It does the same where the checkpoint stands on topics that may
not be read now, or not on some that may be read again. A gap is counted in the transaction of the batch that
passes it, or in the one that ends its topic.

One thread at a time asks Kafka.
"""

import logging
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Self

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import UnknownTopicOrPartitionError
from kafka.protocol.consumer import IsolationLevel

from collector.contract.events import RedriveHandled
from streaming import checkpoint, cluster, gaps, plans, rights, source
from streaming.plans import Place
from streaming.settings import StreamingSettings
from streaming.store.batch import Batch, Present
from streaming.store.read_topics import Ended
from streaming.store.store import Store

LEGAL: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""Names of topics; what an event says may be none."""
NO_ID: Final = "00000000-0000-0000-0000-000000000000"
"""What a broker older than 2.8 says."""

Described = Sequence[Mapping[str, Any]]

logger = logging.getLogger(__name__)


class Continuity:
    """Connected inside ``with``; what it has seen of the ends of topics stays between."""

    def __init__(self, settings: StreamingSettings, store: Store, clock_ms: Callable[[], int]) -> None:
        self._settings = settings
        self._store = store
        self._clock_ms = clock_ms
        self._one_at_a_time = threading.Lock()
        self._admin: KafkaAdminClient | None = None
        self._ids: dict[str, str] = {}
        self._ends: dict[Place, int] = {}
        self._reached: dict[Place, int] = {}
        self._closed: frozenset[str] = frozenset()

    def __enter__(self) -> Self:
        """Connect. Raises ``KafkaError``."""
        self._admin = cluster.connect(self._settings)
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """End the connection."""
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def settle(self) -> frozenset[str]:
        """Leave topics behind that are no more; no query may run.

        Returns the dead letter topics that may not be read. Raises ``KafkaError``.
        """
        described = self._read()
        self._closed = rights.closed(described, self._settings)
        self._ids, self._reached = self._store.topic_ids(), self._store.offsets()
        over = list(gaps.ended(self._reached, self._ids, self._cluster(described), self._ends))
        if over:
            self._end(over)
        self._stand_on({one["name"] for one in self._open(described)})
        return self._closed

    def _end(self, over: Sequence[Ended]) -> None:
        again = {one.topic for one in over if one.reason == gaps.TOPIC_RECREATED}
        planned, pending = plans.newest_topics(self._settings.checkpoint)
        if planned & (again if not pending else {one.topic for one in over}):
            checkpoint.put_aside(self._settings.checkpoint, "it stands on topics that are no more")
        for one in over:
            logger.warning("%s: %s, at least %d records were not read", one.topic, one.reason, one.unread)
        self._store.end_topics(over, self._settings.kafka_cluster, self._clock_ms())
        self._ends = {place: end for place, end in self._ends.items() if place[0] not in again}
        self._ids, self._reached = self._store.topic_ids(), self._store.offsets()

    def _stand_on(self, topics: AbstractSet[str]) -> None:
        """Spark would fail on a closed topic, and begin one anew that it has not seen in its last batch."""
        planned, _ = plans.newest_topics(self._settings.checkpoint)
        if planned & self._closed:
            checkpoint.put_aside(self._settings.checkpoint, "it stands on topics that may not be read")
        elif planned and ({topic for topic, _ in self._reached} & topics) - planned:
            checkpoint.put_aside(self._settings.checkpoint, "it does not stand on all topics that were read")

    def told(self, batch: Batch) -> Batch:
        """A batch that was read, with what it has passed over and the offsets that were planned for it.

        Raises:
            TopicsEndedError: it may hold records of a topic that was made anew.
            KafkaError: Kafka does not answer.
        """
        plan = plans.read(self._settings.checkpoint, batch.batch_id)
        if plan is None:
            return batch
        moved = {place: end for place, end in plan.end.items() if plan.begin.get(place) != end}
        read, redriven = {topic for topic, _ in moved}, self._redriven(batch)
        described = self._describe(read | redriven)
        found = ids([one for one in described if one["name"] in read])
        changed = {topic for topic in found if self._is_another(topic, found[topic])}
        changed |= gaps.went_back(plan) - set(self._ids)
        if changed:
            raise gaps.TopicsEndedError(changed)
        holes = gaps.holes(plan, batch.first_offsets)
        beginnings = self._offsets(self._describe({topic for topic, _ in holes}), OffsetSpec.EARLIEST)
        counts = gaps.missed(holes, beginnings)
        for topic, count in counts.items():
            logger.warning("%s: %d offsets were deleted before they were read", topic, count)
        known = {topic: topic_id for topic, topic_id in found.items() if topic_id}
        self._ids, self._reached = {**self._ids, **known}, {**self._reached, **plan.end}
        cluster, now_ms = self._settings.kafka_cluster, self._clock_ms()
        missed = [
            Ended(topic, gaps.DELETED_UNREAD, count).missed(cluster, now_ms)
            for topic, count in counts.items()
        ]
        present = self._present([one for one in described if one["name"] in redriven])
        return replace(
            batch, offsets=moved, topic_ids=known, series=(*batch.series, *missed), present=present
        )

    def _redriven(self, batch: Batch) -> set[str]:
        """Dead letter topics of which is known what redrives have moved, where a batch tells of one."""
        told = {event.dlq_topic for event in batch.events if isinstance(event, RedriveHandled)}
        known = told | self._store.redriven_topics() if told else told
        return {topic for topic in known if LEGAL.fullmatch(topic)}

    def _present(self, described: Described) -> dict[str, Present]:
        """As they are now; of those that are kept from us nothing."""
        beginnings = self._offsets([one for one in described if not one["error_code"]], OffsetSpec.EARLIEST)
        first: dict[str, dict[int, int]] = defaultdict(dict)
        for (topic, partition), offset in beginnings.items():
            first[topic][partition] = offset
        there = {topic: Present(one, first[topic]) for topic, one in ids(described).items()}
        gone = UnknownTopicOrPartitionError.errno
        return there | {one["name"]: Present("", {}) for one in described if one["error_code"] == gone}

    def look(self) -> dict[str, int]:
        """Records behind the end of every topic that is read, by topic.

        Raises:
            TopicsEndedError: a topic is another one by now, or is gone with records that were not read.
            RightsChangedError: a topic may be read that could not be, or no longer.
            KafkaError: Kafka does not answer.
        """
        everything = self._read()
        changed_rights = rights.closed(everything, self._settings) ^ self._closed
        if changed_rights:
            raise rights.RightsChangedError(changed_rights)
        described = self._open(everything)
        found, reached = ids(described), self._reached
        ends = self._offsets(described, OffsetSpec.LATEST)
        if not ends.keys() <= reached.keys():
            reached = {**self._offsets(described, OffsetSpec.EARLIEST), **reached}
        changed = {topic for topic, topic_id in found.items() if self._is_another(topic, topic_id)}
        self._ends = {**self._ends, **{place: end for place, end in ends.items() if place[0] not in changed}}
        unread = {place[0] for place, end in self._ends.items() if end > reached.get(place, end)}
        changed |= unread & self._gone(found)
        if changed:
            raise gaps.TopicsEndedError(changed)
        behind = Counter(dict.fromkeys(found, 0))
        for place, end in ends.items():
            behind[place[0]] += max(0, end - reached.get(place, end))
        return behind

    def _cluster(self, everything: Described) -> gaps.Cluster:
        described = self._open(everything)
        found = ids(described)
        return gaps.Cluster(found, self._offsets(described, OffsetSpec.LATEST), self._gone(found))

    def _is_another(self, topic: str, topic_id: str) -> bool:
        return bool(topic_id) and self._ids.get(topic, topic_id) != topic_id

    def _read(self) -> Described:
        """Every topic that the query reads, or would read if it might."""
        return [one for one in self._ask(None) if source.is_read(one["name"], self._settings)]

    def _open(self, described: Described) -> Described:
        return [one for one in described if one["name"] not in self._closed]

    def _describe(self, topics: Iterable[str]) -> Described:
        """These topics, with an error code where they cannot be described."""
        names = sorted(topics)
        return self._ask(names) if names else []

    def _gone(self, found: Mapping[str, str]) -> frozenset[str]:
        """Topics that were read and that Kafka says it does not have; not those that it keeps from us."""
        described = self._describe(set(self._ids) - set(found))
        gone = UnknownTopicOrPartitionError.errno
        return frozenset(one["name"] for one in described if one["error_code"] == gone)

    def _ask(self, topics: list[str] | None) -> Described:
        with self._one_at_a_time:
            described: Described = self._connected().describe_topics(topics)
        return described

    def _offsets(self, described: Described, spec: OffsetSpec) -> dict[Place, int]:
        wanted = [
            TopicPartition(one["name"], partition["partition_index"])
            for one in described
            for partition in one["partitions"]
        ]
        if not wanted:
            return {}
        with self._one_at_a_time:
            found = self._connected().list_partition_offsets(
                dict.fromkeys(wanted, spec), IsolationLevel.READ_COMMITTED
            )
        return {(place.topic, place.partition): one.offset for place, one in found.items()}

    def _connected(self) -> KafkaAdminClient:
        if self._admin is None:
            raise RuntimeError("outside `with`")
        return self._admin


def ids(described: Described) -> dict[str, str]:
    """The id of every topic that could be described; "" where its broker knows no ids."""
    told = {one["name"]: str(one.get("topic_id") or NO_ID) for one in described if not one["error_code"]}
    return {topic: "" if topic_id == NO_ID else topic_id for topic, topic_id in told.items()}
