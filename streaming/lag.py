"""How long ago each stream had last merged all records that were there."""

from typing import Final

from deadwatch.store.batch import Offsets
from deadwatch.store.write.progress import BEHIND_FOR, DEAD_LETTERS, EVENTS, LOOKED_AT, STREAMS, Figures


class Lag:
    """What the looks at the ends of topics have found.

    A stream under load never stands at the end: it had merged all at the time of a look when it has merged by
    the next one what that look saw. The times of records do not tell this: Connect gives a dead letter the
    time of the record that failed.
    """

    def __init__(self, events_topic: str) -> None:
        self._events_topic: Final = events_topic
        self.looked_ms = 0
        """When the last look was; 0 before the first one."""
        self._looked_at: Offsets = {}
        self._whole_ms: dict[str, int] = {}

    def resume(self, figures: Figures) -> None:
        """Go on from the ``figures`` of the process before this one."""
        looked_ms = figures.get(LOOKED_AT, {}).get("", 0)
        behind_for = figures.get(BEHIND_FOR, {}).items()
        self._whole_ms = {stream: looked_ms - behind_ms for stream, behind_ms in behind_for}

    def note(self, looked_ms: int, ends: Offsets, merged: Offsets) -> None:
        """Note which streams have merged by now what this look sees, ``ends``, or what the one before saw.

        ``looked_ms`` is before Kafka was asked: what comes while an answer is awaited is not in ``ends``.
        A time later than this was noted while the clock was ahead.
        """
        before = {place: end for place, end in self._looked_at.items() if place in ends}
        if self.looked_ms:
            self._whole_ms |= dict.fromkeys(self._whole(before, merged), self.looked_ms)
        self.looked_ms, self._looked_at = looked_ms, dict(ends)
        self._whole_ms |= dict.fromkeys(self._whole(ends, merged), looked_ms)
        self._whole_ms = {stream: min(at_ms, looked_ms) for stream, at_ms in self._whole_ms.items()}

    def _whole(self, ends: Offsets, merged: Offsets) -> set[str]:
        """The streams that have merged all records before these ends."""
        missing = {topic for (topic, number), end in ends.items() if merged.get((topic, number), end) < end}
        behind = {EVENTS if topic == self._events_topic else DEAD_LETTERS for topic in missing}
        return set(STREAMS) - behind

    @property
    def figures(self) -> Figures:
        """When the last look was, and how long before it each stream had last merged all that was there; at
        most, and not known of a stream that no look has ever found so.
        """
        behind_for = {stream: self.looked_ms - at_ms for stream, at_ms in self._whole_ms.items()}
        return {LOOKED_AT: {"": self.looked_ms}, BEHIND_FOR: behind_for}
