"""Claims of orders in the store, by workers that race."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace

import pytest

from deadwatch.orders.errors import OrderStateError
from deadwatch.orders.order import Claim, ClaimLostError, Status
from deadwatch.store.write.order_claims import MAX_LEASE_MS
from tests.unit.deadwatch.store.test_orders import LEASE_MS, Place, place

__all__ = ["place"]


@pytest.fixture
def claim(place: Place) -> Claim:
    """Of the order a, by a worker that began at 0."""
    place.add("a")
    return place.claimed()


def test_orders_are_claimed_in_the_order_of_their_creation_by_one_worker_each(place: Place) -> None:
    for name, created_at_ms in (("b", 5), ("a", 9), ("c", 1)):
        place.add(name, created_at_ms)
    claims = [place.claims.claim(f"w{number}", 10, LEASE_MS) for number in range(4)]
    assert [None if one is None else (one.order.id, one.epoch) for one in claims] == [
        ("c", 1),
        ("b", 1),
        ("a", 1),
        None,
    ]


def test_a_dead_worker_is_followed_as_soon_as_its_lease_ends(place: Place, claim: Claim) -> None:
    assert place.claims.claim("w2", LEASE_MS - 1, LEASE_MS) is None
    second = place.claimed("w2", LEASE_MS)
    assert (second.epoch, second.expires_at_ms) == (2, 2 * LEASE_MS)
    for call in (
        lambda: place.claims.renew(claim, LEASE_MS, LEASE_MS),
        lambda: place.claims.settle(claim, Status.COMPLETED, "", LEASE_MS),
        lambda: place.claims.release(claim),
    ):
        with pytest.raises(ClaimLostError):
            call()
    assert place.status("a") == (Status.RUNNING, "")
    assert place.claims.renew(second, LEASE_MS, LEASE_MS)[1] is Status.RUNNING


def test_a_late_worker_may_go_on_while_nobody_else_came(place: Place, claim: Claim) -> None:
    renewed, status = place.claims.renew(claim, 9 * LEASE_MS, LEASE_MS)
    assert (renewed.expires_at_ms, status) == (10 * LEASE_MS, Status.RUNNING)


def test_what_is_released_is_taken_over_at_once(place: Place, claim: Claim) -> None:
    place.claims.release(claim)
    with pytest.raises(ClaimLostError):
        place.claims.renew(claim, 1, LEASE_MS)
    again = place.claimed("w2", 1)
    assert again.epoch == 2


def test_an_order_whose_lease_ran_out_comes_after_those_that_have_waited_meanwhile(place: Place) -> None:
    place.add("a", 1)
    place.claimed("w", 10)
    place.add("b", 20)
    place.add("c", 9 + LEASE_MS)
    place.add("d", 11 + LEASE_MS)
    claims = [place.claimed("w", 20 + LEASE_MS).order.id for _ in range(4)]
    assert claims == ["b", "c", "a", "d"]


@pytest.mark.parametrize("jump_ms", [3_600_000, -3_600_000])
def test_a_clock_that_jumps_does_not_keep_an_order_from_being_taken_over(place: Place, jump_ms: int) -> None:
    now_ms = 10_000_000
    place.add("a")
    dead = place.claimed("w1", now_ms)
    taken = place.claimed("w2", now_ms + jump_ms)
    assert taken.epoch == 2
    with pytest.raises(ClaimLostError):
        place.claims.renew(dead, now_ms, LEASE_MS)


@pytest.mark.parametrize("lease_ms", [0, -1, MAX_LEASE_MS + 1])
def test_a_lease_has_bounds(place: Place, lease_ms: int) -> None:
    place.add("a")
    with pytest.raises(ValueError, match="lease_ms"):
        place.claims.claim("w", 0, lease_ms)


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.CANCELLED])
def test_what_is_over_stays_over(place: Place, claim: Claim, status: Status) -> None:
    place.claims.settle(claim, status, "why", 77)
    assert (place.status("a"), place.book.get("a").finished_at_ms) == ((status, "why"), 77)
    assert place.claims.claim("w", 99 * LEASE_MS, LEASE_MS) is None
    with pytest.raises(ClaimLostError):
        place.claims.settle(claim, Status.COMPLETED, "", 78)
    with pytest.raises(OrderStateError, match=f"is {status} and cannot be resumed"):
        place.book.resume("a")
    refused = pytest.raises(OrderStateError, match=f"is {status} and cannot be cancelled")
    with nullcontext() if status is Status.CANCELLED else refused:
        place.book.cancel("a", "late", 79)


def test_a_worker_settles_nothing_into_a_state_that_goes_on(place: Place, claim: Claim) -> None:
    with pytest.raises(ValueError, match="PAUSED or in a final state"):
        place.claims.settle(claim, Status.RUNNING, "", 1)


def test_a_paused_order_is_resumed_with_all_it_has(place: Place, claim: Claim) -> None:
    place.claims.settle(claim, Status.PAUSED, "orders-3 made no progress", 5)
    assert place.status("a") == (Status.PAUSED, "orders-3 made no progress")
    assert place.claims.claim("w", 6, LEASE_MS) is None
    assert place.book.resume("a").status is Status.RUNNING
    assert place.book.resume("a").status_reason == ""
    again = place.claimed("w", 6)
    assert again.epoch == 2


def test_a_worker_hears_of_a_pause_and_keeps_its_reason(place: Place, claim: Claim) -> None:
    place.book.pause("a", "lunch")
    claim, status = place.claims.renew(claim, 1, LEASE_MS)
    assert status is Status.PAUSED
    place.claims.settle(claim, Status.PAUSED, "", 2)
    assert place.status("a") == (Status.PAUSED, "lunch")


def test_a_worker_that_pauses_what_was_cancelled_has_cancelled_it(place: Place, claim: Claim) -> None:
    place.book.cancel("a", "mistake", 1)
    place.claims.settle(claim, Status.PAUSED, "no progress", 9)
    assert (place.status("a"), place.book.get("a").finished_at_ms) == ((Status.CANCELLED, "mistake"), 9)


def test_threads_that_race_never_share_an_order(place: Place) -> None:
    names = [place.add(f"{number:x}", number) for number in range(1, 31)]

    def work(worker: int) -> list[str]:
        mine = []
        while (claim := place.claims.claim(f"w{worker}", 0, LEASE_MS)) is not None:
            mine.append(claim.order.id)
        return mine

    with ThreadPoolExecutor(4) as pool:
        taken = [name for mine in pool.map(work, range(4)) for name in mine]
    assert sorted(taken) == sorted(names)


def test_an_order_that_was_cancelled_is_left_to_the_next_worker_where_a_transaction_is_left_open(
    place: Place, claim: Claim
) -> None:
    """Kafka may commit it until that one has fenced it."""
    place.book.cancel("a", "mistake", 1)
    place.claims.settle(replace(claim, left_open=True), Status.PAUSED, "Kafka is away", 1)
    assert place.status("a") == (Status.CANCELLING, "mistake")
    assert place.claimed("w2", 1).epoch == 2
