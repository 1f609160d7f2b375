"""Orders in the store, for users and for workers that race."""

import multiprocessing
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from streaming.redrive.claim import ClaimLostError, Orders
from streaming.redrive.errors import IdempotencyError, OrderOverlapError, OrderStateError, UnknownOrderError
from streaming.redrive.order import Order, OrderRequest, Selection, Status
from streaming.store.engine import connect
from streaming.store.order_claims import MAX_LEASE_MS, OrderClaims
from streaming.store.orders import OrderBook, count_by_status, find, page
from streaming.store.store import Store

LEASE_MS = 5_000
Wanted = Mapping[str, object]

ALL: Wanted = {"all": True}


@pytest.fixture(params=["sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store; PostgreSQL joins by its fixture."""
    address = (
        f"sqlite:///{tmp_path}/store.db"
        if request.param == "sqlite"
        else request.getfixturevalue(request.param)
    )
    with Store(str(address)):
        return str(address)


class Place:
    """Both sides of one table."""

    def __init__(self, url: str) -> None:
        self.engine = connect(url)
        self.book = OrderBook(self.engine)
        self.claims = OrderClaims(self.engine)

    def add(self, name: str, created_at_ms: int = 1, selection: Wanted | None = None) -> str:
        self.book.create(order(name, created_at_ms, selection=selection), "{}")
        return name

    def status(self, name: str) -> tuple[Status, str]:
        found = self.book.get(name)
        return found.status, found.status_reason


@pytest.fixture
def place(url: str) -> Iterator[Place]:
    opened = Place(url)
    yield opened
    opened.engine.dispose()


def order(
    name: str, created_at_ms: int = 1, *, dry_run: bool = False, selection: Wanted | None = None
) -> Order:
    request = OrderRequest(
        dlq_topic="dlq.t",
        selection=Selection.model_validate(selection or {"offsets": {"0": _own_offsets(name)}}),
        dry_run=dry_run,
        reason="mended",
    )
    return Order(
        id=name,
        request=request,
        requested_by="me",
        created_at_ms=created_at_ms,
        begin={0: 0, 1: 3},
        cut_off={0: 1_000_000_000, 1: 9},
    )


def _own_offsets(name: str) -> tuple[int, int]:
    """Offsets that no other order of a test has."""
    first = int(name, 16)
    return first, first + 1


def test_workers_see_the_store_as_the_contract_says(place: Place) -> None:
    workers: Orders = place.claims
    assert workers.claim("w", 0, LEASE_MS) is None


def test_an_order_is_kept_as_it_was_accepted(place: Place) -> None:
    asked = order("a", selection={"filter": 'value == "\u00e9' + "x" * 3_000 + '"'})
    plan = '{"examples": ["' + "y" * 3_000 + '"]}'
    made = place.book.create(asked, plan)
    assert made.order == asked
    assert (made.status, made.plan, made.worker) == (Status.RUNNING, plan, "")
    with pytest.raises(UnknownOrderError, match="'b'"):
        place.book.get("b")


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


def test_a_dead_worker_is_followed_as_soon_as_its_lease_ends(place: Place) -> None:
    place.add("a")
    first = place.claims.claim("w1", 0, LEASE_MS)
    assert first is not None
    assert place.claims.claim("w2", LEASE_MS - 1, LEASE_MS) is None
    second = place.claims.claim("w2", LEASE_MS, LEASE_MS)
    assert second is not None
    assert (second.epoch, second.expires_at_ms) == (2, 2 * LEASE_MS)
    for call in (
        lambda: place.claims.renew(first, LEASE_MS, LEASE_MS),
        lambda: place.claims.settle(first, Status.COMPLETED, "", LEASE_MS),
        lambda: place.claims.release(first, LEASE_MS),
    ):
        with pytest.raises(ClaimLostError):
            call()
    assert place.status("a") == (Status.RUNNING, "")
    assert place.claims.renew(second, LEASE_MS, LEASE_MS)[1] is Status.RUNNING


def test_a_late_worker_may_go_on_while_nobody_else_came(place: Place) -> None:
    place.add("a")
    claim = place.claims.claim("w", 0, LEASE_MS)
    assert claim is not None
    renewed, status = place.claims.renew(claim, 9 * LEASE_MS, LEASE_MS)
    assert (renewed.expires_at_ms, status) == (10 * LEASE_MS, Status.RUNNING)


def test_what_is_released_is_taken_over_at_once(place: Place) -> None:
    place.add("a")
    claim = place.claims.claim("w1", 0, LEASE_MS)
    assert claim is not None
    place.claims.release(claim, 1)
    with pytest.raises(ClaimLostError):
        place.claims.renew(claim, 1, LEASE_MS)
    again = place.claims.claim("w2", 1, LEASE_MS)
    assert again is not None
    assert again.epoch == 2


@pytest.mark.parametrize("jump_ms", [3_600_000, -3_600_000])
def test_a_clock_that_jumps_does_not_keep_an_order_from_being_taken_over(place: Place, jump_ms: int) -> None:
    now_ms = 10_000_000
    place.add("a")
    dead = place.claims.claim("w1", now_ms, LEASE_MS)
    assert dead is not None
    taken = place.claims.claim("w2", now_ms + jump_ms, LEASE_MS)
    assert taken is not None
    assert taken.epoch == 2
    with pytest.raises(ClaimLostError):
        place.claims.renew(dead, now_ms, LEASE_MS)


@pytest.mark.parametrize("lease_ms", [0, -1, MAX_LEASE_MS + 1])
def test_a_lease_has_bounds(place: Place, lease_ms: int) -> None:
    place.add("a")
    with pytest.raises(ValueError, match="lease_ms"):
        place.claims.claim("w", 0, lease_ms)


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.CANCELLED])
def test_what_is_over_stays_over(place: Place, status: Status) -> None:
    place.add("a")
    claim = place.claims.claim("w", 0, LEASE_MS)
    assert claim is not None
    place.claims.settle(claim, status, "why", 77)
    assert (place.status("a"), place.book.get("a").finished_at_ms) == ((status, "why"), 77)
    assert place.claims.claim("w", 99 * LEASE_MS, LEASE_MS) is None
    with pytest.raises(ClaimLostError):
        place.claims.settle(claim, Status.COMPLETED, "", 78)
    with pytest.raises(OrderStateError, match=f"is {status} and cannot be resumed"):
        place.book.resume("a")


