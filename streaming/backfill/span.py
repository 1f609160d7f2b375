"""From where to where a backfill reads, what it cannot read any more, and in which slices."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from streaming.plans import Offsets, Place, Plan

BEGINNING: Final = "beginning"
"""What is said in place of a time for everything that Kafka has."""


@dataclass(frozen=True, slots=True)
class Extent:
    """What Kafka has of the topics that are read, by partition; ``since`` is the first offset of the time
    that was asked for, ``ids`` are Kafka's of the topics.
    """

    begin: Offsets
    since: Offsets
    end: Offsets
    ids: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done: ``plan`` has every partition, also those with nothing to read.

    ``on_top`` says that what the store has counted is kept and only gone on with. ``forgotten`` is what was
    counted and cannot be counted anew, ``unread`` what was deleted before it was read, both by topic.
    """

    plan: Plan
    on_top: bool
    ids: Mapping[str, str]
    forgotten: Mapping[str, int]
    unread: Mapping[str, int]

    @property
    def records(self) -> int:
        """How many offsets are read."""
        return sum(end - self.plan.begin[place] for place, end in self.plan.end.items())


def since_ms(text: str) -> int:
    """Milliseconds since the epoch of RFC 3339 text with a zone; 0 for ``beginning``.

    Raises:
        ValueError: it is neither.
    """
    if text == BEGINNING:
        return 0
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise ValueError(f"{text!r} is no time with its zone (2026-11-21T08:00:00Z), nor {BEGINNING!r}")
    return max(0, round(time.timestamp() * 1_000))


def written(time_ms: int) -> str:
    """The time as ``since_ms`` reads it."""
    text = datetime.fromtimestamp(time_ms / 1_000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z") if time_ms else BEGINNING


def anew(extent: Extent, stored: Offsets) -> Work:
    """Count everything since the time; what the store has of before is forgotten."""
    lost: Counter[str] = Counter()
    for place, offset in stored.items():
        lost[place[0]] += min(offset, extent.since.get(place, offset))
    return Work(Plan(extent.since, extent.end), False, extent.ids, +lost, {})


def on_top(extent: Extent, stored: Offsets, ids: Mapping[str, str]) -> Work:
    """Go on where the store is; a topic that was made anew from its beginning."""
    begin, unread = {}, Counter[str]()
    for place, end in extent.end.items():
        known = stored.get(place, 0)
        found = extent.ids.get(place[0], "")
        same = found in {"", ids.get(place[0]) or found} and known <= end
        begin[place] = max(known if same else 0, extent.begin[place])
        if same and place in stored:
            unread[place[0]] += begin[place] - known
    return Work(Plan(begin, extent.end), True, extent.ids, {}, +unread)


def slices(plan: Plan, most: int) -> Iterator[Plan]:
    """The plan in parts of at most ``most`` offsets, and of one more a partition: every partition goes on by
    the same share, so that what happened at the same time is read together.
    """
    widths: dict[Place, int] = {place: end - plan.begin[place] for place, end in plan.end.items()}
    parts = -(-sum(widths.values()) // most)
    for part in range(parts):
        begin = {place: plan.begin[place] + width * part // parts for place, width in widths.items()}
        end = {place: plan.begin[place] + width * (part + 1) // parts for place, width in widths.items()}
        moved = [place for place in end if end[place] > begin[place]]
        if moved:
            yield Plan({place: begin[place] for place in moved}, {place: end[place] for place in moved})
