"""One comparison: ours beside a peer's, and whether the ratio reaches its goal."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """``ours`` and ``peer`` are rates of one run, the more the better; ``ratio`` is ours by the peer's."""

    work: str
    ours: float
    peer: float
    ratio: float
    goal: float
    holds: bool

    def line(self) -> str:
        """The row for people."""
        verdict = "holds" if self.holds else "FALLS SHORT"
        rates = f"{self.ours:>14,.0f} {self.peer:>14,.0f}"
        return f"{self.work:<86} {rates} {self.ratio:>8.3f} {self.goal:>6} {verdict}"
