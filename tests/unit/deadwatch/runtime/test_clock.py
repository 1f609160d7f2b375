"""A clock that somebody sets is noticed; one that runs a little fast is followed."""

from dataclasses import dataclass

import pytest

from deadwatch.runtime.clock import ClockWatch


@dataclass
class Clocks:
    """The clock that people set, and the one that nobody sets."""

    wall_ms: int = 1_700_000_000_000
    steady_ms: int = 5_000

    def advance(self, ms: int, set_by_ms: int = 0) -> None:
        self.wall_ms += ms + set_by_ms
        self.steady_ms += ms

    def watch(self) -> ClockWatch:
        return ClockWatch(lambda: self.wall_ms, lambda: self.steady_ms)


@pytest.mark.parametrize("set_by_ms", [-3_600_000, -1_001, 1_001, 3_600_000])
def test_a_clock_that_was_set_is_told_once_and_for_all(set_by_ms: int) -> None:
    clocks = Clocks()
    watch = clocks.watch()
    clocks.advance(10_000)
    assert watch.set_by_ms() == 0
    clocks.advance(10_000, set_by_ms)
    assert watch.set_by_ms() == set_by_ms
    clocks.advance(10_000, -set_by_ms)
    assert watch.set_by_ms() == set_by_ms


def test_a_clock_that_runs_a_little_fast_is_followed() -> None:
    clocks = Clocks()
    watch = clocks.watch()
    for _ in range(100):
        clocks.advance(60_000, 500)
        assert watch.set_by_ms() == 0
