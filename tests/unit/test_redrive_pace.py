"""A rate is never passed, and what a slow commit costs is caught up with."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.redrive.pace import Bucket, Pace


def test_nothing_may_go_at_the_beginning() -> None:
    assert Pace.start(50, None, 0).records_now(1_000) == 0


@pytest.mark.parametrize("rate", [0.5, 7, 50, 33_333])
@pytest.mark.parametrize("tick_ms", [1, 20, 333])
def test_a_rate_is_held_within_a_hundredth(rate: float, tick_ms: int) -> None:
    pace, taken, at_ms, last_ms = Pace.start(rate, None, 0), 0, 0, 0
    while taken < rate * 60:
        at_ms += tick_ms
        pace = pace.filled(at_ms)
        now = pace.records_now(100_000)
        pace = pace.taken(now, 0)
        taken += now
        last_ms = at_ms if now else last_ms
        assert taken <= rate * at_ms / 1_000 + 1e-6
    assert taken / (last_ms / 1_000) == pytest.approx(rate, rel=0.02)


def test_a_commit_of_half_a_second_costs_no_speed() -> None:
    pace = Pace.start(100, None, 0).filled(1_000).taken(100, 0).filled(1_500)
    assert pace.records_now(1_000) == 50


def test_time_without_records_is_not_saved_up() -> None:
    assert Pace.start(100, None, 0).filled(3_600_000).records_now(10_000) == 100


def test_bytes_over_the_rate_are_waited_for() -> None:
    pace = Pace.start(None, 1_000, 0).filled(1_000).taken(1, 5_000)
    assert pace.records_now(9) == 0
    assert pace.filled(5_000).records_now(9) == 0
    assert pace.ready_at_ms() == 5_001
    assert pace.filled(5_001).records_now(9) == 9


def test_a_clock_that_goes_back_gives_nothing() -> None:
    assert Bucket(1_000, 5_000).filled(1_000).balance == 0


def test_without_limits_everything_goes() -> None:
    assert Pace.start(None, None, 0).records_now(77) == 77
    assert Pace.start(None, None, 0).ready_at_ms() == 0


@given(seed=st.integers(0, 1 << 32), rate=st.sampled_from([5.0, 50.0, 500.0, 3_000.0]))
def test_whatever_a_transaction_takes_the_rate_is_held_within_two_percent(seed: int, rate: float) -> None:
    """As the mover paces itself: a slice of the rate at once, counted behind the first."""
    rng = Random(seed)
    pace, now_ms = Pace.start(rate, None, 0), 0
    wanted = max(int(rate / 5), 1)
    moments: list[tuple[int, int]] = []
    while now_ms < 60_000:
        pace = pace.filled(now_ms)
        assert pace.records is not None
        if pace.records.balance < wanted:
            now_ms = pace.records.ready_at_ms(wanted)
            continue
        count = pace.records_now(10_000)
        moments.append((now_ms, count))
        pace = pace.taken(count, 0)
        now_ms += rng.randrange(1, 700)  # the commit
    (first_ms, first), (last_ms, _) = moments[0], moments[-1]
    held = sum(count for _, count in moments[1:]) * 1_000 / (last_ms - first_ms)
    assert first <= wanted + 1
    assert abs(held / rate - 1) <= 0.02
