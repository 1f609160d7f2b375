"""From where to where a backfill reads, in which parts, and what it cannot count anew."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from deadwatch.store.batch import Offsets


@dataclass(frozen=True, slots=True)
class Plan:
    """From where to where partitions are read; ``end`` is excluded."""

    begin: Offsets
    end: Offsets

    @property
    def records(self) -> int:
        """How many offsets are read."""
        return sum(end - self.begin[place] for place, end in self.end.items())

    def reached(self, part: int, parts: int) -> Offsets:
        """Where every partition is after so many of equal parts."""
        return {place: at + (self.end[place] - at) * part // parts for place, at in self.begin.items()}

    def within(self, offsets: Offsets) -> Offsets:
        """These offsets, none before the begin or behind the end of its partition; -1 is the end."""
        ends = ((place, begin, self.end[place]) for place, begin in self.begin.items())
        return {
            place: end if offsets[place] < 0 else max(begin, min(offsets[place], end))
            for place, begin, end in ends
        }

    def of_moved(self) -> "Plan | None":
        """The plan of the partitions with something to read, None without one."""
        moved = [place for place, end in self.end.items() if end > self.begin[place]]
        begin, end = ({place: at[place] for place in moved} for at in (self.begin, self.end))
        return Plan(begin, end) if moved else None


@dataclass(frozen=True, slots=True)
class Extent:
    """What Kafka has of the topics that are read; ``since`` are the first offsets since a time."""

    begin: Offsets
    since: Offsets
    end: Offsets
    ids: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Work:
    """What a backfill does: ``plan`` has every partition, also those with nothing to read.

    With ``on_top`` the counts of the store are kept and continued. ``forgotten`` are records that were
    counted and cannot be counted anew, ``unread`` those that were deleted before they were read, both by
    topic.
    """

    plan: Plan
    on_top: bool
    ids: Mapping[str, str]
    forgotten: Mapping[str, int]
    unread: Mapping[str, int]


def anew(extent: Extent, stored: Offsets) -> Work:
    """Count everything since the time; what the store has counted of the time before is forgotten."""
    lost: Counter[str] = Counter()
    for place, offset in stored.items():
        lost[place[0]] += min(offset, extent.since.get(place, offset))
    return Work(Plan(extent.since, extent.end), False, extent.ids, +lost, {})


def on_top(extent: Extent, stored: Offsets, ids: Mapping[str, str]) -> Work:
    """Continue where the store is; a topic that was recreated is read from its beginning."""
    begin, unread = {}, Counter[str]()
    for place, end in extent.end.items():
        known = stored.get(place, 0)
        found = extent.ids.get(place[0], "")
        same = found in {"", ids.get(place[0]) or found} and known <= end
        begin[place] = max(known if same else 0, extent.begin[place])
        if same and place in stored:
            unread[place[0]] += begin[place] - known
    return Work(Plan(begin, extent.end), True, extent.ids, {}, +unread)


def slices(
    plan: Plan, most: int, offsets_at: Callable[[int], Offsets], times_ms: tuple[int, int]
) -> Iterator[Plan]:
    """The plan in parts of at most ``most`` offsets, one after the other in time.

    What happened at the same time is read together, so what a source told first is read first, also where it
    has come to another partition since: its topic was given more. ``offsets_at`` gives the first offsets
    since a time, -1 for none; ``times_ms`` are the first and the last time to look between. What has one time
    is divided by shares, and such a part may have an offset more for each partition.
    """
    begin_ms, end_ms = times_ms
    if plan.records <= most:
        yield from filter(None, [plan.of_moved()])
    elif end_ms - begin_ms <= 1:
        parts = -(-plan.records // most)
        shares = (Plan(plan.reached(part, parts), plan.reached(part + 1, parts)) for part in range(parts))
        yield from filter(None, (share.of_moved() for share in shares))
    else:
        middle_ms = (begin_ms + end_ms) // 2
        middle = plan.within(offsets_at(middle_ms))
        yield from slices(Plan(plan.begin, middle), most, offsets_at, (begin_ms, middle_ms))
        yield from slices(Plan(middle, plan.end), most, offsets_at, (middle_ms, end_ms))
