"""Log and threads are two witnesses of the same abandonment, never two abandonments."""

from dataclasses import dataclass, replace

import pytest

from api.abandoned import Evidence, differences, reconcile

A, B = "a:8083", "b:8083"
NOTHING = Evidence("c", A, "pipe", "0", 0, 0, 0, 0, seen=False, first_ms=10, last_ms=20, message="")


def logged(worker: str, total: int, current: int) -> Evidence:
    return replace(NOTHING, worker=worker, logged_total=total, logged_current=current)


def watched(
    worker: str, total: int, current: int, logged_total: int = 0, logged_current: int = 0
) -> Evidence:
    return replace(
        logged(worker, logged_total, logged_current), seen=True, seen_total=total, seen_current=current
    )


@dataclass(frozen=True)
class Case:
    name: str
    rows: list[Evidence]
    expected: list[tuple[str, int, int]]  # worker, current, total


CASES = [
    Case("nothing known, nothing said", [], []),
    Case("the log alone", [logged(A, 2, 1)], [(A, 1, 2)]),
    Case("the threads alone", [watched(A, 1, 1)], [(A, 1, 1)]),
    Case("both saw the same one", [watched(A, 1, 1, 1, 1)], [(A, 1, 1)]),
    Case("over by the threads, though no line says so", [watched(A, 1, 0, 1, 1)], [(A, 0, 1)]),
    Case("over between two snapshots, the log still has it", [watched(A, 0, 0, 1, 1)], [(A, 0, 1)]),
    Case("begun before the log was read", [watched(A, 2, 2, 1, 1)], [(A, 2, 2)]),
    Case("a log without worker alone", [logged("", 1, 1)], [("", 1, 1)]),
    Case("a log without worker is the known worker's", [logged("", 1, 1), watched(A, 1, 1)], [(A, 1, 1)]),
    Case("and cannot keep alive what the threads saw end", [logged("", 1, 1), watched(A, 1, 0)], [(A, 0, 1)]),
    Case(
        "lines with and without worker are different lines", [logged("", 1, 1), logged(A, 1, 0)], [(A, 1, 2)]
    ),
    Case(
        "two workers saw one each, the log names none",
        [logged("", 2, 2), watched(A, 1, 0), watched(B, 1, 1)],
        [(A, 0, 1), (B, 1, 1)],
    ),
    Case(
        "two workers saw one, a second line is nobody's",
        [logged("", 2, 2), watched(A, 1, 1), watched(B, 0, 0)],
        [("", 1, 1), (A, 1, 1), (B, 0, 0)],
    ),
    Case(
        "a known worker's own line explains none without worker",
        [logged("", 1, 0), watched(A, 1, 1, 1, 1), logged(B, 1, 0)],
        [("", 0, 1), (A, 1, 1), (B, 0, 1)],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reconcile(case: Case) -> None:
    for rows in (case.rows, case.rows[::-1]):
        assert [(a.worker, a.current, a.total) for a in reconcile(rows)] == case.expected


@pytest.mark.parametrize("other", [{"kafka_cluster": "d"}, {"connector": "tap"}, {"task": "1"}, {"task": ""}])
def test_only_the_same_instance_is_merged(other: dict[str, str]) -> None:
    unknown = replace(logged("", 1, 1), **other)  # type: ignore[arg-type]  # texts all
    assert sorted(a.worker for a in reconcile([unknown, watched(A, 1, 1)])) == ["", A]


def test_a_merged_row_spans_both_evidences_and_keeps_the_latest_line() -> None:
    early = replace(logged("", 1, 1), first_ms=1, last_ms=30, message="Graceful stop of task pipe-0 failed.")
    late = replace(watched(A, 1, 1), first_ms=5, last_ms=40)
    (merged,) = reconcile([early, late])
    assert (merged.first_ms, merged.last_ms, merged.message) == (1, 40, early.message)


@dataclass(frozen=True)
class Compared:
    name: str
    rows: list[Evidence]
    expected: list[tuple[int, int] | None]
    """Of each result: current and total by the threads beyond the log; None: not compared."""


OTHER_TASK = replace(logged(A, 1, 1), task="1")
COMPARISONS = [
    Compared("both saw the same", [watched(A, 2, 1, 2, 1)], [(0, 0)]),
    Compared("an end without a line", [watched(A, 1, 0, 1, 1)], [(-1, 0)]),
    Compared("a life between two snapshots", [watched(A, 0, 0, 1, 0)], [(0, -1)]),
    Compared("a log read from its middle", [watched(A, 3, 3, 1, 1)], [(2, 2)]),
    Compared("lines without worker are heard", [logged("", 1, 1), watched(A, 1, 1)], [(0, 0)]),
    Compared("the log alone", [logged(A, 1, 1)], [None]),
    Compared("threads of a worker whose log never spoke", [watched(A, 1, 1)], [None]),
    Compared("a log that spoke of another task", [watched(A, 1, 1), OTHER_TASK], [(1, 1), None]),
    Compared(
        "lines that could be either worker's",
        [logged("", 1, 1), watched(A, 1, 1), watched(B, 0, 0)],
        [None, None],
    ),
]


@pytest.mark.parametrize("case", COMPARISONS, ids=lambda case: case.name)
def test_a_disagreement_is_told(case: Compared) -> None:
    told = [differences(result) if result.compared else None for result in reconcile(case.rows)]
    assert told == case.expected
