"""Letters of all partitions as one list, by time, oldest or newest first, that can be gone on with anywhere.

Each partition is a lane: an interval of offsets that is consumed from one end. A partition keeps its own
order; between partitions the earlier (or later) time goes first, then the lower partition. What is left of
the lanes says where to go on: the list is the same whether it is read in one go or in pages.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from api.browsing.windows import Budget, Reading, Windows
from streaming.letter import Letter
from streaming.redrive.order import Interval

LEAST_WINDOW: Final = 16
FIRST_WINDOW: Final = 128
LARGEST_WINDOW: Final = 4_096

ReadWindows = Callable[[Windows, Budget], Mapping[int, Reading]]


@dataclass(slots=True)
class Lane:
    """What is left of a partition; ``held`` are its next letters, read and not yet given out.

    ``first`` and ``end`` are what has not been given out.
    """

    first: int
    end: int
    window: int = FIRST_WINDOW
    held: deque[Letter] = field(default_factory=deque)
    read_to: int = -1
    """Where the reading ended that ``held`` comes from."""


class Merge:
    """Gives out letters until the lanes are empty or the budget is spent."""

    def __init__(self, left: Mapping[int, Interval], read: ReadWindows, *, newest_first: bool) -> None:
        self._lanes = {partition: Lane(*interval) for partition, interval in sorted(left.items())}
        self._read, self._newest_first = read, newest_first
        self.moved = False
        """Whether it has come any further."""

    @property
    def left(self) -> dict[int, Interval]:
        """The intervals that were not given out, by partition; none is empty."""
        return {
            partition: (lane.first, lane.end)
            for partition, lane in self._lanes.items()
            if lane.first < lane.end
        }

    def letters(self, budget: Budget) -> Iterator[Letter]:
        """The next letters; ends when nothing is left, or when the budget does not do for the next one.

        However small the budget is, something moves as long as there is time.
        """
        while self._fill(budget):
            held = [lane for lane in self._lanes.values() if lane.held]
            if not held:
                return
            lane = min(held, key=self._rank)
            letter = lane.held.popleft()
            self._given(lane, letter.offset)
            yield letter

    def _rank(self, lane: Lane) -> tuple[int, int]:
        letter = lane.held[0]
        return (-letter.timestamp_ms if self._newest_first else letter.timestamp_ms), letter.partition

    def _given(self, lane: Lane, offset: int) -> None:
        self.moved = True
        if self._newest_first:
            lane.end = offset if lane.held else lane.read_to
        else:
            lane.first = offset + 1 if lane.held else lane.read_to

    def _fill(self, budget: Budget) -> bool:
        """Whether every lane that is left holds its next letter."""
        while empty := {
            partition: lane
            for partition, lane in self._lanes.items()
            if not lane.held and lane.first < lane.end
        }:
            if budget.late or (self.moved and budget.spent):
                return False
            share = max(LEAST_WINDOW, budget.records // len(empty))
            windows = {partition: self._window(lane, share) for partition, lane in empty.items()}
            for partition, reading in self._read(windows, budget).items():
                self._hold(self._lanes[partition], windows[partition], reading)
        return True

    def _window(self, lane: Lane, most: int) -> Interval:
        width = min(lane.window, most)
        if self._newest_first:
            return max(lane.first, lane.end - width), lane.end
        return lane.first, min(lane.end, lane.first + width)

    def _hold(self, lane: Lane, window: Interval, reading: Reading) -> None:
        whole = reading.position >= window[1]
        if self._newest_first and not whole:  # the newest of the window are missing
            lane.window = max(1, lane.window // 4)
            return
        if whole:
            lane.window = min(LARGEST_WINDOW, lane.window * 2)
        lane.read_to = window[0] if self._newest_first else min(reading.position, lane.end)
        lane.held.extend(reversed(reading.letters) if self._newest_first else reading.letters)
        if not lane.held:  # a gap
            self._pass_over(lane)

    def _pass_over(self, lane: Lane) -> None:
        before = (lane.first, lane.end)
        if self._newest_first:
            lane.end = lane.read_to
        else:
            lane.first = lane.read_to
        self.moved = self.moved or before != (lane.first, lane.end)
