"""What becomes of a dead letter, at the boundaries."""

from typing import Any

import pytest

from deadwatch.contract.deadline import Deadline
from deadwatch.orders.decision import (
    Decision,
    Park,
    Send,
    Skip,
    Stop,
    TargetState,
    Wait,
    decide,
    delay_ms,
    longest_delay_ms,
    nominal_delay_ms,
)
from deadwatch.orders.order import Retry
from deadwatch.orders.reasons import ParkReason
from tests.tables import named

NOW_MS = 10_000
FRESH = TargetState(Deadline(5_000))
FAILED_ONCE = FRESH.failed(NOW_MS - 1_000, 3_000)
EXPIRED = FAILED_ONCE.failed(NOW_MS + 10_000, 1)


RETRY = Retry(max_attempts=3, park_error_classes=("a.Poison",))
PLAIN: dict[str, Any] = {
    "attempts": 0,
    "due_ms": 0,
    "retry": RETRY,
    "refused": "",
    "target": None,
    "now_ms": NOW_MS,
}


def case(name: str, decision: Decision, **changes: object) -> tuple[str, Decision, dict[str, Any]]:
    return name, decision, changes


CASES = [
    case("the first attempt", Send(1)),
    case("the second attempt", Send(2), attempts=1),
    case("the last attempt", Send(3), attempts=2),
    case("attempts used up", Park(ParkReason.ATTEMPTS_USED_UP), attempts=3),
    case("a class that is parked at once", Park(ParkReason.ERROR_CLASS_EXCLUDED), error_class="a.Poison"),
    case("a class around it", Park(ParkReason.ERROR_CLASS_EXCLUDED), error_class="a.B", wrapper="a.Poison"),
    case("a class that one does", Send(1), error_class="a.Timeout"),
    case("more attempts than there should be", Park(ParkReason.ATTEMPTS_USED_UP), attempts=4),
    case("still backing off", Wait(10_001), due_ms=10_001),
    case("due at the exact millisecond", Send(1), due_ms=10_000),
    case("used up is not waited for", Park(ParkReason.ATTEMPTS_USED_UP), attempts=3, due_ms=99_999),
    case("no target", Skip("no_origin"), refused="no_origin", attempts=3, target=EXPIRED),
    case("a target that failed is left alone", Wait(12_000), target=FAILED_ONCE),
    case("until its time", Send(1), target=FAILED_ONCE, now_ms=12_000),
    case("and after it", Send(1), target=FAILED_ONCE, now_ms=12_001),
    case("backoff before the target's", Wait(11_000), target=FAILED_ONCE, due_ms=11_000),
    case("a stalled target does not cost the record", Stop(), attempts=3, target=EXPIRED),
]


@pytest.mark.parametrize(("decision", "changes"), named(CASES))
def test_decide(decision: Decision, changes: dict[str, Any]) -> None:
    assert decide(**PLAIN | changes) == decision


def test_a_target_expires_by_the_first_timeout_after_its_deadline() -> None:
    state = FRESH.failed(0, 1)
    assert (state.failures, state.retry_at_ms, state.expired) == (1, 1, False)
    assert state.failed(5_000, 1).failures == 2
    assert [state.failed(now_ms, 1).expired for now_ms in (5_000, 5_001)] == [False, True]
    assert TargetState(Deadline(0)).failed(0, 1).expired


def test_the_jitter_is_the_records_own() -> None:
    retry = Retry(retry_backoff_ms=1_000, retry_backoff_max_ms=3_600_000)
    places = [("dlq", 0, offset) for offset in range(200)]
    delays = [delay_ms(retry, 1, place) for place in places]
    assert delays == [delay_ms(retry, 1, place) for place in places]
    assert 800 <= min(delays) < 900
    assert 1_100 < max(delays) <= 1_200
    assert delay_ms(retry, 2, places[0]) != 2 * delays[0]


@pytest.mark.parametrize(
    ("initial_ms", "attempt", "nominal_ms", "longest_ms"),
    [
        (0, 1, 0, 2),
        (7, 1, 7, 10),
        (1_000, 1, 1_000, 1_202),
        (1_000, 2, 2_000, 2_402),
        (1_000, 40, 60_000, 60_000),
        (90_000, 1, 60_000, 60_000),
    ],
)
def test_no_record_waits_longer_than_the_longest_delay(
    initial_ms: int, attempt: int, nominal_ms: int, longest_ms: int
) -> None:
    retry = Retry(retry_backoff_ms=initial_ms, retry_backoff_max_ms=60_000)
    assert (nominal_delay_ms(retry, attempt), longest_delay_ms(retry, attempt)) == (nominal_ms, longest_ms)
    assert max(delay_ms(retry, attempt, ("dlq", 0, offset)) for offset in range(100)) <= longest_ms


def test_numbers_of_attempts_that_headers_claim_are_not_kept_for_ever() -> None:
    for attempt in range(1, 5_000):
        longest_delay_ms(Retry(), attempt)
    assert nominal_delay_ms.cache_info().currsize < 2_000
