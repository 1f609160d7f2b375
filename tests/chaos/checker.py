"""What a history of redrives shows that must not be, in Jepsen's words.

The history is what Kafka holds in the end, what a reader of committed records saw on the way, and what the
outcomes tell. Every dead letter is one record of the order; its place names it.

* lost           an order that is complete has left it behind
* duplicated     it stands on its target more than once
* altered        its key or its value is not what it was
* reordered      it stands before one that was before it in the same partition, and in the same order
* aborted read   a reader of committed records saw it where nothing is committed in the end (G1a)
* torn           of a transaction's records some are visible, others or their outcome are not (G1b)
* untold         the outcomes tell of places where no record is
* hanging        a transaction is open in the end: readers of committed records wait behind it
* offsets behind the group's offsets are not where the outcomes are
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple


class Place(NamedTuple):
    """A partition and an offset, of the dead letter topic or of a target."""

    partition: int
    offset: int


class Content(NamedTuple):
    """What must not change."""

    key: bytes | None
    value: bytes | None


class MovedRecord(NamedTuple):
    """A committed record of the target, and the dead letter that its headers name."""

    at: Place
    dead_letter: Place
    content: Content


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one transaction tells: the dead letters that it handled, and where it wrote their records."""

    handled: frozenset[Place]
    written: frozenset[Place]


@dataclass(frozen=True, slots=True)
class History:
    """Everything that is known of one order that is complete, on one target topic."""

    dead_letters: Mapping[Place, Content]
    """What the order has to move."""
    moved: Sequence[MovedRecord]
    """What a reader of committed records finds in the end, in the order of each partition."""
    outcomes: Sequence[Outcome]
    """In the order in which they were committed."""
    offsets: Mapping[int, int] = field(default_factory=dict)
    """The group's committed offsets by partition of the dead letter topic."""
    seen: Sequence[MovedRecord] = ()
    """What a reader of committed records saw while all went on."""
    open_partitions: frozenset[int] = frozenset()
    """Partitions of the target that hold records behind the last stable offset."""


class Kind(StrEnum):
    """The anomalies."""

    LOST = "lost"
    DUPLICATED = "duplicated"
    ALTERED = "altered"
    REORDERED = "reordered"
    ABORTED_READ = "aborted read"
    TORN = "torn"
    UNTOLD = "untold"
    HANGING = "hanging"
    OFFSETS_BEHIND = "offsets behind"


class Anomaly(NamedTuple):
    """One thing that must not be, and the place of the dead letter, of the record or of the partition."""

    kind: Kind
    at: Place


def anomalies(history: History) -> list[Anomaly]:
    """All that the history shows; empty where everything is as it must be."""
    checks = (_lost, _duplicated, _altered, _reordered, _aborted_reads, _torn, _untold, _hanging, _behind)
    return [anomaly for check in checks for anomaly in check(history)]


def table(found: Sequence[Anomaly]) -> Counter[str]:
    """How many of each kind."""
    return Counter(one.kind.value for one in found)


def _times(history: History) -> Counter[Place]:
    return Counter(record.dead_letter for record in history.moved)


def _lost(history: History) -> Iterator[Anomaly]:
    for place in sorted(history.dead_letters.keys() - _times(history).keys()):
        yield Anomaly(Kind.LOST, place)


def _duplicated(history: History) -> Iterator[Anomaly]:
    for place, times in sorted(_times(history).items()):
        if times > 1:
            yield Anomaly(Kind.DUPLICATED, place)


def _altered(history: History) -> Iterator[Anomaly]:
    for record in history.moved:
        if history.dead_letters.get(record.dead_letter) != record.content:
            yield Anomaly(Kind.ALTERED, record.dead_letter)


def _reordered(history: History) -> Iterator[Anomaly]:
    """Of the first time that each dead letter stands there: a duplicate is one anomaly, not two."""
    by_partitions: dict[tuple[int, int], dict[Place, int]] = {}
    for record in history.moved:
        lane = by_partitions.setdefault((record.at.partition, record.dead_letter.partition), {})
        lane.setdefault(record.dead_letter, record.at.offset)
    for lane in by_partitions.values():
        by_target = sorted(lane, key=lane.__getitem__)
        for before, after in pairwise(by_target):
            if after.offset < before.offset:
                yield Anomaly(Kind.REORDERED, after)


def _aborted_reads(history: History) -> Iterator[Anomaly]:
    committed = {record.at: record for record in history.moved}
    for record in history.seen:
        if committed.get(record.at) != record:
            yield Anomaly(Kind.ABORTED_READ, record.at)


def _torn(history: History) -> Iterator[Anomaly]:
    """A visible record of which no outcome tells, or one whose transaction is visible only in part."""
    by_place = {record.at: record.dead_letter for record in history.moved}
    told = {place for outcome in history.outcomes for place in outcome.written}
    for place in sorted(by_place.keys() - told):
        yield Anomaly(Kind.TORN, place)
    for outcome in history.outcomes:
        visible = outcome.written & by_place.keys()
        if visible and visible != outcome.written:
            yield Anomaly(Kind.TORN, min(outcome.written - visible))
        elif visible and {by_place[place] for place in visible} != outcome.handled:
            yield Anomaly(Kind.TORN, min(visible))


def _untold(history: History) -> Iterator[Anomaly]:
    places = {record.at for record in history.moved}
    for outcome in history.outcomes:
        if outcome.written and not outcome.written & places:
            yield Anomaly(Kind.UNTOLD, min(outcome.written))


def _hanging(history: History) -> Iterator[Anomaly]:
    for partition in sorted(history.open_partitions):
        yield Anomaly(Kind.HANGING, Place(partition, -1))


def _behind(history: History) -> Iterator[Anomaly]:
    """The offset that is committed is behind the last dead letter that was handled."""
    last: dict[int, int] = {}
    for outcome in history.outcomes:
        for partition, offset in outcome.handled:
            last[partition] = max(last.get(partition, -1), offset)
    for partition, offset in sorted(last.items()):
        if history.offsets.get(partition, 0) <= offset:
            yield Anomaly(Kind.OFFSETS_BEHIND, Place(partition, offset))
