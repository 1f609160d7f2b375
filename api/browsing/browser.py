"""Pages and single records of dead letter topics: bounded in time, bytes and records, a few at a time."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from api.browsing import query as queries
from api.browsing.merge import Merge
from api.browsing.query import Order, Query
from api.browsing.windows import Budget, WindowReader
from api.errors import BrowseBusyError, UnknownRecordError, UnknownTopicError
from api.settings import ApiSettings
from api.store import Store
from streaming.filter import Filter
from streaming.letter import Letter
from streaming.redrive.cluster import Cluster, Extents
from streaming.redrive.errors import KafkaUnavailableError
from streaming.redrive.order import Interval
from streaming.redrive.targets import TargetRules
from streaming.store.dlq_names import named_topics

WAIT_S: Final = 2.0
"""For another reading to end, before the caller is sent away."""


@dataclass(frozen=True, slots=True)
class Found:
    """A page; ``left`` is what was not looked at, by partition, ``next`` the cursor that goes on there.

    ``problems`` counts why the filter could not be evaluated.
    """

    letters: list[Letter]
    read: int
    left: Mapping[int, Interval]
    next: str | None
    problems: Mapping[str, int] = field(default_factory=dict)


class Browser:
    """Reads with a consumer without group, on the topics that hold dead letters or parked records."""

    def __init__(self, settings: ApiSettings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._places = threading.BoundedSemaphore(settings.browse_max_readers)

    def page(self, query: Query, matcher: Filter | None, after: str | None, limit: int) -> Found:
        """Up to ``limit`` letters; fewer, even none, where the budget ends the reading before.

        Raises:
            ApiError: the topic or the cursor is none, or too many read already.
            KafkaUnavailableError: Kafka cannot be asked, or gives nothing in time.
        """
        with self._place():
            extents = self._extents(query.topic, query.partition)
            left = self._begin(query, extents) if after is None else queries.decode(query, after)
            return self._page(query, matcher, _within(left, extents), limit)

    def record(self, topic: str, partition: int, offset: int) -> Letter:
        """The record that is there.

        Raises:
            ApiError: there is none, or too many read already.
            KafkaUnavailableError: Kafka cannot be asked, or gives nothing in time.
        """
        with self._place():
            extents = self._extents(topic, partition)
            first, end = extents.begin[partition], extents.end[partition]
            if not first <= offset < end:
                raise UnknownRecordError(topic, partition, offset, first, end)
            with WindowReader(self._settings.kafka, topic) as reader:
                budget = self._budget()
                (reading,) = reader.read({partition: (offset, offset + 1)}, budget).values()
            if reading.letters:
                return reading.letters[0]
            if reading.position <= offset:
                raise self._silent(topic)
            raise UnknownRecordError(topic, partition, offset, first, end)

    def _page(self, query: Query, matcher: Filter | None, left: Mapping[int, Interval], limit: int) -> Found:
        letters: list[Letter] = []
        problems: Counter[str] = Counter()
        read = 0
        with WindowReader(self._settings.kafka, query.topic) as reader:
            merge = Merge(left, reader.read, newest_first=query.order is Order.NEWEST)
            budget = self._budget()
            for letter in merge.letters(budget):
                read += 1
                if _in_time(query, letter) and _matches(matcher, letter, problems):
                    letters.append(letter)
                if len(letters) >= limit or budget.late:
                    break
            if left and not merge.moved:
                raise self._silent(query.topic)
            following = queries.encode(query, merge.left) if merge.left else None
            return Found(letters, read, merge.left, following, dict(problems.most_common(10)))

    def _budget(self) -> Budget:
        settings = self._settings
        until_ms = _monotonic_ms() + settings.browse_timeout_ms
        return Budget(settings.browse_max_records, settings.browse_max_bytes, until_ms, _monotonic_ms)

    def _silent(self, topic: str) -> KafkaUnavailableError:
        return KafkaUnavailableError(
            f"topic {topic} gave no record within {self._settings.browse_timeout_ms} ms; try again, or raise "
            "browse_timeout_ms"
        )

    def _extents(self, topic: str, partition: int | None) -> Extents:
        """What the topic holds, or one partition of it."""
        partitions = self._cluster.partitions()
        if topic not in partitions or not self._rules(partitions).is_dlq(topic):
            raise UnknownTopicError(topic)
        if partition is not None and partition >= partitions[topic]:
            raise UnknownTopicError(topic, partition)
        extents = self._cluster.extents(topic, partitions[topic])
        if partition is None:
            return extents
        return Extents({partition: extents.begin[partition]}, {partition: extents.end[partition]})

    def _rules(self, partitions: Mapping[str, int]) -> TargetRules:
        settings = self._settings
        with self._store.read() as connection:
            named = named_topics(connection)
        return TargetRules(
            partitions, settings.targets_allow, settings.dlq_topics, settings.dlq_topics_deny, named
        )

    def _begin(self, query: Query, extents: Extents) -> dict[int, Interval]:
        """The offsets that the question is about, before a record is read."""
        first = dict(extents.begin)
        if query.from_ms is not None:
            first |= self._offsets_of(query.topic, query.from_ms, extents)
        if query.offset is not None and query.partition is not None:
            first[query.partition] = max(first[query.partition], query.offset)
        return {partition: (first[partition], end) for partition, end in extents.end.items()}

    def _offsets_of(self, topic: str, time_ms: int, extents: Extents) -> dict[int, int]:
        """The first offset of each partition whose record is not before the time."""
        told = self._cluster.begin_at(topic, extents.end, time_ms)
        return {
            partition: extents.end[partition] if offset < 0 else offset for partition, offset in told.items()
        }

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._places.acquire(timeout=WAIT_S):
            raise BrowseBusyError(self._settings.browse_max_readers)
        try:
            yield
        finally:
            self._places.release()

    @cached_property
    def _cluster(self) -> Cluster:
        return Cluster(self._settings.kafka)


def _within(left: Mapping[int, Interval], extents: Extents) -> dict[int, Interval]:
    """What is still there of what was left."""
    cut = {
        partition: (max(first, extents.begin[partition]), min(end, extents.end[partition]))
        for partition, (first, end) in left.items()
        if partition in extents.end
    }
    return {partition: (first, end) for partition, (first, end) in cut.items() if first < end}


def _in_time(query: Query, letter: Letter) -> bool:
    after = query.from_ms is None or letter.timestamp_ms >= query.from_ms
    return after and (query.to_ms is None or letter.timestamp_ms < query.to_ms)


def _matches(matcher: Filter | None, letter: Letter, problems: Counter[str]) -> bool:
    if matcher is None:
        return True
    verdict = matcher.verdict(letter)
    if verdict.problem:
        problems[verdict.problem] += 1
    return verdict.matches


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000
