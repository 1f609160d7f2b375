"""How long an occurrence took to become a number: pure arithmetic on times in milliseconds since the epoch.

The k-th occurrence has arrived when the figure first was k or more. While the broker is stopped nothing can
pass through it, so an occurrence during a stall counts from the moment the broker went on; how many those
were is said beside the figures.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

Change = tuple[int, int]
"""When a figure was first seen at a value, and the value."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A time in which the broker was stopped."""

    from_ms: int
    to_ms: int


@dataclass(frozen=True, slots=True)
class Latencies:
    """The delays of all occurrences that have arrived; ``stalled`` of them happened during a stall."""

    delays_ms: tuple[int, ...] = ()
    stalled: int = 0

    def __add__(self, other: "Latencies") -> "Latencies":
        """Both together."""
        return Latencies(self.delays_ms + other.delays_ms, self.stalled + other.stalled)

    @property
    def median_ms(self) -> int | None:
        """Half arrived within; None when nothing has arrived."""
        return round(statistics.median(self.delays_ms)) if self.delays_ms else None

    @property
    def p95_ms(self) -> int | None:
        """95 of a hundred arrived within (nearest rank)."""
        ordered = sorted(self.delays_ms)
        return ordered[math.ceil(0.95 * len(ordered)) - 1] if ordered else None


def latencies(
    happened_ms: Sequence[int], changes: Sequence[Change], stalls: Sequence[Stall] = ()
) -> Latencies:
    """The delays of the occurrences at ``happened_ms``, given how the figure changed."""
    delays = []
    stalled = 0
    for count, at_ms in enumerate(sorted(happened_ms), start=1):
        seen_ms = next((changed_ms for changed_ms, value in changes if value >= count), None)
        if seen_ms is None:
            break
        passable_ms = _passable(at_ms, stalls)
        stalled += passable_ms > at_ms
        delays.append(max(seen_ms - passable_ms, 0))
    return Latencies(tuple(delays), stalled)


def _passable(at_ms: int, stalls: Sequence[Stall]) -> int:
    """The first moment from ``at_ms`` on at which the broker runs."""
    return next((stall.to_ms for stall in stalls if stall.from_ms <= at_ms < stall.to_ms), at_ms)
