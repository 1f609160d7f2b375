"""A rate is never passed, and what a slow commit costs is caught up with."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadwatch.orders.order import LEAST_RATE, MOST_RATE, Limits
from deadwatch.store.write.handled import MOST
from redrive.move.limits import MAX_RECORDS, OrderLimits, TokenBucket


def limits(records: float | None, size: int | None = None) -> OrderLimits:
    found = Limits(records_per_second=records, bytes_per_second=size, max_in_flight=100_000)
    return OrderLimits(found, 0, 0)


@pytest.mark.parametrize("rate", [LEAST_RATE, MOST_RATE])
def test_an_order_may_have_the_least_and_the_greatest_rate(rate: float) -> None:
    held = limits(rate, max(int(rate), 1))
    ready_ms = held.wait_until_ms(1) or 0
    held.refill(ready_ms)
    assert held.wait_until_ms(1) is None
    assert held.allowed()[0] > 0


def test_time_without_records_is_not_saved_up_and_a_commit_of_half_a_second_costs_no_speed() -> None:
    held = limits(100)
    held.refill(3_600_000)
    assert held.allowed()[0] == 100
    held.committed(100, 0, 100)
    held.refill(3_600_500)
    assert held.allowed()[0] == 50


def test_bytes_over_the_rate_are_waited_for() -> None:
    held = limits(None, 1_000)
    held.refill(1_000)
    held.committed(1, 5_000, 1)
    assert held.allowed()[0] == 0
    held.refill(5_000)
    assert held.allowed()[0] == 0
    assert held.wait_until_ms(9) == 5_001
    held.refill(5_001)
    assert held.allowed()[0] == held.max_in_flight


def test_a_clock_that_goes_back_gives_nothing() -> None:
    assert TokenBucket(1_000, 5_000).filled(1_000).balance == 0


def test_without_limits_everything_goes() -> None:
    assert limits(None).allowed()[0] == 100_000
    assert limits(None).wait_until_ms(1) is None


def test_a_transaction_holds_no_more_than_the_store_believes_to_be_moved_at_once() -> None:
    held = OrderLimits(Limits(records_per_second=None, max_in_flight=5_000_000), 0, 0)
    assert held.allowed()[0] == held.left() == MAX_RECORDS
    held.make_room(None)
    assert held.allowed()[0] == MAX_RECORDS < MOST


@given(
    seed=st.integers(0, 1 << 32),
    rate=st.sampled_from([0.5, 5.0, 7.0, 50.0, 500.0, 3_000.0, 33_333.0]),
    longest_ms=st.sampled_from([2, 21, 334, 700]),
)
def test_whatever_a_transaction_takes_the_rate_is_never_passed_and_held_within_two_percent(
    seed: int, rate: float, longest_ms: int
) -> None:
    """As the mover does: a slice of the rate at once, counted behind the first."""
    rng, held, now_ms = Random(seed), limits(rate), 0
    wanted = max(int(rate / 5), 1)
    moments: list[tuple[int, int]] = []
    assert held.allowed()[0] == 0
    while now_ms < 60_000:
        held.refill(now_ms)
        wait_until_ms = held.wait_until_ms(wanted)
        if wait_until_ms is not None:
            now_ms = wait_until_ms
            continue
        count, _ = held.allowed()
        moments.append((now_ms, count))
        assert sum(one for _, one in moments) <= rate * now_ms / 1_000 + 1e-6
        held.committed(count, 0, count)
        now_ms += rng.randrange(1, longest_ms)  # the commit
    (first_ms, first), (last_ms, _) = moments[0], moments[-1]
    moved = sum(count for _, count in moments[1:]) * 1_000 / (last_ms - first_ms)
    assert first <= wanted + 1
    assert abs(moved / rate - 1) <= 0.02