def test_a_worker_settles_nothing_into_a_state_that_goes_on(place: Place) -> None:
    place.add("a")
    claim = place.claims.claim("w", 0, LEASE_MS)
    assert claim is not None
    with pytest.raises(ValueError, match="PAUSED or in a final state"):
        place.claims.settle(claim, Status.RUNNING, "", 1)


def test_a_paused_order_is_resumed_with_all_it_has(place: Place) -> None:
    place.add("a")
    claim = place.claims.claim("w", 0, LEASE_MS)
    assert claim is not None
    place.claims.settle(claim, Status.PAUSED, "orders-3 made no progress", 5)
    assert place.status("a") == (Status.PAUSED, "orders-3 made no progress")
    assert place.claims.claim("w", 6, LEASE_MS) is None
    assert place.book.resume("a").status is Status.RUNNING
    assert place.book.resume("a").status_reason == ""
    again = place.claims.claim("w", 6, LEASE_MS)
    assert again is not None
    assert again.epoch == 2


def test_a_worker_hears_of_a_pause_and_keeps_its_reason(place: Place) -> None:
    place.add("a")
    claim = place.claims.claim("w", 0, LEASE_MS)
    assert claim is not None
    place.book.pause("a", "lunch")
    claim, status = place.claims.renew(claim, 1, LEASE_MS)
    assert status is Status.PAUSED
    place.claims.settle(claim, Status.PAUSED, "", 2)
    assert place.status("a") == (Status.PAUSED, "lunch")


def test_a_cancel_is_heard_by_the_worker_and_ends_what_nobody_holds(place: Place) -> None:
    for name in ("a", "b"):
        place.add(name, int(name, 16))
    claim = place.claims.claim("w", 0, LEASE_MS)
    assert claim is not None
    assert place.book.cancel("a", "mistake", 1).status is Status.CANCELLING
    assert place.book.cancel("a", "again", 1).status_reason == "mistake"
    assert place.claims.renew(claim, 1, LEASE_MS)[1] is Status.CANCELLING
    place.claims.settle(claim, Status.CANCELLED, "", 2)
    assert place.status("a") == (Status.CANCELLED, "mistake")
    ended = place.book.cancel("b", "mistake", 3)
    assert (ended.status, ended.status_reason, ended.finished_at_ms) == (Status.CANCELLED, "mistake", 3)
    assert place.book.cancel("b", "again", 4).finished_at_ms == 3


def test_a_cancel_of_a_dead_worker_s_order_is_settled_by_the_next(place: Place) -> None:
    place.add("a")
    assert place.claims.claim("w1", 0, LEASE_MS) is not None
    assert place.book.cancel("a", "mistake", 1).status is Status.CANCELLING
    assert place.claims.claim("w2", LEASE_MS, LEASE_MS) is not None


def test_a_worker_that_pauses_what_was_cancelled_has_cancelled_it(place: Place) -> None:
    place.add("a")
    claim = place.claims.claim("w", 0, LEASE_MS)
    assert claim is not None
    place.book.cancel("a", "mistake", 1)
    place.claims.settle(claim, Status.PAUSED, "no progress", 9)
    assert (place.status("a"), place.book.get("a").finished_at_ms) == (
        (Status.CANCELLED, "mistake"),
        9,
    )


def test_what_is_completed_cannot_be_cancelled(place: Place) -> None:
    place.add("a")
    claim = place.claims.claim("w", 0, LEASE_MS)
    assert claim is not None
    place.claims.settle(claim, Status.COMPLETED, "", 1)
    with pytest.raises(OrderStateError, match="is COMPLETED and cannot be cancelled"):
        place.book.cancel("a", "late", 2)


