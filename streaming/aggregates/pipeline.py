"""What the service says of itself: events and refusals counted, how far every source and topic was read."""

from collections.abc import Iterable, Iterator

from collector.contract.events import Position, Quarantined
from streaming.aggregates.summary import NO_POSITION, Summary
from streaming.store.batch import SeriesDelta, storable
from streaming.store.series import EVENTS, QUARANTINED


def deltas(summaries: Iterable[Summary]) -> Iterator[SeriesDelta]:
    """Events by source and kind; what could not be read by where it was and why."""
    for one in summaries:
        if one.kind:
            labels = {"source": one.source, "kind": one.kind}
            yield one.adds(EVENTS, labels, one.count)
        for source, reason, count in _unreadable(one):
            labels = {"source": source, "reason": reason}
            yield one.adds(QUARANTINED, labels, count)


def _unreadable(one: Summary) -> Iterator[tuple[str, str, int]]:
    if one.kind == Quarantined.kind:
        yield one.source, one.labels["reason"], one.count
    if one.refused:
        yield one.topic, one.refused, one.count


def next_offsets(summaries: Iterable[Summary]) -> dict[tuple[str, int], int]:
    """Where reading goes on, for every topic and partition of the batch."""
    offsets: dict[tuple[str, int], int] = {}
    for one in summaries:
        place = (one.topic, one.partition)
        offsets[place] = max(offsets.get(place, 0), one.last_offset + 1)
    return offsets


def first_offsets(summaries: Iterable[Summary]) -> dict[tuple[str, int], int]:
    """Where reading has begun, for every topic and partition of the batch."""
    offsets: dict[tuple[str, int], int] = {}
    for one in summaries:
        place = (one.topic, one.partition)
        offsets[place] = min(offsets.get(place, one.first_offset), one.first_offset)
    return offsets


def first_positions(summaries: Iterable[Summary]) -> dict[str, Position]:
    """The lowest position of every source in the batch."""
    positions: dict[str, Position] = {}
    for one in summaries:
        if one.kind:
            positions[one.source] = min(positions.get(one.source, one.first_position), one.first_position)
    return positions


def marks(summaries: Iterable[Summary]) -> dict[str, Position]:
    """The highest position of every source in the batch."""
    positions: dict[str, Position] = {}
    for one in summaries:
        if one.kind:
            source = storable(one.source)
            positions[source] = max(positions.get(source, NO_POSITION), one.last_position)
    return positions
