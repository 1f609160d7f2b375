"""Failures are counted in windows, by bounded memory."""

from api.auth.limits import WINDOW_MS, Counted, FailureCounter, network


def test_a_window_begins_with_the_first_failure_and_says_what_the_one_before_it_had() -> None:
    now_ms = [0]
    failures = FailureCounter(lambda: now_ms[0], names=10, limit=2)
    assert [failures.count("a").beyond for _ in range(3)] == [False, False, True]
    now_ms[0] = WINDOW_MS - 1
    assert failures.count("a") == Counted(beyond=True, left_out=0, left_ms=1)
    now_ms[0] = WINDOW_MS
    assert failures.count("a") == Counted(beyond=False, left_out=2, left_ms=WINDOW_MS)


def test_of_too_many_names_the_one_that_failed_longest_ago_is_forgotten() -> None:
    failures = FailureCounter(lambda: 0, names=2, limit=1)
    assert [failures.count(name).beyond for name in ("a", "b", "a", "c", "a", "b")] == [0, 0, 1, 0, 1, 0]


def test_a_network_of_ipv6_is_one_address() -> None:
    assert network("2001:db8::1") == network("2001:db8::2") != network("2001:db8:0:1::2")
    assert network("10.0.0.1") != network("10.0.0.2")
    assert len(network("x" * 1_000)) == 100