def test_a_dry_run_is_over_and_nobody_s_work(place: Place) -> None:
    made = place.book.create(order("a", dry_run=True, selection=ALL), "{}")
    assert (made.status, made.finished_at_ms) == (Status.COMPLETED, 1)
    assert place.claims.claim("w", 0, LEASE_MS) is None
    place.add("b", selection=ALL)
    with place.engine.begin() as connection:
        assert count_by_status(connection) == {Status.RUNNING: 1}


def test_of_dry_runs_only_the_newest_are_kept(place: Place) -> None:
    book = OrderBook(place.engine, max_dry_runs=2)
    place.add("f", 1)
    for name, created_at_ms in (("a", 2), ("b", 5), ("c", 4), ("d", 6)):
        book.create(order(name, created_at_ms, dry_run=True), "{}")
    with place.engine.begin() as connection:
        assert [one.order.id for one in page(connection, None, 9)] == ["d", "b", "f"]


OVERLAPS: list[tuple[str, Wanted, Wanted, bool]] = [
    ("all and all", ALL, ALL, True),
    ("all and a group", ALL, {"group": "f1"}, True),
    ("two groups", {"group": "f1"}, {"group": "f2"}, False),
    ("one group twice", {"group": "f1"}, {"group": "f1"}, True),
    ("two filters, which nobody can compare", {"filter": "a"}, {"filter": "b"}, True),
    ("offsets that meet", {"offsets": {"0": (0, 5)}}, {"offsets": {"0": (4, 9)}}, True),
    ("offsets side by side", {"offsets": {"0": (0, 5)}}, {"offsets": {"0": (5, 9)}}, False),
    ("other partitions", {"offsets": {"0": (0, 5)}}, {"offsets": {"1": (0, 5)}}, False),
    (
        "one record of an interval",
        {"offsets": {"0": (0, 5)}},
        {"records": [{"partition": 0, "offset": 4}]},
        True,
    ),
]


@pytest.mark.parametrize(
    ("one", "other", "refused"), [row[1:] for row in OVERLAPS], ids=[row[0] for row in OVERLAPS]
)
def test_one_record_has_one_active_order(place: Place, one: Wanted, other: Wanted, refused: bool) -> None:
    place.add("a", selection=one)
    if refused:
        with pytest.raises(OrderOverlapError, match=r"redrive a is RUNNING on dlq\.t"):
            place.add("b", selection=other)
        place.book.cancel("a", "", 1)
    place.add("b", selection=other)


def test_a_key_makes_one_order_from_one_request(place: Place) -> None:
    made = place.book.create(order("a", selection=ALL), "{}", "key")
    assert place.book.create(order("b", 2, selection=ALL), "{}", "key") == made
    assert place.book.of_key("key") == made
    assert (place.book.of_key("other"), place.book.of_key("")) == (None, None)
    with pytest.raises(IdempotencyError, match="redrive a"):
        place.book.create(order("b", selection={"group": "f1"}), "{}", "key")


def test_pages_are_newest_first_and_complete(place: Place) -> None:
    for name, created_at_ms in (("a", 5), ("b", 7), ("c", 7), ("d", 9)):
        place.add(name, created_at_ms)
    with place.engine.begin() as connection:
        first = page(connection, None, 3)
        rest = page(connection, first[-1].key, 3)
        assert find(connection, "a") == rest[0]
    assert [one.order.id for one in (*first, *rest)] == ["d", "c", "b", "a"]


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


def test_processes_that_steal_from_each_other_settle_every_order_once(url: str, place: Place) -> None:
    for number in range(1, 13):
        place.add(f"{number:x}", number)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        settled = pool.starmap(_steal_and_settle, [(url, "w1"), (url, "w2")])
    assert sorted(name for mine in settled for name in mine) == sorted(
        f"{number:x}" for number in range(1, 13)
    )
    with place.engine.begin() as connection:
        assert count_by_status(connection) == {Status.COMPLETED: 12}


def _steal_and_settle(url: str, worker: str) -> list[str]:
    """Claim with leases that have ended already, so that every worker is always late; what it settled."""
    mine: list[str] = []
    place = Place(url)
    now_ms = 0
    while (claim := place.claims.claim(worker, now_ms, 1)) is not None:
        now_ms += 2
        try:
            held, _ = place.claims.renew(claim, now_ms, 1)
            place.claims.settle(replace(held), Status.COMPLETED, worker, now_ms)
        except ClaimLostError:
            continue
        mine.append(claim.order.id)
    place.engine.dispose()
    return mine


def test_one_of_many_that_ask_for_the_same_records_gets_them(url: str) -> None:
    def ask(number: int) -> bool:
        place = Place(url)
        try:
            place.add(f"{number:x}", selection=ALL)
        except OrderOverlapError:
            return False
        finally:
            place.engine.dispose()
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(ask, range(1, 7))) == 1
