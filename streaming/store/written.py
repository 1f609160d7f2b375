"""Where redrives have written: ranges of offsets, by which a share group's dead letter is known as a return.

A range is kept for ``KEPT_MS``. Of two ranges about one offset the newer one counts: the topic was made anew.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from sqlalchemy import Connection, delete, select

from collector.contract.events import Event, RedriveWritten
from streaming.store.caps import Caps
from streaming.store.engine import chunks, upsert
from streaming.store.offset_runs import Run, rest
from streaming.store.schema import redrive_written as table
from streaming.store.storable import storable_key

KEPT_MS: Final = 7 * 86_400_000
MARKER: Final = 1
"""Between the records of two transactions of one producer lies the end of the first, if nothing else does."""


class Lane(NamedTuple):
    """A partition of a target."""

    kafka_cluster: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Written:
    """A range, whose it is and when it was written last."""

    lane: Lane
    run: Run
    order: str
    written_at_ms: int


def merge(connection: Connection, events: Sequence[Event], caps: Caps, now_ms: int) -> None:
    """Keep the ranges of a batch; one that goes on where another of its order ended becomes one with it."""
    told = [one for one in events if isinstance(one, RedriveWritten)]
    if not told:
        return
    connection.execute(delete(table).where(table.c.written_at_ms < now_ms - KEPT_MS))
    topics = {storable_key(one.target_topic) for one in told}
    before = of_topics(connection, topics)
    known, lanes = set(before), by_lane(before)
    for one in sorted((each for event in told for each in _ranges(event)), key=_age):
        _add(lanes.setdefault(one.lane, []), one)
    after = {_key(one): one for found in lanes.values() for one in found}
    for lane, first in {_key(one) for one in before} - after.keys():
        mine = zip((table.c.kafka_cluster, table.c.target_topic, table.c.partition), lane, strict=True)
        where = [column == value for column, value in mine]
        connection.execute(delete(table).where(*where, table.c.first_offset == first))
    changed = [_row(one) for one in after.values() if one not in known]
    upsert(connection, table, caps.fitting(connection, table, changed))


def by_lane(ranges: Iterable[Written]) -> dict[Lane, list[Written]]:
    """The ranges of each partition in their order; they never overlap."""
    lanes: dict[Lane, list[Written]] = {}
    for one in sorted(ranges, key=_key):
        lanes.setdefault(one.lane, []).append(one)
    return lanes


def of_topics(connection: Connection, topics: Iterable[str]) -> list[Written]:
    """All ranges of these topics."""
    return [
        Written(
            Lane(row.kafka_cluster, row.target_topic, row.partition),
            (row.first_offset, row.end_offset),
            row.order_id,
            row.written_at_ms,
        )
        for chunk in chunks(topics)
        for row in connection.execute(select(table).where(table.c.target_topic.in_(chunk)))
    ]


def overlapping(lane: Sequence[Written], run: Run) -> Sequence[Written]:
    """Those ranges of a partition that may hold an offset of the run, and at most one before it."""
    begin = max(bisect_left(lane, run[0], key=_first) - 1, 0)
    return lane[begin : bisect_left(lane, run[1], key=_first)]


def any_kept(connection: Connection) -> bool:
    """Whether there is any range."""
    return connection.execute(select(table.c.first_offset).limit(1)).first() is not None


def _age(one: Written) -> tuple[int, Run]:
    return one.written_at_ms, one.run


def _key(one: Written) -> tuple[Lane, int]:
    return one.lane, one.run[0]


def _add(lane: list[Written], new: Written) -> None:
    """Older ranges give way to the new one; the one that it continues grows."""
    first, end = new.run
    near = overlapping(lane, new.run)
    kept: list[Written] = []
    for old in near:
        if old.order == new.order and first - MARKER <= old.run[1] <= first:
            first = old.run[0]
        else:
            kept += [replace(old, run=left) for left in rest(old.run, [new.run])]
    begin = lane.index(near[0]) if near else bisect_left(lane, first, key=_first)
    lane[begin : begin + len(near)] = sorted([*kept, replace(new, run=(first, end))], key=_first)


def _first(one: Written) -> int:
    return one.run[0]


def _ranges(event: RedriveWritten) -> Iterable[Written]:
    for one in event.written:
        if 0 <= one.first < one.end:
            lane = Lane(event.kafka_cluster, event.target_topic, one.partition)
            yield Written(lane, (one.first, one.end), event.order, event.happened_at_ms)


def _row(one: Written) -> dict[str, str | int]:
    return {
        "kafka_cluster": one.lane.kafka_cluster,
        "target_topic": one.lane.topic,
        "partition": one.lane.partition,
        "first_offset": one.run[0],
        "end_offset": one.run[1],
        "order_id": one.order,
        "written_at_ms": one.written_at_ms,
    }
