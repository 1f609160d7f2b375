"""Log and threads are two kinds of evidence of one abandonment, never two abandonments."""

from dataclasses import replace

import pytest

from api.signals.abandoned import Evidence, differences, reconcile

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


CASES: dict[str, tuple[list[Evidence], list[tuple[str, int, int]]]] = {
    "nothing known": ([], []),
    "the log alone": ([logged(A, 2, 1)], [(A, 1, 2)]),
    "the threads alone": ([watched(A, 1, 1)], [(A, 1, 1)]),
    "both saw the same one": ([watched(A, 1, 1, 1, 1)], [(A, 1, 1)]),
    "over by the threads, though no line says so": ([watched(A, 1, 0, 1, 1)], [(A, 0, 1)]),
    "over between two snapshots, the log still has it": ([watched(A, 0, 0, 1, 1)], [(A, 0, 1)]),
    "begun before the log was read": ([watched(A, 2, 2, 1, 1)], [(A, 2, 2)]),
    "a log without worker alone": ([logged("", 1, 1)], [("", 1, 1)]),
    "a log without worker is the known worker's": ([logged("", 1, 1), watched(A, 1, 1)], [(A, 1, 1)]),
    "it keeps nothing alive that the threads saw end": ([logged("", 1, 1), watched(A, 1, 0)], [(A, 0, 1)]),
    "lines with and without worker differ": ([logged("", 1, 1), logged(A, 1, 0)], [(A, 1, 2)]),
    "two workers saw one each, the log names none": (
        [logged("", 2, 2), watched(A, 1, 0), watched(B, 1, 1)],
        [(A, 0, 1), (B, 1, 1)],
    ),
    "two workers saw one, a second line is nobody's": (
        [logged("", 2, 2), watched(A, 1, 1), watched(B, 0, 0)],
        [("", 1, 1), (A, 1, 1), (B, 0, 0)],
    ),
    "a known worker's own line explains none without worker": (
        [logged("", 1, 0), watched(A, 1, 1, 1, 1), logged(B, 1, 0)],
        [("", 0, 1), (A, 1, 1), (B, 0, 1)],
    ),
}
"""Evidence, and worker, current and total of each result."""


@pytest.mark.parametrize(("rows", "expected"), CASES.values(), ids=CASES)
def test_reconcile(rows: list[Evidence], expected: list[tuple[str, int, int]]) -> None:
    for evidence in (rows, rows[::-1]):
        found = [(result.worker, result.current, result.total) for result in reconcile(evidence)]
        assert found == expected


@pytest.mark.parametrize("other", [{"kafka_cluster": "d"}, {"connector": "tap"}, {"task": "1"}, {"task": ""}])
def test_only_the_same_instance_is_merged(other: dict[str, str]) -> None:
    unknown = replace(logged("", 1, 1), **other)  # type: ignore[arg-type]  # texts all
    assert sorted(result.worker for result in reconcile([unknown, watched(A, 1, 1)])) == ["", A]


def test_a_merged_row_spans_both_evidences_and_keeps_the_latest_line() -> None:
    early = replace(logged("", 1, 1), first_ms=1, last_ms=30, message="Graceful stop of task pipe-0 failed.")
    late = replace(watched(A, 1, 1), first_ms=5, last_ms=40)
    (merged,) = reconcile([early, late])
    assert (merged.first_ms, merged.last_ms, merged.message) == (1, 40, early.message)


OTHER_TASK = replace(logged(A, 1, 1), task="1")
COMPARISONS: dict[str, tuple[list[Evidence], list[tuple[int, int] | None]]] = {
    "both saw the same": ([watched(A, 2, 1, 2, 1)], [(0, 0)]),
    "an end without a line": ([watched(A, 1, 0, 1, 1)], [(-1, 0)]),
    "a life between two snapshots": ([watched(A, 0, 0, 1, 0)], [(0, -1)]),
    "a log read from its middle": ([watched(A, 3, 3, 1, 1)], [(2, 2)]),
    "lines without worker": ([logged("", 1, 1), watched(A, 1, 1)], [(0, 0)]),
    "the log alone": ([logged(A, 1, 1)], [None]),
    "threads of a worker without a log": ([watched(A, 1, 1)], [None]),
    "a log of another task": ([watched(A, 1, 1), OTHER_TASK], [(1, 1), None]),
    "lines of one of two": ([logged("", 1, 1), watched(A, 1, 1), watched(B, 0, 0)], [None, None]),
}
"""Evidence, and of each result current and total by the threads beyond the log; None: not compared."""


@pytest.mark.parametrize(("rows", "expected"), COMPARISONS.values(), ids=COMPARISONS)
def test_the_two_evidences_are_compared(rows: list[Evidence], expected: list[tuple[int, int] | None]) -> None:
    found = [differences(result) if result.compared else None for result in reconcile(rows)]
    assert found == expected
