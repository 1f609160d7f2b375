"""Whatever an order or a policy asks for is asked for again by the console, the command line and the api."""

import re
import shlex
import uuid
from collections.abc import Callable
from html import unescape
from typing import Any, get_args

import httpx2
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, example, given, settings
from sqlalchemy import Engine

from api.auth.role import Role
from api.orders import OrderService, PolicyService
from cli.commands import api as api_command
from cli.main import app as deadwatch
from deadwatch.orders import order
from deadwatch.orders.errors import RefusedOrderError
from deadwatch.orders.options import STEPS
from deadwatch.orders.order import OrderRequest, Place, Selection
from deadwatch.orders.policy import Policy, PolicyRequest
from deadwatch.store.write.orders import OrderBook
from deadwatch.store.write.policies import PolicyBook
from redrive.plan.plan import Plan
from tests import redrive_requests
from tests.unit.api.console_visit import Console, form_of, token_for
from tests.unit.cli.terminal import api_that, command_line
from tests.unit.deadwatch.store import suite

WHOLE = OrderRequest.model_validate(
    {
        "dlq_topic": "dlq.orders",
        "selection": {"from": "2026-11-21T12:00:00-05:00", "to": "2026-11-21T18:30:00Z"},
        "target": {"kind": "topic", "topic": "shipping"},
        "limits": {"records_per_second": None, "max_records": 3},
        "guards": {"max_bounce_ratio": None},
        "reason": "it's fixed; rm -rf $HOME",
    }
)
MOST = WHOLE.model_copy(
    update={
        "selection": Selection(records=tuple(Place(partition=1, offset=10**9 + n) for n in range(10_000)))
    }
)
"""As many single records as an order may name."""

every = settings(
    max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
"""What the examples leave in the store does not matter."""


@pytest.fixture
def console(app: FastAPI, console: Console, store: Engine) -> Console:
    """An operator's."""
    del store
    console.sign_in(token_for(app, Role.OPERATOR))
    return console


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The requests that reach the part of the api that judges them; it refuses them all."""
    found: list[Any] = []

    def refuse(_: object, *said: Any) -> None:  # noqa: ANN401 -- as the two take them
        found.extend(one for one in said if isinstance(one, OrderRequest | PolicyRequest))
        raise RefusedOrderError("it has come so far")

    monkeypatch.setattr(OrderService, "create", refuse)
    monkeypatch.setattr(PolicyService, "create", refuse)
    monkeypatch.setattr(PolicyService, "change", refuse)
    return found


Keep = Callable[[OrderRequest], str]


@pytest.fixture
def keep(store: Engine, now_ms: int) -> Keep:
    """Put an order into the store; where its page is."""

    def kept(request: OrderRequest) -> str:
        order = suite.order(str(uuid.uuid4()), created_at_ms=now_ms, dlq_topic_id="b")
        made = order.model_copy(update={"request": request.model_copy(update={"dry_run": True})})
        OrderBook(store).create(made, Plan(to_move=9, at_most=9).model_dump_json())
        return f"/redrives/{made.id}"

    return kept


@pytest.mark.parametrize(
    ("model", "table"), redrive_requests.FIELDS, ids=lambda one: getattr(one, "__name__", "")
)
def test_no_field_is_left_out_of_what_goes_round(model: Any, table: dict[str, Any]) -> None:  # noqa: ANN401 -- a model
    """A field that a model gets is said by all three as soon as it stands in ``tests.redrive_requests``."""
    assert set(table) == set(model.model_fields)


def test_no_target_is_left_out_of_what_goes_round() -> None:
    (union, _) = get_args(order.Target)
    assert set(redrive_requests.TARGETS) == {kind.__name__ for kind in get_args(union)}


@given(request=redrive_requests.orders)
@example(request=WHOLE)
@example(request=MOST)
@every
def test_change_it_asks_for_the_same(
    console: Console, asked: list[Any], keep: Keep, request: OrderRequest
) -> None:
    page = console.get(keep(request)).text
    link = re.search(r'<a [^>]*href="/console([^"]+)"[^>]*>Change it</a>', page)
    assert link
    form = form_of(console.get(unescape(link[1])).text, "/redrives/new")
    asked.clear()
    console.post("/redrives/new", **form)
    assert asked == [dry(request)]


@given(request=redrive_requests.orders)
@example(request=WHOLE)
@example(request=MOST)
@every
def test_the_line_for_a_terminal_asks_for_the_same(
    console: Console, keep: Keep, monkeypatch: pytest.MonkeyPatch, request: OrderRequest
) -> None:
    shown = re.search(r'<code id="command">(.*?)</code>', console.get(keep(request)).text, re.DOTALL)
    assert shown
    program, *words = shlex.split(unescape(shown[1]))
    assert program == "deadwatch"
    assert run(monkeypatch, words) == [dry(request)]


@given(request=redrive_requests.orders)
@every
def test_the_api_tells_what_was_asked_for(
    client: httpx2.Client, asked: list[Any], keep: Keep, request: OrderRequest
) -> None:
    told = client.get(f"/api/v1{keep(request)}").json()["request"]
    asked.clear()
    client.post("/api/v1/redrives", json=told)
    assert asked == [request.model_copy(update={"dry_run": True})]


def test_the_order_of_a_dry_run_ends_where_that_has_ended(
    console: Console, asked: list[Any], keep: Keep
) -> None:
    console.post(f"{keep(WHOLE)}/start", confirm="9")
    step = {"dry_run": False, "confirm": 9, "cut_off": {0: 9}, "dlq_topic_id": "b"}
    assert asked == [WHOLE.model_copy(update=step)]


@given(request=redrive_requests.policies)
@every
def test_a_policy_that_is_not_changed_stays_as_it_is(
    console: Console, asked: list[Any], store: Engine, now_ms: int, request: PolicyRequest
) -> None:
    book, policy = PolicyBook(store), uuid.uuid4().hex
    book.create(Policy(policy, 1, request, "ann", now_ms, now_ms))
    form = form_of(console.get(f"/policies/{policy}/edit").text, f"/policies/{policy}/edit")
    asked.clear()
    console.post(f"/policies/{policy}/edit", **form)
    book.delete(policy, "ann", now_ms, None)
    assert asked == [request]


def dry(request: OrderRequest) -> OrderRequest:
    """A console and a command line begin with the dry run, and say ``confirm`` when it was seen."""
    return request.model_copy(update={**dict.fromkeys(STEPS), "dry_run": True})


def run(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> list[OrderRequest]:
    """What the command line sends first."""
    sent: list[OrderRequest] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(OrderRequest.model_validate_json(request.content))
        told = {"id": "a", "dlq_topic": sent[-1].dlq_topic, "plan": Plan(at_most=7).model_dump()}
        return httpx2.Response(202, json=told)

    monkeypatch.setattr(api_command, "connect", lambda *_: api_that(answer))
    command_line(deadwatch)([words[0], "--dry-run", *words[1:]], standalone_mode=False)
    return sent
