"""Which records of the dead letter topic an order selects, and which offsets must be read for them.

Records that arrived after the order was created are never part of it: they lie behind ``cut_off``. A run of
offsets is ``(first, end)`` with an exclusive end.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from deadwatch.deadletter.record import DeadLetter
from deadwatch.orders.errors import OrderOverlapError, UnreadHistoryError
from deadwatch.orders.order import Interval, Order, Status

Run = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Extents:
    """First offsets, and end offsets of committed records, of a topic by partition."""

    begin: Mapping[int, int]
    end: Mapping[int, int]


Matcher = Callable[[DeadLetter], bool]
"""Whether an order's filter holds for a dead letter; it never raises."""

Intervals = Mapping[int, tuple[Interval, ...]]
"""Offsets to read by partition: sorted intervals that do not touch, with exclusive ends."""


def intervals(order: Order) -> Intervals:
    """The offsets to read for an order: no record outside of them belongs to it."""
    cut = {
        partition: tuple(common((order.begin.get(partition, 0), order.cut_off[partition]), chosen))
        for partition, chosen in sorted(_chosen_offsets(order).items())
        if partition in order.cut_off
    }
    return {partition: found for partition, found in cut.items() if found}


def around(plan: Intervals, partition: int, offset: int) -> Interval | None:
    """The interval that contains the offset, if any."""
    found = plan.get(partition, ())
    place = bisect_right(found, offset, key=lambda one: one[0]) - 1
    return found[place] if place >= 0 and offset < found[place][1] else None


def within(plan: Intervals, partition: int, offset: int) -> bool:
    """Whether any interval contains the offset."""
    return around(plan, partition, offset) is not None


def selects(order: Order, dead_letter: DeadLetter, matcher: Matcher | None = None) -> bool:
    """Whether a dead letter within ``intervals(order)`` belongs to it; ``matcher`` is that of its filter."""
    selection = order.request.selection
    if selection.group is not None:
        return dead_letter.fingerprint == selection.group
    if selection.filter is not None:
        return matcher is not None and matcher(dead_letter)
    if selection.from_ is not None and dead_letter.timestamp_ms < _ms(selection.from_):
        return False
    return selection.to is None or dead_letter.timestamp_ms < _ms(selection.to)


def selects_all(order: Order) -> bool:
    """Whether every dead letter within ``intervals(order)`` belongs to it."""
    chosen = order.request.selection
    return (chosen.group, chosen.filter, chosen.from_, chosen.to) == (None,) * 4


def selector(order: Order, matcher: Matcher | None) -> Matcher:
    """``selects`` for many dead letters of one order."""
    if selects_all(order):
        return lambda _: True
    return lambda dead_letter: selects(order, dead_letter, matcher)


def may_overlap(one: Order, other: Order) -> bool:
    """Whether a record may belong to both orders of one topic: not if their groups or offsets differ."""
    groups = (one.request.selection.group, other.request.selection.group)
    if None not in groups and groups[0] != groups[1]:
        return False
    plan, others = intervals(one), intervals(other)
    shared = plan.keys() & others.keys()
    return any(any(common(run, others[partition])) for partition in shared for run in plan[partition])


def refuse_overlap(order: Order, other: Order, status: Status) -> None:
    """Refuse an order while the other one is active on its records, or was made and has ended meanwhile.

    What that one has moved is not among what the order leaves out. Raises ``OrderOverlapError`` or
    ``UnreadHistoryError``.
    """
    if not may_overlap(order, other):
        return
    if not status.final:
        raise OrderOverlapError(order.request.dlq_topic, other.id, status)
    if not order.request.again:
        raise UnreadHistoryError(order.request.dlq_topic, f"redrive {other.id} has just ended")


def _chosen_offsets(order: Order) -> dict[int, list[Interval]]:
    selection = order.request.selection
    if selection.offsets is not None:
        return {partition: [interval] for partition, interval in selection.offsets.items()}
    if selection.records is not None:
        places: dict[int, list[int]] = defaultdict(list)
        for place in selection.records:
            places[place.partition].append(place.offset)
        return {partition: runs(offsets) for partition, offsets in places.items()}
    return {partition: [(0, end)] for partition, end in order.cut_off.items()}


def _ms(time: datetime) -> int:
    return round(time.timestamp() * 1_000)


def runs(offsets: Iterable[int]) -> list[Run]:
    """The offsets as sorted runs that do not touch."""
    found: list[Run] = []
    for offset in sorted(set(offsets)):
        extend(found, offset)
    return found


def extend(found: list[Run], offset: int) -> None:
    """Add an offset that is greater than all others."""
    if found and found[-1][1] == offset:
        found[-1] = (found[-1][0], offset + 1)
    else:
        found.append((offset, offset + 1))


def common(one: Run, others: Iterable[Run]) -> Iterator[Run]:
    """The parts of ``one`` that lie in any of the others."""
    for first, end in others:
        part = max(one[0], first), min(one[1], end)
        if part[0] < part[1]:
            yield part


def rest(one: Run, taken: Iterable[Run]) -> list[Run]:
    """The parts of ``one`` that lie in none of ``taken``."""
    left, at = [], one[0]
    for first, end in sorted(common(one, taken)):
        if at < first:
            left.append((at, first))
        at = max(at, end)
    return [*left, (at, one[1])] if at < one[1] else left
