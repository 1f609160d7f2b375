"""Failures are counted in windows, by bounded memory; places are shared between callers."""

from contextlib import ExitStack

import pytest

from api.auth.limits import WINDOW_MS, Counted, FailureCounter, Shares, network


class RefusedError(Exception):
    """Of a number of places, of which the caller has so many."""


SHARES = {
    "the second of one's own": (4, "a", "a", None),
    "more than half": (4, "aa", "a", (4, 2)),
    "another's first, beside one with half": (4, "aa", "b", None),
    "anonymous callers together": (4, "--", "-", (4, 2)),
    "a named one beside anonymous ones": (4, "--", "a", None),
    "none left": (4, "aabc", "d", (4, 0)),
    "none left, for one with half": (4, "aabb", "a", (4, 0)),
    "half of an odd number": (3, "a", "a", (3, 1)),
    "the only one": (1, "", "a", None),
}
"""How many places there are, who has them, who asks, and with what he is refused; "-" is anonymous."""


@pytest.mark.parametrize(("places", "taken", "asks", "refused"), SHARES.values(), ids=SHARES)
def test_one_caller_has_half_of_the_places_until_they_are_given_back(
    places: int, taken: str, asks: str, refused: tuple[int, int] | None
) -> None:
    shares = Shares(places, RefusedError)
    with ExitStack() as held:
        for caller in taken:
            held.enter_context(shares.place(caller.strip("-")))
        if refused is None:
            held.enter_context(shares.place(asks.strip("-")))
        else:
            with pytest.raises(RefusedError) as said:
                held.enter_context(shares.place(asks.strip("-")))
            assert said.value.args == refused
    with ExitStack() as held:
        for caller in ("a", "b", "c", "d")[:places]:
            held.enter_context(shares.place(caller))


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
    assert network("::ffff:10.0.0.1") == network("10.0.0.1"), "as a socket for both versions tells it"
    assert len(network("x" * 1_000)) == 100
