"""The timer of KIP-572."""

from deadwatch.contract.deadline import Deadline

FRESH = Deadline(timeout_ms=1_000)


def test_slow_work_without_a_timeout_never_counts() -> None:
    assert (FRESH.running, FRESH.spent(now_ms=10**12)) == (False, False)


def test_the_timer_runs_from_the_first_timeout_and_allows_one_attempt_after_its_end() -> None:
    running = FRESH.timed_out(now_ms=100).timed_out(now_ms=900)
    assert (running.running, running.expires_at_ms) == (True, 1_100)
    assert [running.spent(now_ms) for now_ms in (500, 1_100, 1_101)] == [False, False, True]
    assert running.progressed() == FRESH


def test_zero_means_no_retry() -> None:
    assert Deadline(timeout_ms=0).spent(now_ms=5)
    assert not Deadline(timeout_ms=1).spent(now_ms=5)
