"""The delays of KIP-580; the vectors were printed by Kafka 4.4's own ``ExponentialBackoff`` with jitter 0."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deadwatch.contract.backoff import Backoff
from tests.tables import named

CASES = [
    ("Kafka's defaults", Backoff(100, 1_000, 0), (100, 200, 400, 800, 1_000, 1_000)),
    ("a minute", Backoff(1_000, 60_000, 0), (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000)),
    ("initial equals maximum", Backoff(100, 100, 0.2), (100, 100, 100)),
    ("initial above maximum waits the maximum without jitter", Backoff(500, 100, 0.2), (100, 100)),
    ("no initial delay never waits", Backoff(0, 1_000, 0), (0, 0, 0, 0)),
    ("maximum between two powers", Backoff(3, 7, 0), (3, 6, 7, 7)),
]


@pytest.mark.parametrize(("backoff", "delays_ms"), named(CASES))
def test_delays_are_those_of_kafka(backoff: Backoff, delays_ms: tuple[int, ...]) -> None:
    failures = range(1, len(delays_ms) + 1)
    assert tuple(backoff.delay_ms(n, Random(1)) for n in failures) == delays_ms


@settings(max_examples=30)
@given(
    initial_ms=st.integers(0, 10_000),
    max_ms=st.integers(0, 100_000),
    failures=st.integers(1, 10_000),
    seed=st.integers(),
)
def test_no_delay_passes_the_maximum(initial_ms: int, max_ms: int, failures: int, seed: int) -> None:
    delay_ms = Backoff(initial_ms, max_ms).delay_ms(failures, Random(seed))
    assert 0 <= delay_ms <= max_ms


def test_the_plateau_keeps_its_jitter() -> None:
    delays_ms = {Backoff(100, 1_000).delay_ms(50, Random(seed)) for seed in range(100)}
    assert (min(delays_ms) >= 800, max(delays_ms)) == (True, 1_000)
    assert len(delays_ms) > 10


def test_the_first_delay_is_jittered_both_ways() -> None:
    delays_ms = {Backoff(100, 1_000).delay_ms(1, Random(seed)) for seed in range(200)}
    assert min(delays_ms) < 85
    assert max(delays_ms) > 115
    assert delays_ms <= set(range(80, 121))


def test_failures_are_counted_from_one() -> None:
    with pytest.raises(ValueError, match="counted from 1"):
        Backoff().delay_ms(0, Random(1))
