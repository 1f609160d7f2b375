"""Events counted: sums by kind, source, labels and tick; each event once, also where a source sends it again.

A source may have replayed events where a position comes again, in this batch, or at or below the position up
to which it was counted before. The events of such a source are then told apart by position, so that each
counts once.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from deadwatch.contract.events import Event, Position
from streaming.kernel import NO_POSITION, Context, ticks
from streaming.kernel.event_decoder import DECODE_ERRORS, decoder, details_of, kinds, reason_of

RecordOffset = tuple[int, int]
"""Offset and partition of a record in the events topic."""


class Key(NamedTuple):
    """What the events of one sum share; ``position`` only where their source may have replayed, else None.

    ``labels`` are the values of ``event_decoder.labels_of(kind)``. For refused records ``refused`` is the
    reason, and ``kind`` and ``source`` are empty.
    """

    kind: str
    source: str
    refused: str
    labels: tuple[str, ...]
    tick_ms: int
    position: Position | None


class Sums(NamedTuple):
    """The events of one key; ``detail`` is of the latest one, which is the record ``latest``."""

    events: int
    records: int
    first_ms: int
    last_ms: int
    observed_ms: int
    last_position: Position
    latest: RecordOffset
    detail: Mapping[str, int | str]


class Run(NamedTuple):
    """The events of a source in a partition; unless the positions ``grow`` one of them may come twice."""

    source: str
    first: Position
    last: Position
    grow: bool


class EventCounts(NamedTuple):
    """The events of some records; ``stateful`` are those that change a state, each at its record."""

    sums: Mapping[Key, Sums]
    runs: tuple[Run, ...]
    stateful: Mapping[RecordOffset, Event]

    def deduplicated(self) -> "EventCounts":
        """Of the events of a replayed source that have the same position the first one."""
        first: dict[tuple[str, Position], tuple[Key, Sums]] = {}
        for key, sums in self.sums.items():
            if key.position is not None:
                known = first.setdefault((key.source, key.position), (key, sums))
                if sums.latest < known[1].latest:
                    first[key.source, key.position] = (key, sums)
        others = [item for item in self.sums.items() if item[0].position is None]
        distinct = [(key._replace(position=None), sums) for key, sums in first.values()]
        return self._replace(sums=_merged([*others, *distinct]))

    def replayed(self, marks: Mapping[str, Position]) -> dict[str, Position]:
        """The sources that may have sent events again, each with its mark: the position up to which its
        events were counted before.
        """
        runs: defaultdict[str, list[Run]] = defaultdict(list)
        for run in self.runs:
            runs[run.source].append(run)
        mark_of = {source: marks.get(source, NO_POSITION) for source in runs}
        return {source: mark for source, mark in mark_of.items() if _may_repeat(runs[source], mark)}

    def state_changes(self) -> list[Event]:
        """The events that change a state, each once, in the order of their source and position."""
        once = {
            (event.source, event.position): event for _, event in sorted(self.stateful.items(), reverse=True)
        }
        return [once[position] for position in sorted(once)]


def merge(parts: Sequence[EventCounts]) -> EventCounts:
    """The counts of all parts."""
    sums = _merged(item for part in parts for item in part.sums.items())
    runs = tuple(run for part in parts for run in part.runs)
    return EventCounts(sums, runs, {at: event for part in parts for at, event in part.stateful.items()})


def count(records: pa.Table, context: Context) -> EventCounts:
    """Count records of the events topic, those of a partition in the order of their offsets.

    Columns in: partition, offset, timestamp_ms, value.
    """
    counter = _Counter(context)
    columns = (records[name].to_pylist() for name in ("partition", "offset", "timestamp_ms", "value"))
    counter.read(zip(*columns, strict=True))
    return counter.counts()


def _may_repeat(runs: list[Run], mark: Position) -> bool:
    in_order = sorted(runs, key=lambda run: (run.first, run.last))
    overlap = any(after.first <= before.last for before, after in pairwise(in_order))
    return overlap or in_order[0].first <= mark or not all(run.grow for run in runs)


def _merged(items: Iterable[tuple[Key, Sums]]) -> dict[Key, Sums]:
    merged: dict[Key, Sums] = {}
    for key, sums in items:
        known = merged.get(key)
        merged[key] = sums if known is None else _added(key, known, sums)
    return merged


def _added(key: Key, left: Sums, right: Sums) -> Sums:
    """The sums of both; of one event that was found twice the first."""
    if key.position is not None:
        return min(left, right, key=lambda sums: sums.latest)
    latest = max(left, right, key=lambda sums: (sums.last_ms, sums.latest))
    return Sums(
        events=left.events + right.events,
        records=left.records + right.records,
        first_ms=min(left.first_ms, right.first_ms),
        last_ms=latest.last_ms,
        observed_ms=max(left.observed_ms, right.observed_ms),
        last_position=max(left.last_position, right.last_position),
        latest=latest.latest,
        detail=latest.detail,
    )


class _Sum:
    """A sum that grows; ``event`` is the latest, at the record ``latest``."""

    __slots__ = ("count", "event", "first_ms", "last", "last_ms", "latest", "observed_ms", "records")

    def __init__(self, event: Any, happened_ms: int, observed_ms: int, position: Position) -> None:  # noqa: ANN401 -- of msgspec
        self.count = self.records = 0
        self.first_ms = self.last_ms = happened_ms
        self.observed_ms = observed_ms
        self.last = position
        self.event, self.latest = event, (-1, -1)

    def add(
        self, event: object, happened_ms: int, observed_ms: int, position: Position, offset: RecordOffset
    ) -> None:
        self.count += 1
        if happened_ms > self.last_ms or (happened_ms == self.last_ms and offset > self.latest):
            self.last_ms, self.event, self.latest = happened_ms, event, offset
        elif happened_ms < self.first_ms:
            self.first_ms = happened_ms
        self.observed_ms = max(self.observed_ms, observed_ms)
        if position > self.last:  # noqa: PLR1730 -- hot: max() takes longer
            self.last = position

    def sums(self, details: Iterable[str]) -> Sums:
        return Sums(
            self.count,
            self.records,
            self.first_ms,
            self.last_ms,
            self.observed_ms,
            Position(*self.last),
            self.latest,
            {name: getattr(self.event, name) for name in details},
        )


class _Counter:
    """Counts records one after the other."""

    def __init__(self, context: Context) -> None:
        self._replayed = context.replayed
        self._tick_ms = ticks(context.now_ms)
        self._sums: dict[tuple[Any, ...], _Sum] = {}
        self._refused: dict[tuple[str, int], _Sum] = {}
        self._runs: dict[tuple[int, str], list[Any]] = {}
        self._stateful: dict[RecordOffset, Event] = {}

    def read(self, records: Iterable[tuple[int, int, int, bytes | None]]) -> None:
        """The hot loop: a batch may have a million records."""
        decode, kind_of, sums, tick_ms = decoder().decode, kinds(), self._sums, self._tick_ms
        replayed = self._replayed
        for partition, offset, timestamp_ms, value in records:
            try:
                event = decode(value or b"")
            except DECODE_ERRORS:
                self._refuse(value or b"", timestamp_ms, (offset, partition))
                continue
            position, happened_ms, observed_ms = event.position, event.happened_at_ms, event.observed_at_ms
            mark = replayed.get(event.source)
            if mark is None:
                self._extend_run(partition, event.source, position)
            elif position <= mark:
                continue
            kind, labels, records_of, stateful = kind_of[type(event)]
            own_position = None if mark is None else position
            key = (kind, labels(event), tick_ms(happened_ms), own_position)
            known = sums.get(key)
            if known is None:
                known = sums[key] = _Sum(event, happened_ms, observed_ms, position)
            elif own_position:
                continue
            known.add(event, happened_ms, observed_ms, position, (offset, partition))
            known.records += records_of(event)
            if stateful:
                self._stateful[offset, partition] = stateful.decode(value or b"")

    def counts(self) -> EventCounts:
        sums = {
            Key(kind, source, "", tuple(labels), tick, position): known.sums(details_of(kind))
            for (kind, (source, *labels), tick, position), known in self._sums.items()
        }
        refused = {
            Key("", "", reason, (), tick, None): known.sums(())
            for (reason, tick), known in self._refused.items()
        }
        runs = tuple(
            Run(source, Position(*first), Position(*last), grow)
            for (_, source), (first, last, grow) in self._runs.items()
        )
        return EventCounts({**sums, **refused}, runs, self._stateful)

    def _extend_run(self, partition: int, source: str, position: Position) -> None:
        run = self._runs.get((partition, source))
        if run is None:
            self._runs[partition, source] = [position, position, True]
        elif position > run[1]:
            run[1] = position
        else:
            run[0], run[2] = min(run[0], position), False

    def _refuse(self, value: bytes, timestamp_ms: int, offset: RecordOffset) -> None:
        key = (reason_of(value), self._tick_ms(timestamp_ms))
        known = self._refused.get(key)
        if known is None:
            known = self._refused[key] = _Sum(None, timestamp_ms, timestamp_ms, NO_POSITION)
        known.add(None, timestamp_ms, timestamp_ms, NO_POSITION, offset)
