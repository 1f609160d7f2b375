"""``deadwatch redrive`` and its siblings, before a real api where Kafka is not asked."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from rich.console import Console
from sqlalchemy import Engine

from deadwatch import redrive_command, redrive_tables
from deadwatch.api_client import Api, RefusedError, SaidError
from deadwatch.redrive_request import Said, body
from streaming.redrive.order import Order, OrderRequest, Status
from streaming.redrive.plan import Plan
from streaming.store import series
from streaming.store.order_claims import OrderClaims
from streaming.store.orders import OrderBook

WHY: Said = {"reason": "mended"}
ALL: Said = {"selection_all": True, **WHY}


@pytest.mark.parametrize(
    ("said", "selection"),
    [
        ({"selection_all": True}, {"all": True}),
        ({"selection_group": "f1"}, {"group": "f1"}),
        ({"selection_group": ""}, {"group": ""}),  # the api refuses it
        ({"selection_filter": "offset > 1"}, {"filter": "offset > 1"}),
        ({"selection_offsets": ["0:10-20", "3:0-1"]}, {"offsets": {"0": [10, 20], "3": [0, 1]}}),
        ({"selection_records": ["0:42"]}, {"records": [{"partition": 0, "offset": 42}]}),
        ({"selection_from": "2026-11-21T12:00:00Z"}, {"from": "2026-11-21T12:00:00Z"}),
        (
            {"selection_all": True, "selection_group": "f1"},
            {"all": True, "group": "f1"},
        ),  # the api refuses it
    ],
)
def test_flags_become_a_selection(said: Said, selection: dict[str, Any]) -> None:
    assert body("dlq.t", {**WHY, **said})["selection"] == selection


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("origin", {"kind": "origin"}),
        ("topic:orders", {"kind": "topic", "topic": "orders"}),
        ("map:a=b,c=d", {"kind": "map", "map": {"a": "b", "c": "d"}}),
        ("retry:g1", {"kind": "retry", "consumergroup": "g1"}),
    ],
)
def test_a_target_is_one_word(text: str, target: dict[str, Any]) -> None:
    asked = body("dlq.t", {**ALL, "target": text})
    assert asked["target"] == target
    assert OrderRequest.model_validate(asked).dry_run


def test_what_has_no_option_is_set_by_its_path() -> None:
    said = {**ALL, "limits_records_per_second": "none", "target": "retry:g"}
    settings = ["guards.max_bounce_ratio=null", "guards.lag_group=payments", "target.topic=again"]
    asked = OrderRequest.model_validate(body("dlq.t", {**said, "settings": settings}))
    assert asked.model_dump(exclude_defaults=True, exclude={"dlq_topic", "selection", "reason"}) == {
        "target": {"kind": "retry", "consumergroup": "g", "topic": "again"},
        "limits": {"records_per_second": None},
        "guards": {"max_bounce_ratio": None, "lag_group": "payments"},
    }


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (WHY, "which records?"),
        ({"selection_all": True}, "why\\? say --reason"),
        ({**WHY, "selection_offsets": ["0:10"]}, "--offsets takes PARTITION:FROM-TO"),
        ({**WHY, "selection_offsets": ["0:1-2", "0:5-6"]}, "each partition once"),
        ({**WHY, "selection_records": ["a:1"]}, "--record takes PARTITION:OFFSET"),
        ({**ALL, "target": "moon"}, "--target takes origin"),
        ({**ALL, "target": "origin:x"}, "--target takes origin"),
        ({**ALL, "target": "map:a"}, "--target takes origin"),
        ({**ALL, "target": "map:a=b,a=c"}, "--target takes origin"),
        ({**ALL, "limits_records_per_second": "fast"}, "--rate takes a number, as 50, or none, not 'fast'"),
        ({**ALL, "limits_records_per_second": "inf"}, "--rate takes a number"),
        ({**ALL, "limits_max_records": "1.5"}, "--max-records takes a whole number"),
        ({**ALL, "guards_settle_window_ms": "soon"}, "--settle-after takes a time in seconds"),
        ({**ALL, "settings": ["max_records"]}, "a setting is PATH=VALUE"),
        ({**ALL, "settings": ["limits.max_records.x=1"]}, "a setting is PATH=VALUE"),
        ({**ALL, "settings": ["reason=again"]}, "reason is said twice"),
        ({**ALL, "target": "origin", "settings": ["target.kind=topic"]}, "target.kind is said twice"),
        ({**ALL, "settings": ["dry_run=false"]}, "dry_run cannot be set"),
        ({**ALL, "settings": ["confirm=1"]}, "confirm cannot be set"),
    ],
)
def test_a_wrong_flag_is_told_with_the_right_form(said: Said, told: str) -> None:
    with pytest.raises(SaidError, match=told):
        body("dlq.t", said)


def shown(table: Any) -> str:  # noqa: ANN401 -- whatever rich prints
    console = Console(width=200)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def test_a_dry_run_is_a_table_of_what_goes_and_what_stays() -> None:
    plan = Plan(
        to_move=10,
        at_least=True,
        read=15,
        targets={"orders": 10},
        to_park=1,
        skip_reasons={"no_origin": 3},
        rehydrated=2,
        filter_problems={"divide by zero": 1},
        estimated_ms=7_200_000,
        warnings=("[bold] is not markup",),
    )
    lines = shown(redrive_tables.plan({"dlq_topic": "dlq.t", "plan": plan.model_dump()}))
    for part in (
        "Dry run on dlq.t",
        "at least 10",
        "to orders",
        "would be parked: attempts used up",
        "would be skipped: no_origin",
        "filter: divide by zero",
        "at least 2.0 h",
        "[bold] is not markup",
    ):
        assert part in lines


@pytest.fixture
def order(store: Engine, now_ms: int) -> str:
    request = OrderRequest.model_validate(
        {"dlq_topic": "dlq.t", "selection": {"all": True}, "reason": "mended", "dry_run": False}
    )
    made = Order(
        id="a", request=request, requested_by="me", created_at_ms=now_ms, begin={0: 0}, cut_off={0: 9}
    )
    OrderBook(store).create(made, Plan(to_move=9).model_dump_json())
    return "a"


def settled(store: Engine, status: Status) -> None:
    claims = OrderClaims(store)
    claim = claims.claim("w", 0, 60_000)
    assert claim is not None
    claims.settle(claim, status, "orders-3 made no progress", 1)


@pytest.mark.parametrize("status", [Status.PAUSED, Status.COMPLETED, Status.FAILED])
def test_an_order_is_followed_until_it_is_over_or_needs_somebody(
    client: httpx2.Client, order: str, store: Engine, add_series: Callable[..., None], status: Status
) -> None:
    settled(store, status)
    if status.final:
        add_series(series.REDRIVE_ORDERS, 9, order=order, outcome="sent", outcome_reason="")
    told = redrive_command.follow(Api(client), order, Console(quiet=True))
    assert (told["status"], told["status_reason"]) == (status, "orders-3 made no progress")
    assert told["progress"]["counted"] == status.final
    assert "orders-3 made no progress" in shown(redrive_tables.jobs([told]))


def test_a_problem_is_one_line(client: httpx2.Client, order: str) -> None:
    with pytest.raises(RefusedError, match="no redrive has the id 'ff'"):
        Api(client).get("/redrives/ff")
    assert Api(client).post(f"/redrives/{order}/cancel")["status"] == "CANCELLED"


def test_what_is_no_deadwatch_is_told_from_one_that_does_not_answer() -> None:
    def broken(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, text="<html>")

    def away(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    for handler, told in ((broken, "is not Deadwatch"), (away, "no answer from http://x")):
        client = httpx2.Client(transport=httpx2.MockTransport(handler), base_url="http://x")
        with client, pytest.raises(RefusedError, match=told):
            Api(client).get("/redrives")


def test_a_no_makes_no_order_and_a_dry_run_asks_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(json.loads(request.content))
        told = {
            "id": "a",
            "dlq_topic": "dlq.t",
            "to_move": 7,
            "plan": Plan(at_most=7).model_dump(),
        }
        return httpx2.Response(202, json=told)

    def refuse(question: str) -> bool:
        assert question == "Move 7 records?"
        return False

    request = body("dlq.t", ALL)
    with httpx2.Client(transport=httpx2.MockTransport(answer), base_url="http://x") as client:
        api = Api(client)
        assert redrive_command.run(api, request, dry=False, yes=False, as_json=False, ask=refuse) == 1
        assert redrive_command.run(api, request, dry=True, yes=False, as_json=True, ask=refuse) == 0
    assert [one["dry_run"] for one in asked] == [True, True]
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["to_move"] == 7
