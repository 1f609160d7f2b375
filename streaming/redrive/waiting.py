"""Dead letters that are put off: only where they are and until when, not what they hold.

Whatever is due at a moment comes in the order of its partition, not in that of the times: a letter that its
target put off is not overtaken by a later one that was put off for less.
"""

import heapq
from typing import NamedTuple


class Due(NamedTuple):
    """One letter; ``reserved``: its share of the target's rate is taken already."""

    partition: int
    offset: int
    at_ms: int
    reserved: bool


class Waiting:
    """Of one dead letter topic."""

    def __init__(self) -> None:
        self._later: list[tuple[int, Due]] = []
        self._ripe: list[Due] = []

    def hold(self, due: Due) -> None:
        """Not before its time."""
        heapq.heappush(self._later, (due.at_ms, due))

    def ripen(self, now_ms: int) -> None:
        """What is due by now may be taken."""
        while self._later and self._later[0][0] <= now_ms:
            heapq.heappush(self._ripe, heapq.heappop(self._later)[1])

    def taken(self, most: int) -> list[Due]:
        """The first ones that are due."""
        return [heapq.heappop(self._ripe) for _ in range(min(most, len(self._ripe)))]

    def first(self) -> Due | None:
        """The first one that is due."""
        return self._ripe[0] if self._ripe else None

    def __len__(self) -> int:
        return len(self._later) + len(self._ripe)

    def next_due_ms(self) -> int | None:
        """When one is due; None: nothing waits."""
        return self._ripe[0].at_ms if self._ripe else self._later[0][0] if self._later else None
