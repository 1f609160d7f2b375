"""Redrive orders over the api, as far as Kafka is not asked."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from sqlalchemy import Engine, event

from api.signals.redrives import STUCK_MS, views
from deadwatch.orders.order import Status
from deadwatch.store import schema, series
from deadwatch.store.write import orders
from deadwatch.store.write.order_claims import OrderClaims
from deadwatch.store.write.orders import MAX_MAKING_MS, OrderBook
from redrive.plan import creation
from redrive.plan.plan import Plan
from tests.caller import Caller
from tests.tables import named
from tests.unit.api.answers import pages, problem
from tests.unit.api.conftest import Add
from tests.unit.deadwatch.store import suite

PATH = "/api/v1/redrives"


@pytest.fixture
def make(store: Engine, now_ms: int) -> Callable[..., str]:
    """An order of a partition of its own, made 100 s ago."""

    def create(name: str, *, ago_ms: int = 100_000, request: object = None, **plan: Any) -> str:  # noqa: ANN401
        first = int(name, 16)
        selection = {"offsets": {"0": [first, first + 1]}}
        order = suite.order(
            name,
            selection=selection,
            request=request or {},
            created_at_ms=now_ms - ago_ms,
            cut_off={0: 100},
            dlq_topic_id="b",
        )
        OrderBook(store).create(order, Plan(**plan).model_dump_json())
        return name

    return create


@pytest.fixture
def count(add_series: Add, now_ms: int) -> Add:
    def add(order: str, outcome: str, records: int, reason: str = "", last_ms: int = now_ms) -> None:
        labels = {"order": order, "outcome": outcome, "outcome_reason": reason}
        add_series(series.REDRIVE_ORDERS, records, last_ms=last_ms, **labels)

    return add


def test_an_order_has_the_shape_that_scripts_hold_on_to(
    client: httpx2.Client, make: Callable[..., str], count: Add, store: Engine
) -> None:
    make("a", to_move=20_000, skip_reasons={"no_origin": 1})
    count("a", "sent", 3_000)
    count("a", "skipped", 2, "payload_expired")
    count("a", "skipped", 5, "target_missing")
    count("a", "parked", 1, "attempts_used_up")
    count("a", "bounced", 4)
    count("b", "sent", 99)
    with store.begin() as connection:
        connection.execute(schema.redrive_orders.update().values(waiting=17))
    found = client.get(f"{PATH}/a").json()
    plan, request = found.pop("plan"), found.pop("request")
    assert found == {
        "id": "a",
        "status": "RUNNING",
        "dry_run": False,
        "dlq_topic": "dlq.t",
        "dlq_topic_id": "b",
        "cut_off": {"0": 100},
        "progress": {
            "text": "3,008 of 20,001 done: 3,000 moved, 1 parked, 7 skipped",
            "done": 3_008,
            "total": 20_001,
            "at_least": False,
            "counted": False,
        },
        "to_move": 20_000,
        "moved": 3_000,
        "skipped": 7,
        "parked": 1,
        "failed": 0,
        "bounced": 4,
        "settled": 0,
        "waiting": 17,
        "skip_reasons": {"target_missing": 5, "payload_expired": 2},
        "records_per_second": 50.0,
        "created_at": "2027-01-15T07:58:20Z",
        "finished_at": None,
        "estimated_end_at": "2027-01-15T08:05:40Z",
        "requested_by": "me",
        "policy": None,
        "reason": "fixed",
        "status_reason": None,
    }
    assert (plan["to_move"], plan["skip_reasons"]) == (20_000, {"no_origin": 1})
    assert (request["selection"]["offsets"], request["target"]) == ({"0": [10, 11]}, {"kind": "origin"})


@pytest.mark.parametrize(
    ("plan", "ends"),
    [({"to_move": 500}, "2027-01-15T08:00:10Z"), ({"to_move": 500, "at_least": True}, None)],
    ids=["at its limit", "nobody knows"],
)
def test_before_anything_is_moved_the_end_is_estimated_by_the_limit(
    client: httpx2.Client, make: Callable[..., str], plan: dict[str, object], ends: str | None
) -> None:
    make("a", **plan)
    found = client.get(f"{PATH}/a").json()
    assert (found["records_per_second"], found["estimated_end_at"]) == (None, ends)


def test_what_is_over_waits_for_nothing(client: httpx2.Client, make: Callable[..., str]) -> None:
    make("a", request={"dry_run": True}, to_move=3)
    found = client.get(f"{PATH}/a").json()
    assert (found["status"], found["waiting"], found["estimated_end_at"]) == ("COMPLETED", 0, None)
    assert found["finished_at"] == found["created_at"]


def test_a_group_tells_what_became_of_its_records_whichever_order_has_sent_them(
    client: httpx2.Client, store: Engine, add_row: Add, add_series: Add, now_ms: int
) -> None:
    add_row(schema.groups, fingerprint="f1", dlq_topic="dlq.t")
    found = client.get("/api/v1/dead-letters/groups/f1").json()
    assert (found["redriven"], found["success_rate"]) == (0, None)
    order = suite.order("a", request={"guards": {"settle_window_ms": 500}})
    OrderBook(store).create(order, Plan().model_dump_json())
    for outcome, records in (("sent", 40), ("bounced", 5)):
        labels = {"dlq_topic": "dlq.t", "fingerprint": "f1", "outcome": outcome}
        add_series(series.REDRIVE_GROUPS, records, last_ms=now_ms - 1_000, **labels)
    found = client.get("/api/v1/dead-letters/groups/f1").json()
    shown = tuple(found[name] for name in ("redriven", "returned", "settled", "success_rate"))
    assert shown == (40, 5, 35, 0.875)


def test_outcomes_are_told_by_reason(client: httpx2.Client, make: Callable[..., str], count: Add) -> None:
    make("a")
    count("a", "sent", 3)
    count("a", "skipped", 7, "no_origin")
    (most,), (rest,) = pages(client, f"{PATH}/a/outcomes", 1)
    assert (most["outcome"], most["reason"], most["records"]) == ("skipped", "no_origin", 7)
    assert (rest["outcome"], rest["reason"], rest["records"]) == ("sent", "", 3)


def test_the_list_is_newest_first_in_pages(client: httpx2.Client, make: Callable[..., str]) -> None:
    for name, ago_ms in (("a", 5), ("b", 7), ("c", 7), ("d", 1)):
        make(name, ago_ms=ago_ms)
    first, rest = pages(client, PATH, 3)
    assert [order["id"] for order in (*first, *rest)] == ["d", "a", "c", "b"]


def test_many_orders_are_asked_about_as_often_as_one(
    store: Engine, make: Callable[..., str], count: Add, now_ms: int
) -> None:
    asked: list[str] = []
    for name in "abcdef":
        count(make(name), "sent", 3)
    with store.connect() as connection:
        rows = [orders.find(connection, name) for name in "abcdef"]
        event.listen(connection, "before_cursor_execute", lambda *told: asked.append(told[2]))
        views(connection, rows[:1], now_ms)
        about_one = len(asked)
        assert len(views(connection, rows, now_ms)) == len(rows)
    assert len(asked) == 2 * about_one


def test_an_order_is_paused_resumed_and_cancelled_and_says_by_whom(
    client: httpx2.Client, make: Callable[..., str], store: Engine, me: str
) -> None:
    make("a")
    OrderClaims(store).claim("w", 0, 60_000)
    found = [
        (answer.status_code, answer.json()["status"], answer.json()["status_reason"])
        for answer in (
            client.post(f"{PATH}/a/pause"),
            client.post(f"{PATH}/a/resume"),
            client.post(f"{PATH}/a/cancel"),
            client.post(f"{PATH}/a/cancel"),
        )
    ]
    assert found == [
        (202, "PAUSED", f"paused by {me}"),
        (202, "RUNNING", None),
        (202, "CANCELLING", f"cancelled by {me}"),
        (202, "CANCELLING", f"cancelled by {me}"),
    ]


@pytest.mark.parametrize("wish", ["pause", "resume"])
def test_what_is_over_stays_over(client: httpx2.Client, make: Callable[..., str], wish: str) -> None:
    make("a")
    client.post(f"{PATH}/a/cancel")
    answer = client.post(f"{PATH}/a/{wish}")
    assert problem(answer) == "409 redrive-state"
    assert f"redrive a is {Status.CANCELLED} and cannot be {wish}d" in answer.json()["detail"]


def test_an_order_that_ends_while_a_long_scan_makes_another_one_is_in_its_way(
    client: Caller, make: Callable[..., str], store: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = OrderBook(store).get(make("a")).order
    ended_ms = order.created_at_ms + MAX_MAKING_MS + client.app.state.service.settings.redrive_scan_timeout_ms
    with store.begin() as connection:
        ended = {"epoch": 1, "status": Status.COMPLETED, "finished_at_ms": ended_ms}
        connection.execute(schema.redrive_orders.update().values(ended))
    made = order.model_copy(update={"id": "b"}), Plan(to_move=1)
    monkeypatch.setattr(creation.OrderService, "read", lambda *_: made)
    answer = client.post(PATH, json=order.request.model_dump(mode="json", exclude_unset=True))
    assert problem(answer) == "503 redrive-history-unread"


INVALID: list[tuple[str, dict[str, object], str]] = [
    ("no reason", {"reason": None}, "reason"),
    ("a reason of two lines", {"reason": "a\r\nb"}, "reason"),
    ("a reason in colours", {"reason": "\x1b[31ma"}, "reason"),
    ("an unknown field", {"dryrun": False}, "dryrun"),
    ("two selections", {"selection": {"all": True, "group": "f1"}}, "say one of all, group"),
    ("no selection", {"selection": {}}, "say one of all, group"),
    ("a time without zone", {"selection": {"from": "2026-11-21T12:00:00"}}, "must have a time zone"),
    ("a target of no kind", {"target": {"kind": "moon"}}, "target"),
    ("half a character", {"selection": {"filter": "\ud800"}}, "selection.filter"),
    ("a topic that cannot be", {"dlq_topic": "dlq t"}, "dlq_topic"),
    ("no speed", {"limits": {"records_per_second": 0}}, "greater than 0"),
]


@pytest.mark.usefixtures("store")
def test_a_request_that_is_none_is_refused_by_its_field(client: httpx2.Client) -> None:
    for name, changes, why in INVALID:
        body = {"dlq_topic": "dlq.t", "selection": {"all": True}, "reason": "fixed", **changes}
        answer = client.post(PATH, content=json.dumps(body), headers={"content-type": "application/json"})
        assert problem(answer) == "422 invalid-request", name
        assert why in answer.json()["detail"]


def test_orders_are_counted_by_state_once_there_are_any(
    client: httpx2.Client, make: Callable[..., str]
) -> None:
    make("a", request={"dry_run": True})
    assert "deadwatch_redrive_jobs{" not in client.get("/metrics").text
    make("b")
    text = client.get("/metrics").text
    assert 'deadwatch_redrive_jobs{status="RUNNING"} 1.0' in text
    assert 'deadwatch_redrive_jobs{status="PAUSED"} 0.0' in text


LONG_MS, MINUTE_MS = 2 * STUCK_MS, 60_000
STANDSTILLS: dict[str, tuple[dict[str, int], tuple[tuple[str, str, int], ...], int]] = {
    "an order that is new": ({"ago_ms": MINUTE_MS}, (), 0),
    "one that nobody took": ({}, (), 1),
    "one that reads what it does not select": ({"expires_in_ms": MINUTE_MS, "proceeded_ago_ms": 9}, (), 0),
    "one that has read nothing for long": ({"expires_in_ms": MINUTE_MS, "proceeded_ago_ms": LONG_MS}, (), 1),
    "one whose last outcome is long ago": ({}, (("a", "sent", STUCK_MS + 1),), 1),
    "one that moves": ({}, (("a", "sent", LONG_MS), ("a", "skipped", MINUTE_MS)), 0),
    "records that came back are no move": ({}, (("a", "bounced", 0),), 1),
    "another one that moves does not hide it": ({}, (("b", "sent", 0),), 1),
    "a record of it waits for its backoff": ({"waiting": 3, "expires_in_ms": MINUTE_MS}, (), 0),
    "a worker that is gone has said so": ({"waiting": 3, "expires_in_ms": 0}, (), 1),
    "a worker is at another one first": ({"b_expires_in_ms": MINUTE_MS}, (), 0),
    "Spark moves it": ({"expires_in_ms": MINUTE_MS, "spark": 1}, (), 0),
    "a worker holds it and nothing waits": ({"expires_in_ms": MINUTE_MS}, (), 1),
    "a lease of a clock that was ahead": ({"waiting": 3, "expires_in_ms": 2 * MINUTE_MS}, (), 1),
    "the counter has no more rows for orders": ({}, (("other", "other", MINUTE_MS),), 0),
}
"""What an order has, outcomes of orders and how long they are ago, and how many orders are stuck."""


@pytest.mark.parametrize(("order", "outcomes", "stuck"), STANDSTILLS.values(), ids=STANDSTILLS)
def test_an_order_is_stuck_that_has_had_no_outcome_for_long_and_waits_for_none(
    client: httpx2.Client,
    *,
    make: Callable[..., str],
    count: Add,
    store: Engine,
    now_ms: int,
    order: dict[str, int],
    outcomes: tuple[tuple[str, str, int], ...],
    stuck: int,
) -> None:
    make("a", ago_ms=order.get("ago_ms", LONG_MS), request={"engine": "spark"} if "spark" in order else None)
    for name in ("b", "c"):
        make(name, ago_ms=MINUTE_MS)
    claims = {"a": order.get("expires_in_ms", 0), "b": order.get("b_expires_in_ms", 0)}
    with store.begin() as connection:
        for name, expires_in_ms in claims.items():
            held = {"waiting": order.get("waiting", 0), "expires_at_ms": now_ms + expires_in_ms}
            if "proceeded_ago_ms" in order:
                held["proceeded_at_ms"] = now_ms - order["proceeded_ago_ms"]
            table = schema.redrive_orders
            connection.execute(table.update().where(table.c.id == name).values(held))
    OrderBook(store).pause("c", "")
    for name, outcome, ago_ms in outcomes:
        count(name, outcome, 1, last_ms=now_ms - ago_ms)
    text = client.get("/metrics").text
    assert f'deadwatch_redrive_stuck_jobs{{status="RUNNING"}} {stuck}.0' in text
    assert 'deadwatch_redrive_stuck_jobs{status="PAUSED"} 1.0' in text
    assert 'deadwatch_redrive_stuck_jobs{status="CANCELLING"} 0.0' in text


STALE_MS = 15_000
WORKERS = [
    ("nothing to do, nobody there", "", None, 0),
    ("somebody is there", "ab", 0, 1),
    ("one waits, nobody was ever there", "a", None, 0),
    ("one waits, whoever was there is silent", "a", STALE_MS + 1, 0),
    ("a heartbeat at the limit is one", "a", STALE_MS, 1),
    ("so is one of a clock ahead of ours", "a", -60_000, 1),
]


@pytest.mark.parametrize(("orders", "silent_ms", "workers"), named(WORKERS))
def test_redrives_that_no_worker_moves_are_said(
    client: httpx2.Client,
    *,
    make: Callable[..., str],
    add_row: Add,
    now_ms: int,
    orders: str,
    silent_ms: int | None,
    workers: int,
) -> None:
    for name in orders:
        make(name)
    if silent_ms is not None:
        add_row(schema.sources, name="redrive", kind="redrive", up=True, heartbeat_ms=now_ms - silent_ms)
    now, ready = client.get("/api/v1/overview").json()["redrives"], client.get("/readyz").json()
    assert (now["running"], now["workers"], ready["ready"]) == (len(orders), workers, True)
    warning = "1 redrive waits and no worker runs: start `python -m redrive`, or see its log"
    alone = bool(orders) and not workers
    assert (now["warning"], ready["warnings"]) == ((warning, [warning]) if alone else (None, []))
