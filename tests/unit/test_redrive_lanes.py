"""An order in lanes: what each gets, how many endings are one, and what a lane hears of its claim."""

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from streaming.redrive.bulk import together
from streaming.redrive.claim import Claim, ClaimLostError
from streaming.redrive.lane import _Part, lanes
from streaming.redrive.order import Order, OrderRequest, Status
from streaming.redrive.plan import Tally
from streaming.redrive.settings import RedriveSettings
from streaming.redrive.targets import TargetRules
from streaming.redrive.worker import Ending
from streaming.store.engine import connect
from streaming.store.order_claims import OrderClaims
from streaming.store.orders import OrderBook
from streaming.store.store import Store

LIMITS = {"records_per_second": 90, "bytes_per_second": 3_001, "per_target_records_per_second": 30}
DONE: Ending = (Status.COMPLETED, "")


def order(**limits: float | None) -> Order:
    request = {"dlq_topic": "dlq.t", "selection": {"all": True}, "dry_run": False, "reason": "mended"}
    return Order(
        id="a",
        request=OrderRequest.model_validate({**request, "engine": "spark", "limits": limits}),
        requested_by="me",
        created_at_ms=1,
        begin={0: 1, 1: 0, 2: 5},
        cut_off={0: 9, 1: 0, 2: 6, 3: 4},
    )


def test_every_partition_with_something_to_move_is_a_lane_at_its_share_of_the_rates() -> None:
    found = lanes(RedriveSettings(), Claim(order(**LIMITS), 3, 0), 2)
    assert [(one.partition, one.lanes, one.claim.epoch) for one in found] == [(0, 2, 3), (2, 2, 3), (3, 2, 3)]
    first = found[0].claim.order
    assert (first.id, first.begin, first.cut_off) == ("a", {0: 1}, {0: 9})
    limits = first.request.limits
    assert (limits.records_per_second, limits.bytes_per_second, limits.per_target_records_per_second) == (
        45,
        1_500,
        15,
    )


def test_more_slots_than_lanes_give_no_smaller_shares() -> None:
    found = lanes(RedriveSettings(), Claim(order(records_per_second=90), 1, 0), 64)
    assert [one.claim.order.request.limits.records_per_second for one in found] == [30, 30, 30]


@pytest.mark.parametrize(
    ("endings", "ending"),
    [
        ([], DONE),
        ([DONE, DONE], DONE),
        ([DONE, None], None),
        ([DONE, (Status.PAUSED, "a"), None], (Status.PAUSED, "a")),
        ([(Status.PAUSED, "a"), (Status.FAILED, "b")], (Status.FAILED, "b")),
        ([DONE, (Status.CANCELLED, "")], None),
    ],
)
def test_many_endings_are_one(endings: list[Ending], ending: Ending) -> None:
    assert together(endings) == ending


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    made = connect(url)
    with Store(url):
        yield made
    made.dispose()


def test_a_lane_goes_on_while_its_claim_is_the_latest_and_the_order_runs(engine: Engine) -> None:
    book, claims, stop = OrderBook(engine), OrderClaims(engine), threading.Event()
    book.create(order(), "{}")
    held = claims.claim("w", 1_000, 5_000)
    assert held is not None
    mine = _Part(claims, held, stop)
    taken = mine.claim("", 2_000, 5_000)
    assert taken is not None
    assert mine.renew(taken, 3_000, 5_000)[1] is Status.RUNNING
    mine.release(taken, 3_000)
    assert mine.claim("", 3_000, 5_000) is not None
    book.pause("a", "to look")
    assert mine.renew(taken, 3_000, 5_000)[1] is Status.PAUSED
    assert (mine.claim("", 3_000, 5_000), stop.is_set(), mine.ending) == (None, True, None)


def test_a_lane_of_an_older_claim_ends(engine: Engine) -> None:
    book, claims, stop = OrderBook(engine), OrderClaims(engine), threading.Event()
    book.create(order(), "{}")
    held = claims.claim("w", 1_000, 5_000)
    assert held is not None
    mine = _Part(claims, held, stop)
    taken = mine.claim("", 1_000, 5_000)
    assert taken is not None
    assert claims.claim("another", 9_000, 5_000) is not None
    with pytest.raises(ClaimLostError):
        mine.renew(taken, 9_000, 5_000)
    assert (mine.claim("", 9_000, 5_000), stop.is_set()) == (None, True)


@pytest.mark.parametrize(
    ("limits", "records", "engine", "said"),
    [
        ({"records_per_second": 50}, 100, "local", ()),
        ({"records_per_second": 50}, 400_000, "local", ("2 h", 'engine "spark" and raise the limits')),
        ({"records_per_second": None}, 400_000, "local", ()),
        ({"records_per_second": None}, 80_000_000, "local", ("1 h", 'engine "spark", for')),
        ({"records_per_second": 50}, 400_000, "spark", ()),
    ],
)
def test_the_engine_is_suggested_where_one_worker_would_take_more_than_an_hour(
    limits: dict[str, float | None], records: int, engine: str, said: tuple[str, ...]
) -> None:
    wanted = order(**limits)
    request = wanted.request.model_copy(update={"engine": engine})
    tally = Tally(
        wanted.model_copy(update={"request": request, "begin": {0: 0}, "cut_off": {0: records}}),
        TargetRules({"orders": 1}),
        None,
    )
    tally._targets["orders"] = records
    warnings = " ".join(tally.plan(cut=False).warnings)
    assert bool(warnings) is bool(said)
    assert all(one in warnings for one in said)
