"""Pages and single records of dead letter topics: bounded in time, bytes and records, a few readers at a
time.

The cursor of a page holds the intervals of offsets that are left of every partition and a digest of the
query: it continues the query that it came from and no other.
"""

import base64
import hashlib
import json
import threading
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final, Self

from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError, model_validator

from api.answers import Question, milliseconds
from api.browsing.merge import Budget, Merge, WindowReader
from api.errors import BrowseBusyError, InvalidCursorError, UnknownRecordError, UnknownTopicError
from api.settings import ApiSettings
from api.store import Store
from api.validation import TOPIC
from deadwatch.deadletter.filter import MAX_CHARS, Filter
from deadwatch.deadletter.record import DeadLetter
from deadwatch.orders.errors import KafkaUnavailableError
from deadwatch.orders.order import Interval
from deadwatch.orders.selection import Extents
from deadwatch.runtime.clock import monotonic_ms
from deadwatch.store.write.snapshots import named_topics
from redrive.cluster import Cluster

MOST_BYTES: Final = 262_144
"""Size of an unpacked cursor: enough for some thousand partitions."""
MOST_OFFSET: Final = 2**63 - 1
MOST_PARTITION: Final = 2**31 - 1
MOST_CHARS: Final = 249
"""The longest name of a topic."""
_LEFT: Final = TypeAdapter(list[tuple[int, int, int]])


class RecordOrder(StrEnum):
    """By time, between the partitions: which end comes first."""

    OLDEST = "oldest"
    NEWEST = "newest"


class RecordQuery(Question):
    """Which records; all conditions must hold."""

    topic: str = Field(
        pattern=TOPIC, max_length=MOST_CHARS, description="A dead letter topic, or one of parked records."
    )
    partition: int | None = Field(None, ge=0, le=MOST_PARTITION)
    offset: int | None = Field(None, ge=0, le=MOST_OFFSET, description="From here on; needs `partition`.")
    begin: AwareDatetime | None = Field(None, alias="from", description="By the record's time; included.")
    end: AwareDatetime | None = Field(None, alias="to", description="By the record's time; not included.")
    filter: str | None = Field(
        None,
        max_length=MAX_CHARS,
        description="CEL, as for redrives; key, value and headers need the role of `api.unmask_role`.",
        examples=['error_class.endsWith("DataException") && attempts < 3'],
    )
    order: RecordOrder = Field(RecordOrder.NEWEST, description="Which end comes first.")

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        if self.offset is not None and self.partition is None:
            raise ValueError("offset needs a partition: an offset is a place in one")
        return self

    @cached_property
    def from_ms(self) -> int | None:
        """When the records begin; Kafka takes a time before the epoch for a place."""
        return None if self.begin is None else max(0, milliseconds(self.begin))

    @cached_property
    def to_ms(self) -> int | None:
        """When they end; not included."""
        return None if self.end is None else max(0, milliseconds(self.end))

    @property
    def digest(self) -> str:
        """A digest that differs from query to query."""
        places = (self.topic, self.partition, self.offset, self.from_ms, self.to_ms)
        asked = json.dumps((*places, self.filter, self.order))
        return hashlib.sha256(asked.encode()).hexdigest()[:16]


def encode_cursor(query: RecordQuery, left: Mapping[int, Interval]) -> str:
    """The cursor that continues the query with the intervals that are left."""
    text = json.dumps([query.digest, [(partition, *left[partition]) for partition in sorted(left)]])
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def decode_cursor(query: RecordQuery, cursor: str) -> dict[int, Interval]:
    """The intervals that are left. Raises ``InvalidCursorError`` for what ``encode_cursor`` did not make."""
    try:
        packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        digest, intervals = json.loads(zlib.decompressobj().decompress(packed, MOST_BYTES))
        left = {partition: (first, end) for partition, first, end in _LEFT.validate_python(intervals)}
    except (ValueError, TypeError, RecursionError, zlib.error, ValidationError):
        raise InvalidCursorError from None
    possible = all(
        0 <= part <= MOST_PARTITION and 0 <= first < end <= MOST_OFFSET for part, (first, end) in left.items()
    )
    if digest != query.digest or not left or not possible or encode_cursor(query, left) != cursor:
        raise InvalidCursorError
    return left


WAIT_S: Final = 2.0
"""How long a caller waits for another reading to end before it is refused."""


@dataclass(frozen=True, slots=True)
class RecordPage:
    """A page; ``left`` are the intervals that were not read, by partition, ``next`` the cursor of the rest,
    ``problems`` counts why the filter could not be evaluated.
    """

    records: list[DeadLetter]
    read: int
    left: Mapping[int, Interval]
    next: str | None
    problems: Mapping[str, int] = field(default_factory=dict)


