"""How far an order is, in words: the same for console, command line and scripts."""

import pytest

from api.signals.redrives import Progress
from deadwatch.orders.order import Status
from redrive.plan.plan import Plan
from tests.tables import named

CANCELLED, DONE = Status.CANCELLED, Status.COMPLETED
WHOLE, FEW = Plan(to_move=20_000), Plan(to_move=37)
PARKS = Plan(to_move=30, to_park=2, skip_reasons={"no_origin": 8})
CUT = Plan(to_move=18_000, at_least=True, at_most=20_100)
CUT_SKIPS = CUT.model_copy(update={"to_park": 1, "skip_reasons": {"no_origin": 2}})
STILL_COME = "the counts of the others still come"


def told(
    plan: Plan, status: Status = Status.RUNNING, *, heard: bool = False, gone: int = 0, **counts: int
) -> Progress:
    return Progress(plan, counts, status, dry_run=False, heard_since=heard, gone=gone)


def planned(plan: Plan) -> Progress:
    return Progress(plan, {}, DONE, dry_run=True, heard_since=False)


CASES = [
    ("at its begin", told(WHOLE), 20_000, "0 of 20,000 moved"),
    ("on its way", told(WHOLE, sent=1_200), 20_000, "1,200 of 20,000 moved"),
    ("a plan that was cut", told(CUT), 18_000, "0 of at least 18,000 moved"),
    ("more than that plan had seen", told(CUT, sent=19_000), 19_000, "19,000 of at least 19,000 moved"),
    (
        "not all is moved",
        told(PARKS, sent=3, parked=2, skipped=1),
        40,
        "6 of 40 done: 3 moved, 2 parked, 1 skipped",
    ),
    ("all was moved", told(FEW, DONE, sent=37), 37, "all 37 moved"),
    (
        "what became of the others",
        told(FEW, DONE, sent=28, skipped=5, failed=4),
        37,
        "37 done: 28 moved, 5 skipped, 4 failed",
    ),
    (
        "offsets that retention took may be fewer records",
        told(FEW, DONE, gone=7, sent=28, skipped=9),
        37,
        "37 done: 28 moved, 2 skipped, at most 7 gone",
    ),
    ("what happened is the total", told(CUT, DONE, heard=True, sent=20_000), 20_000, "all 20,000 moved"),
    ("counts that still come", told(FEW, DONE, sent=28), 37, f"28 of 37 moved; {STILL_COME}"),
    (
        "counts of a cut plan that still come",
        told(CUT, DONE, sent=19_000),
        19_000,
        f"19,000 of at least 19,000 moved; {STILL_COME}",
    ),
    ("fewer than planned", told(FEW, DONE, heard=True, sent=28), 28, "all 28 moved"),
    ("nothing was there", told(Plan(), DONE, heard=True), 0, "nothing was moved"),
    ("cancelled half way", told(FEW, CANCELLED, sent=19, failed=1), 37, "20 of 37 done: 19 moved, 1 failed"),
    ("a dry run", planned(FEW), 37, "37 would be moved"),
    (
        "a dry run that was cut",
        planned(CUT_SKIPS),
        18_003,
        "at least 18,000 would be moved, 1 parked, 2 skipped",
    ),
]


@pytest.mark.parametrize(("progress", "total", "text"), named(CASES))
def test_progress_is_one_line_that_is_true(progress: Progress, total: int, text: str) -> None:
    assert (progress.text, progress.total) == (text, total)


BOUNDS = [
    ("while it runs", told(CUT, sent=19_000), True, False),
    ("completed, not heard of since", told(CUT, DONE, sent=19_000), True, False),
    ("completed", told(CUT, DONE, heard=True, sent=19_000), False, True),
    ("cancelled", told(CUT, CANCELLED, heard=True, sent=19_000), True, True),
]


@pytest.mark.parametrize(("progress", "at_least", "counted"), named(BOUNDS))
def test_a_lower_bound_is_one_until_all_is_counted(
    progress: Progress, *, at_least: bool, counted: bool
) -> None:
    assert (progress.at_least, progress.counted) == (at_least, counted)
