"""How far an order is, in words: the same for console, command line and scripts."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from api.signals.redrives import Progress
from deadwatch.orders.order import Status
from redrive.plan.plan import Plan


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    plan: dict[str, Any]
    counts: dict[str, int] = field(default_factory=dict)
    status: Status = Status.RUNNING
    settled: bool = False
    dry_run: bool = False
    total: int | None = None
    gone: int = 0


CUT = {"to_move": 18_000, "at_least": True, "at_most": 20_100}
SKIPS = {"to_move": 37, "skip_reasons": {}}
DONE = Status.COMPLETED
CASES = [
    Case("at its begin", "0 of 20,000 moved", {"to_move": 20_000}, total=20_000),
    Case("on its way", "1,200 of 20,000 moved", {"to_move": 20_000}, {"sent": 1_200}, total=20_000),
    Case("a plan that was cut", "0 of at least 18,000 moved", CUT, total=18_000),
    Case(
        "more than the cut plan had seen",
        "19,000 of at least 19,000 moved",
        CUT,
        {"sent": 19_000},
        total=19_000,
    ),
    Case(
        "not all is moved",
        "6 of 40 done: 3 moved, 2 parked, 1 skipped",
        {"to_move": 30, "to_park": 2, "skip_reasons": {"no_origin": 8}},
        {"sent": 3, "parked": 2, "skipped": 1},
        total=40,
    ),
    Case("all was moved", "all 37 moved", SKIPS, {"sent": 37}, DONE, total=37),
    Case(
        "what became of the others",
        "37 done: 28 moved, 5 skipped, 4 failed",
        SKIPS,
        {"sent": 28, "skipped": 5, "failed": 4},
        DONE,
        total=37,
    ),
    Case(
        "offsets that retention took may be fewer records",
        "37 done: 28 moved, 2 skipped, at most 7 gone",
        SKIPS,
        {"sent": 28, "skipped": 9},
        DONE,
        total=37,
        gone=7,
    ),
    Case(
        "what happened is the total",
        "all 20,000 moved",
        CUT,
        {"sent": 20_000},
        DONE,
        settled=True,
        total=20_000,
    ),
    Case(
        "counts that still come",
        "28 of 37 moved; the counts of the others still come",
        SKIPS,
        {"sent": 28},
        DONE,
        total=37,
    ),
    Case(
        "counts of a cut plan that still come",
        "19,000 of at least 19,000 moved; the counts of the others still come",
        CUT,
        {"sent": 19_000},
        DONE,
        total=19_000,
    ),
    Case("fewer than planned", "all 28 moved", SKIPS, {"sent": 28}, DONE, settled=True, total=28),
    Case("nothing was there", "nothing was moved", {}, {}, DONE, settled=True, total=0),
    Case(
        "cancelled half way",
        "20 of 37 done: 19 moved, 1 failed",
        SKIPS,
        {"sent": 19, "failed": 1},
        Status.CANCELLED,
        total=37,
    ),
    Case("a dry run", "37 would be moved", SKIPS, {}, DONE, dry_run=True, total=37),
    Case(
        "a dry run that was cut",
        "at least 18,000 would be moved, 1 parked, 2 skipped",
        {**CUT, "to_park": 1, "skip_reasons": {"no_origin": 2}},
        {},
        DONE,
        dry_run=True,
        total=18_003,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_progress_is_one_line_that_is_true(case: Case) -> None:
    progress = Progress(
        Plan(**case.plan),
        case.counts,
        case.status,
        dry_run=case.dry_run,
        heard_since=case.settled,
        gone=case.gone,
    )
    assert (progress.text, progress.total) == (case.text, case.total)


def test_a_lower_bound_is_one_until_all_is_counted() -> None:
    def bound(status: Status, *, heard: bool) -> tuple[bool, bool]:
        progress = Progress(Plan(**CUT), {"sent": 19_000}, status, dry_run=False, heard_since=heard)
        return progress.at_least, progress.counted

    assert bound(Status.RUNNING, heard=False) == (True, False)
    assert bound(DONE, heard=False) == (True, False)
    assert bound(DONE, heard=True) == (False, True)
    assert bound(Status.CANCELLED, heard=True) == (True, True)