class Browser:
    """Reads topics that hold dead letters or parked records, with a consumer that belongs to no group."""

    def __init__(self, settings: ApiSettings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._slots = threading.BoundedSemaphore(settings.browse_max_readers)

    def page(self, query: RecordQuery, matcher: Filter | None, after: str | None, limit: int) -> RecordPage:
        """Up to ``limit`` records; fewer, even none, where the budget ends the reading before.

        Raises ``ApiError``: no such topic, the cursor is not valid, or too many read already;
        ``KafkaUnavailableError``: Kafka does not answer, or gives nothing in time.
        """
        with self._slot():
            extents = self._extents(query.topic, query.partition)
            left = self._begin(query, extents) if after is None else decode_cursor(query, after)
            return self._page(query, matcher, _within(left, extents), limit)

    def record(self, topic: str, partition: int, offset: int) -> DeadLetter:
        """The record at one offset.

        Raises ``ApiError``: there is no such record, or too many read already; ``KafkaUnavailableError``:
        Kafka does not answer, or gives nothing in time.
        """
        with self._slot():
            extents = self._extents(topic, partition)
            first, end = extents.begin[partition], extents.end[partition]
            if not first <= offset < end:
                raise UnknownRecordError(topic, partition, offset, first, end)
            with closing(WindowReader(self._settings.kafka, topic)) as reader:
                (reading,) = reader.read({partition: (offset, offset + 1)}, self._budget()).values()
            if reading.records:
                return reading.records[0]
            if reading.position <= offset:
                raise self._unanswered(topic)
            raise UnknownRecordError(topic, partition, offset, first, end)

    def _page(
        self, query: RecordQuery, matcher: Filter | None, left: Mapping[int, Interval], limit: int
    ) -> RecordPage:
        records: list[DeadLetter] = []
        problems: Counter[str] = Counter()
        read = 0
        with closing(WindowReader(self._settings.kafka, query.topic)) as reader:
            merge = Merge(left, reader.read, newest_first=query.order is RecordOrder.NEWEST)
            budget = self._budget()
            for record in merge.records(budget):
                read += 1
                late = query.to_ms is not None and record.timestamp_ms >= query.to_ms
                early = query.from_ms is not None and record.timestamp_ms < query.from_ms
                if not (early or late) and _matches(matcher, record, problems):
                    records.append(record)
                if len(records) >= limit or budget.late:
                    break
            if left and not merge.moved:
                raise self._unanswered(query.topic)
            following = encode_cursor(query, merge.left) if merge.left else None
            return RecordPage(records, read, merge.left, following, dict(problems.most_common(10)))

    def _budget(self) -> Budget:
        settings = self._settings
        until_ms = monotonic_ms() + settings.browse_timeout_ms
        return Budget(settings.browse_max_records, settings.browse_max_bytes, until_ms, monotonic_ms)

    def _unanswered(self, topic: str) -> KafkaUnavailableError:
        return KafkaUnavailableError(
            f"topic {topic} gave no record within {self._settings.browse_timeout_ms} ms; try again, or raise "
            "browse_timeout_ms"
        )

    def _extents(self, topic: str, partition: int | None) -> Extents:
        """The offsets that the topic holds, or one partition of it."""
        partitions = self._cluster.partitions()
        if topic not in partitions:
            raise UnknownTopicError(topic)
        with self._store.read() as connection:
            rules = self._settings.target_rules(named_topics(connection), partitions)
        if not rules.is_dlq(topic):
            raise UnknownTopicError(topic)
        if partition is not None and partition >= partitions[topic]:
            raise UnknownTopicError(topic, partition)
        return self._cluster.extents(topic, partitions[topic] if partition is None else [partition])

    def _begin(self, query: RecordQuery, extents: Extents) -> dict[int, Interval]:
        """The offsets that the query covers, before a record is read."""
        first = dict(extents.begin)
        if query.from_ms is not None:  # -1 stands for a partition without such a record
            begins = self._cluster.begin_at(query.topic, extents.end, query.from_ms)
            first |= {part: extents.end[part] if offset < 0 else offset for part, offset in begins.items()}
        if query.offset is not None and query.partition is not None:
            first[query.partition] = max(first[query.partition], query.offset)
        return {partition: (first[partition], end) for partition, end in extents.end.items()}

    @contextmanager
    def _slot(self) -> Iterator[None]:
        if not self._slots.acquire(timeout=WAIT_S):
            raise BrowseBusyError(self._settings.browse_max_readers)
        try:
            yield
        finally:
            self._slots.release()

    @cached_property
    def _cluster(self) -> Cluster:
        return Cluster(self._settings.kafka)


def _within(left: Mapping[int, Interval], extents: Extents) -> dict[int, Interval]:
    """The part of the intervals that still exists on the topic."""
    cut = {
        partition: (max(first, extents.begin[partition]), min(end, extents.end[partition]))
        for partition, (first, end) in left.items()
        if partition in extents.end
    }
    return {partition: (first, end) for partition, (first, end) in cut.items() if first < end}


def _matches(matcher: Filter | None, record: DeadLetter, problems: Counter[str]) -> bool:
    if matcher is None:
        return True
    verdict = matcher.verdict(record)
    problems.update([verdict.problem] if verdict.problem else [])
    return verdict.matches
