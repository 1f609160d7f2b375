"""The timer of KIP-572."""

from collector.contract.deadline import Deadline

PATIENT = Deadline(timeout_ms=1_000)


def test_slow_work_without_a_timeout_never_counts() -> None:
    assert not PATIENT.running
    assert not PATIENT.spent(now_ms=10**12)


def test_patience_runs_from_the_first_timeout() -> None:
    later = PATIENT.timed_out(now_ms=100).timed_out(now_ms=900)
    assert later.expires_at_ms == 1_100


def test_one_last_attempt_is_due_at_expiry() -> None:
    running = PATIENT.timed_out(now_ms=100)
    assert not running.spent(now_ms=1_100)
    assert running.spent(now_ms=1_101)


def test_progress_restores_the_whole_patience() -> None:
    assert PATIENT.timed_out(now_ms=100).progressed() == PATIENT


def test_zero_means_no_retry() -> None:
    assert Deadline(timeout_ms=0).spent(now_ms=5)
