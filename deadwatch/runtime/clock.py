"""The clocks of a process, and units of time."""

import time
from collections.abc import Callable
from typing import Final

MS_PER_S: Final = 1_000
NANOS_PER_MS: Final = 1_000_000
HOUR_S: Final = 3_600
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
CLOCK_SET_MS: Final = 1_000
"""Two clocks that part by more than this between two looks: somebody has set one of them."""


def clock_ms() -> int:
    """The present time, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Milliseconds of a clock that nobody sets and that never goes back."""
    return time.monotonic_ns() // 1_000_000


def wait_ms(pause_ms: int) -> None:
    """Sleep for this many milliseconds."""
    time.sleep(pause_ms / 1_000)


class ClockWatch:
    """Tells whether somebody has set the clock (a step of NTP, a machine that slept) since this was made.

    ``steady`` is what the clock is held against; a clock that only runs a little fast is followed.
    """

    def __init__(self, clock: Callable[[], int], steady: Callable[[], int] = monotonic_ms) -> None:
        self._clock, self._steady = clock, steady
        self._apart_ms = clock() - steady()
        self._set_by_ms = 0

    def set_by_ms(self) -> int:
        """By how many milliseconds the clock was set, below zero: back; 0: it was not."""
        if not self._set_by_ms:
            apart_ms = self._clock() - self._steady()
            gap_ms, self._apart_ms = apart_ms - self._apart_ms, apart_ms
            self._set_by_ms = gap_ms if abs(gap_ms) > CLOCK_SET_MS else 0
        return self._set_by_ms
