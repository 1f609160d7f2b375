"""Which records of the dead letter topic an order is about, and which offsets have to be read for them.

What arrived after the order was made is never part of it: ``cut_off`` leaves it out.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime

from streaming.letter import Letter
from streaming.redrive.order import Interval, Order

Matcher = Callable[[Letter], bool]
"""Whether an order's filter holds for a letter; it never raises."""

Intervals = Mapping[int, tuple[Interval, ...]]
"""Offsets to read by partition, in order and apart; an interval leaves out its end."""


def intervals(order: Order) -> Intervals:
    """The offsets to read: no record outside of them belongs to the order."""
    wanted = _wanted(order)
    cut = {
        partition: tuple(
            (max(first, order.begin.get(partition, 0)), min(end, order.cut_off[partition]))
            for first, end in wanted[partition]
        )
        for partition in sorted(wanted)
        if partition in order.cut_off
    }
    present = {partition: tuple(one for one in found if one[0] < one[1]) for partition, found in cut.items()}
    return {partition: found for partition, found in present.items() if found}


def around(plan: Intervals, partition: int, offset: int) -> Interval | None:
    """The interval to read that the offset is in."""
    found = plan.get(partition, ())
    place = bisect_right(found, offset, key=lambda one: one[0]) - 1
    return found[place] if place >= 0 and offset < found[place][1] else None


def within(plan: Intervals, partition: int, offset: int) -> bool:
    """Whether the offset is one of those to read."""
    return around(plan, partition, offset) is not None


def selects(order: Order, letter: Letter, matcher: Matcher | None = None) -> bool:
    """Whether a letter within ``intervals(order)`` belongs to it; ``matcher`` is that of its filter."""
    selection = order.request.selection
    if selection.group is not None:
        return letter.fingerprint == selection.group
    if selection.filter is not None:
        return matcher is not None and matcher(letter)
    if selection.from_ is not None and letter.timestamp_ms < _ms(selection.from_):
        return False
    return selection.to is None or letter.timestamp_ms < _ms(selection.to)


def selects_all(order: Order) -> bool:
    """Whether every letter within ``intervals(order)`` belongs to it."""
    chosen = order.request.selection
    return all(one is None for one in (chosen.group, chosen.filter, chosen.from_, chosen.to))


def selector(order: Order, matcher: Matcher | None) -> Matcher:
    """``selects`` for many letters of an order."""
    if selects_all(order):
        return lambda _: True
    return lambda letter: selects(order, letter, matcher)


def may_overlap(one: Order, other: Order) -> bool:
    """Whether a record may belong to both orders of one topic: groups or offsets may tell them apart."""
    groups = (one.request.selection.group, other.request.selection.group)
    if None not in groups and groups[0] != groups[1]:
        return False
    plan, others = intervals(one), intervals(other)
    return any(
        first < other_end and other_first < end
        for partition in plan.keys() & others.keys()
        for first, end in plan[partition]
        for other_first, other_end in others[partition]
    )


def _wanted(order: Order) -> dict[int, list[Interval]]:
    selection = order.request.selection
    if selection.offsets is not None:
        return {partition: [interval] for partition, interval in selection.offsets.items()}
    if selection.records is not None:
        return _runs({(place.partition, place.offset) for place in selection.records})
    return {partition: [(0, end)] for partition, end in order.cut_off.items()}


def _runs(places: set[tuple[int, int]]) -> dict[int, list[Interval]]:
    """Single offsets as intervals; neighbours become one."""
    runs: dict[int, list[Interval]] = defaultdict(list)
    for partition, offset in sorted(places):
        found = runs[partition]
        if found and found[-1][1] == offset:
            found[-1] = (found[-1][0], offset + 1)
        else:
            found.append((offset, offset + 1))
    return dict(runs)


def _ms(time: datetime) -> int:
    return round(time.timestamp() * 1_000)
