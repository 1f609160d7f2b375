"""Orders in the store, for users and for workers that race."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from deadwatch.orders.errors import IdempotencyError, OrderOverlapError, UnknownOrderError, UnreadHistoryError
from deadwatch.orders.order import Claim, Order, Status
from deadwatch.store.engine import connect
from deadwatch.store.write.order_claims import OrderClaims
from deadwatch.store.write.orders import MAX_MAKING_MS, OrderBook, count_by_status, page
from tests.unit.deadwatch.store import suite

LEASE_MS = 5_000
MADE_MS = 100_000
Wanted = Mapping[str, object]

ALL: Wanted = {"all": True}


class Place:
    """Both sides of one table."""

    def __init__(self, url: str) -> None:
        self.engine = connect(url)
        self.book = OrderBook(self.engine)
        self.claims = OrderClaims(self.engine)

    def claimed(self, worker: str = "w", now_ms: int = 0) -> Claim:
        claim = self.claims.claim(worker, now_ms, LEASE_MS)
        assert claim is not None
        return claim

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
    """An order of one offset that no other order of a test has, or of a selection."""
    first = int(name, 16)
    return suite.order(
        name,
        selection=selection or {"offsets": {"0": (first, first + 1)}},
        request={"dry_run": dry_run},
        created_at_ms=created_at_ms,
        begin={0: 0, 1: 3},
        cut_off={0: 1_000_000_000, 1: 9},
    )


def test_an_order_is_kept_as_it_was_accepted(place: Place) -> None:
    asked = order("a", selection={"filter": 'value == "\u00e9' + "x" * 3_000 + '"'})
    plan = '{"examples": ["' + "y" * 3_000 + '"]}'
    made = place.book.create(asked, plan)
    assert made.order == asked
    assert (made.status, made.plan, made.worker) == (Status.RUNNING, plan, "")
    assert place.book.get("a") == made
    with pytest.raises(UnknownOrderError, match="'b'"):
        place.book.get("b")


def test_a_cancel_is_heard_by_the_worker_and_ends_what_nobody_holds(place: Place) -> None:
    for name in ("a", "b"):
        place.add(name, int(name, 16))
    claim = place.claimed()
    assert place.book.cancel("a", "mistake", 1).status is Status.CANCELLING
    assert place.book.cancel("a", "again", 1).status_reason == "mistake"
    assert place.claims.renew(claim, 1, LEASE_MS)[1] is Status.CANCELLING
    place.claims.settle(claim, Status.CANCELLED, "", 2)
    assert place.status("a") == (Status.CANCELLED, "mistake")
    ended = place.book.cancel("b", "mistake", 3)
    assert (ended.status, ended.status_reason, ended.finished_at_ms) == (Status.CANCELLED, "mistake", 3)
    assert place.book.cancel("b", "again", 4).finished_at_ms == 3


def test_a_dry_run_is_over_and_nobody_s_work(place: Place) -> None:
    made = place.book.create(order("a", dry_run=True, selection=ALL), "{}")
    assert (made.status, made.finished_at_ms) == (Status.COMPLETED, 1)
    assert place.claims.claim("w", 0, LEASE_MS) is None
    place.add("b", selection=ALL)
    with place.engine.begin() as connection:
        assert count_by_status(connection) == {Status.RUNNING: 1}


def test_dry_runs_take_no_place_on_a_page_without_them(place: Place) -> None:
    place.add("a")
    for created_at_ms, name in enumerate("bcd", 2):
        place.book.create(order(name, created_at_ms, dry_run=True), "{}")
    with place.engine.connect() as connection:
        assert [one.order.id for one in page(connection, None, 2)] == ["d", "c"]
        assert [one.order.id for one in page(connection, None, 2, dry_runs=False)] == ["a"]


def test_of_dry_runs_only_the_newest_are_kept(place: Place) -> None:
    book = OrderBook(place.engine, max_dry_runs=2)
    place.add("f", 1)
    for name, created_at_ms in (("a", 2), ("b", 5), ("c", 4), ("d", 6)):
        book.create(order(name, created_at_ms, dry_run=True), "{}")
    with place.engine.begin() as connection:
        assert [one.order.id for one in page(connection, None, 9)] == ["d", "b", "f"]


def test_one_record_has_one_active_order(place: Place) -> None:
    place.add("a", selection={"group": "f1"})
    place.add("b", selection={"group": "f2"})
    with pytest.raises(OrderOverlapError, match=r"redrive a is RUNNING on dlq\.t"):
        place.add("c", selection={"group": "f1"})
    place.book.cancel("a", "", 1)
    place.add("c", selection={"group": "f1"})


@pytest.mark.parametrize(("made_ms", "ended_ms"), [(MADE_MS, 1), (1, MADE_MS)])
def test_what_an_order_moves_that_ends_while_another_is_made_is_not_moved_by_that_as_well(
    place: Place, made_ms: int, ended_ms: int
) -> None:
    """It was looked up before what earlier orders have moved. The worker's clock may be far behind; an order
    that took long to be made was begun before the other one.
    """
    place.add("a", made_ms, selection=ALL)
    place.claims.settle(place.claimed(), Status.COMPLETED, "", ended_ms)
    for created_at_ms in (MADE_MS - MAX_MAKING_MS, MADE_MS):
        with pytest.raises(UnreadHistoryError, match="redrive a has just ended"):
            place.add("b", created_at_ms, selection=ALL)
    for name, created_at_ms in (("c", MADE_MS - MAX_MAKING_MS - 1), ("e", MADE_MS + 1)):
        place.add(name, created_at_ms, selection=ALL)
        place.book.cancel(name, "nobody has begun it", MADE_MS + 2)
    slow = OrderBook(place.engine, max_making_ms=MAX_MAKING_MS + 1)
    with pytest.raises(UnreadHistoryError, match="redrive a has just ended"):
        slow.create(order("b", MADE_MS - MAX_MAKING_MS - 1, selection=ALL), "{}")
    place.book.create(suite.order("d", request={"again": True}, created_at_ms=MADE_MS - 1), "{}")


def test_a_key_makes_one_order_from_one_request(place: Place) -> None:
    made = place.book.create(order("a", selection=ALL), "{}", "key")
    assert place.book.create(order("b", 2, selection=ALL), "{}", "key") == made
    assert [place.book.of_key(key, made.order.request) for key in ("key", "other", "")] == [made, None, None]
    with pytest.raises(IdempotencyError, match="redrive a"):
        place.book.create(order("b", selection={"group": "f1"}), "{}", "key")


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
