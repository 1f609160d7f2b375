"""What becomes of a dead letter, at the boundaries."""

from dataclasses import dataclass, field

import pytest

from collector.contract.deadline import Deadline
from streaming.redrive.decision import (
    Decision,
    Park,
    ParkReason,
    Patience,
    Send,
    Skip,
    Stop,
    Wait,
    decide,
    delay_ms,
    longest_delay_ms,
    nominal_delay_ms,
)
from streaming.redrive.order import Retry

NOW_MS = 10_000
FRESH = Patience(Deadline(5_000))
FAILED_ONCE = FRESH.failed(NOW_MS - 1_000, 3_000)
EXPIRED = FAILED_ONCE.failed(NOW_MS + 10_000, 1)


@dataclass(frozen=True)
class Case:
    name: str
    decision: Decision
    attempts: int = 0
    due_ms: int = 0
    refused: str = ""
    patience: Patience | None = None
    now_ms: int = NOW_MS
    retry: Retry = field(default_factory=lambda: Retry(max_attempts=3, park_error_classes=("a.Poison",)))
    error_class: str = ""


CASES = [
    Case("the first attempt", Send(1)),
    Case("the last attempt", Send(3), attempts=2),
    Case("attempts used up", Park(ParkReason.ATTEMPTS_USED_UP), attempts=3),
    Case("a class that no wait mends", Park(ParkReason.ERROR_CLASS_EXCLUDED), error_class="a.Poison"),
    Case("a class that one does", Send(1), error_class="a.Timeout"),
    Case("more attempts than there should be", Park(ParkReason.ATTEMPTS_USED_UP), attempts=4),
    Case("still backing off", Wait(10_001), due_ms=10_001),
    Case("due at the exact millisecond", Send(1), due_ms=10_000),
    Case("used up is not waited for", Park(ParkReason.ATTEMPTS_USED_UP), attempts=3, due_ms=99_999),
    Case("no target", Skip("no_origin"), refused="no_origin", attempts=3, patience=EXPIRED),
    Case("a target that failed is left alone", Wait(12_000), patience=FAILED_ONCE),
    Case("until its time", Send(1), patience=FAILED_ONCE, now_ms=12_000),
    Case("backoff before the target's", Wait(11_000), patience=FAILED_ONCE, due_ms=11_000),
    Case("a stalled target does not cost the record", Stop(), attempts=3, patience=EXPIRED),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_decide(case: Case) -> None:
    decision = decide(
        attempts=case.attempts,
        due_ms=case.due_ms,
        retry=case.retry,
        refused=case.refused,
        patience=case.patience,
        now_ms=case.now_ms,
        error_class=case.error_class,
    )
    assert decision == case.decision


def test_patience_runs_from_the_first_timeout_and_allows_one_after_its_end() -> None:
    patience = FRESH.failed(0, 1)
    assert not patience.expired
    assert not patience.failed(5_000, 1).expired
    assert patience.failed(5_001, 1).expired


def test_without_patience_the_first_timeout_is_the_last() -> None:
    assert Patience(Deadline(0)).failed(0, 1).expired


def test_the_jitter_is_the_records_own() -> None:
    retry = Retry(retry_backoff_ms=1_000, retry_backoff_max_ms=3_600_000)
    places = [("dlq", 0, offset) for offset in range(200)]
    delays = [delay_ms(retry, 1, place) for place in places]
    assert delays == [delay_ms(retry, 1, place) for place in places]
    assert 800 <= min(delays) < 900
    assert 1_100 < max(delays) <= 1_200
    assert delay_ms(retry, 2, places[0]) != 2 * delays[0]


@pytest.mark.parametrize(
    ("attempt", "expected_ms"), [(1, 1_000), (2, 2_000), (13, 3_600_000), (99, 3_600_000)]
)
def test_the_delay_is_told_without_jitter(attempt: int, expected_ms: int) -> None:
    assert (
        nominal_delay_ms(Retry(retry_backoff_ms=1_000, retry_backoff_max_ms=3_600_000), attempt)
        == expected_ms
    )


@pytest.mark.parametrize("initial_ms", [0, 1, 7, 1_000, 60_000, 90_000])
@pytest.mark.parametrize("attempt", [1, 2, 5, 40])
def test_no_record_waits_longer_than_the_longest_delay(initial_ms: int, attempt: int) -> None:
    retry = Retry(retry_backoff_ms=initial_ms, retry_backoff_max_ms=60_000)
    delays = [delay_ms(retry, attempt, ("dlq", 0, offset)) for offset in range(300)]
    assert max(delays) <= longest_delay_ms(retry, attempt) <= max(1.2 * max(delays), 2) + 2
