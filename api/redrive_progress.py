"""How far an order is, in figures and in one line: console, command line and scripts tell the same.

Until an order is over the plan says how many records there are; that is a lower bound where its reading was
cut short. Once it is completed and all is counted, what has happened is the total.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from streaming.redrive.order import Status
from streaming.redrive.plan import Plan

MOVED: Final = "sent"
OTHERS: Final = ("parked", "skipped", "failed")


@dataclass(frozen=True, slots=True)
class Progress:
    """``counts`` are the records that have an outcome, by it.

    ``heard_since``: streaming was heard so long after the end that it has counted all there was.
    """

    plan: Plan
    counts: Mapping[str, int]
    status: Status
    dry_run: bool
    heard_since: bool
    gone: int = 0
    """Of the skipped ones: offsets that retention took before they were read, at most as many records."""

    @property
    def done(self) -> int:
        """Records that were moved, parked, skipped or have failed."""
        return sum(self.counts.get(outcome, 0) for outcome in (MOVED, *OTHERS))

    @property
    def total(self) -> int:
        """Records that the order is about, as far as it is known."""
        return self.done if self._complete else max(self.plan.selected, self.done)

    @property
    def at_least(self) -> bool:
        """Whether the total is a lower bound."""
        return self.plan.at_least and not self._complete

    @property
    def counted(self) -> bool:
        """Whether no more counts are to come: what an order did is counted a moment later."""
        if self.dry_run:
            return True
        planned = not self.plan.at_least and self.done >= self.plan.selected
        return self.status.final and (self.heard_since or planned)

    @property
    def text(self) -> str:
        """One line for people."""
        if self.dry_run:
            return self._planned()
        moved, others = self.counts.get(MOVED, 0), _others(self.counts, self.gone)
        if self._complete:
            if not self.done:
                return "nothing was moved"
            return f"{self.done:,} done: {moved:,} moved{others}" if others else f"all {moved:,} moved"
        total = f"{'at least ' if self.at_least else ''}{self.total:,}"
        told = (
            f"{self.done:,} of {total} done: {moved:,} moved{others}"
            if others
            else f"{moved:,} of {total} moved"
        )
        come = self.status is Status.COMPLETED
        return f"{told}; the counts of the others still come" if come else told

    @property
    def _complete(self) -> bool:
        return self.status is Status.COMPLETED and self.counted and not self.dry_run

    def _planned(self) -> str:
        plan = self.plan
        least = "at least " if plan.at_least else ""
        counts = {"parked": plan.to_park, "skipped": sum(plan.skip_reasons.values())}
        return f"{least}{plan.to_move:,} would be moved{_others(counts, 0)}"


def _others(counts: Mapping[str, int], gone: int) -> str:
    """What became of the records that were not moved; nothing where all were."""
    left = {name: counts.get(name, 0) for name in OTHERS}
    left["skipped"] -= gone
    told = "".join(f", {count:,} {name}" for name, count in left.items() if count > 0)
    return f"{told}, at most {gone:,} gone" if gone else told
