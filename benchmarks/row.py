"""One comparison: ours beside a peer's, and whether the ratio reaches its goal; and where it is made."""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Self

from lab.broker import LoneBroker
from lab.jvm import Properties

Work = Callable[[], object]


class BenchmarkError(Exception):
    """What was watched or compared did not come to what it has to, or not in time: there is no figure."""


def require(counted: object, truth: object) -> None:
    """Raise ``BenchmarkError`` for counts that are not the truth."""
    if counted != truth:
        raise BenchmarkError(f"counted {counted}, the truth is {truth}")


@dataclass(frozen=True, slots=True)
class Row:
    """``ours`` and ``peer`` are of one run; the greater ``ratio``, the better for us."""

    work: str
    ours: float
    peer: float
    ratio: float
    goal: float
    holds: bool

    @classmethod
    def more(cls, work: str, ours: float, peer: float, goal: float = 1.0) -> Self:
        """Of figures that are the better the greater they are, as rates."""
        return cls._of(work, ours, peer, ours / peer, goal)

    @classmethod
    def fewer(cls, work: str, ours: float, peer: float, goal: float = 1.0) -> Self:
        """Of figures that are the better the smaller they are, as times and bytes."""
        return cls._of(work, ours, peer, peer / ours, goal)

    @classmethod
    def of_rounds(cls, work: str, rates: Sequence[tuple[float, ...]], goal: float) -> Self:
        """Of the rates (ours, peer) of several rounds: every figure is the median over them."""
        ours, peer = (median(column) for column in zip(*rates, strict=True))
        return cls._of(work, ours, peer, median(mine / theirs for mine, theirs in rates), goal)

    @classmethod
    def _of(cls, work: str, ours: float, peer: float, ratio: float, goal: float) -> Self:
        return cls(work, ours, peer, round(ratio, 3), round(goal, 3), ratio >= goal)

    def line(self) -> str:
        verdict = "holds" if self.holds else "FALLS SHORT"
        rates = f"{self.ours:>14,.0f} {self.peer:>14,.0f}"
        return f"{self.work:<86} {rates} {self.ratio:>8.3f} {self.goal:>6} {verdict}"


def in_turns(work: str, records: int, ours: Work, peer: Work, *, rounds: int, goal: float) -> Row:
    """Both move the records in every round, who begins changes; the first time of each is not timed."""
    ours()
    peer()
    rates = []
    for number in range(rounds):
        if number % 2:
            mine_s, peer_s = seconds(ours), seconds(peer)
        else:
            peer_s, mine_s = seconds(peer), seconds(ours)
        rates.append((records / mine_s, records / peer_s))
    return Row.of_rounds(work, rates, goal)


@contextmanager
def place(settings: Properties | None = None) -> Iterator[tuple[str, Path]]:
    """The address of a broker with nothing in it, and an empty directory; nothing is left of either."""
    with LoneBroker(settings) as broker, tempfile.TemporaryDirectory(prefix="deadwatch-bench-") as name:
        yield broker.bootstrap_servers, Path(name)


def seconds(work: Work) -> float:
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s
