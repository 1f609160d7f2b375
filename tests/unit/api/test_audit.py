"""Every change and every attempt at one is in the audit, with who, what, why, how it went and the request."""

import itertools
import json
import logging
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from sqlalchemy import Engine
from starlette.routing import Mount
from starlette.types import Message, Receive, Scope, Send

from api.app import create_app
from api.audit import MAX_REFUSED, UNMASKED, Acting, forget
from api.auth.credentials import issue
from api.console import rendering
from api.errors import StoreUnavailableError
from api.routes.tokens import EXPORTED_AT_ONCE
from api.settings import ApiSettings
from api.store import ABSENT, Store, Writer
from deadwatch.orders.order import Status
from deadwatch.store.write import audit
from deadwatch.store.write.audit import Entry, EntryFilter
from deadwatch.store.write.order_claims import OrderClaims
from deadwatch.store.write.orders import OrderBook
from redrive.plan.plan import Plan
from tests.caller import Caller, _Transport
from tests.operators import AT, caller
from tests.unit.api.answers import pages
from tests.unit.deadwatch.store import suite

PATH = "/api/v1/audit"
REDRIVES = "/api/v1/redrives"
POLICY = {"dlq_topics": ["dlq\\.t"], "include_existing": True, "reason": "flaky"}


@pytest.fixture
def client(store_file: Path, tmp_path: Path, now_ms: int) -> Iterator[Caller]:
    """An operator of an api of its own, which has counted no attempt yet."""
    settings = ApiSettings(store_url=f"sqlite:///{store_file}")
    with caller(settings, tmp_path, lambda: now_ms) as opened:
        yield opened


@pytest.fixture
def order(store: Engine, now_ms: int) -> str:
    made = suite.order("a", created_at_ms=now_ms)
    OrderBook(store).create(made, Plan(to_move=9).model_dump_json())
    return made.id


def anonymous(app: FastAPI) -> Caller:
    return Caller(app, "http://127.0.0.1:8000", raising=False)


def entries(client: httpx2.Client, **wanted: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = client.get(PATH, params=wanted).json()["items"]
    return items


@pytest.mark.usefixtures("order")
def test_a_change_is_recorded_whole(client: httpx2.Client, me: str) -> None:
    answer = client.post(f"{REDRIVES}/a/pause", headers={"X-Request-Id": "shift-3"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (202, "shift-3")
    (entry,) = entries(client)
    assert {**entry, "number": 1} == {
        "number": 1,
        "at": "2027-01-15T08:00:00Z",
        "who": me,
        "role": "operator",
        "token": "local",
        "action": "redrives.pause",
        "subject": "a",
        "why": "",
        "outcome": "done",
        "request_id": "shift-3",
        "address": "127.0.0.1",
    }


@pytest.mark.usefixtures("store")
def test_the_reason_of_a_policy_is_why_and_its_id_the_subject(client: httpx2.Client) -> None:
    policy = client.post("/api/v1/redrive-policies", json=POLICY).json()["id"]
    client.delete(f"/api/v1/redrive-policies/{policy}")
    deleted, created = entries(client)
    assert (deleted["action"], deleted["subject"], deleted["why"]) == ("redrive-policies.delete", policy, "")
    assert (created["action"], created["subject"]) == ("redrive-policies.create", policy)
    assert (created["why"], created["outcome"]) == ("flaky", "done")
    for dropped, why in (([], "none"), (["x", "y-*"], "x, y-*")):
        client.post("/api/v1/redrive-policies", json={**POLICY, "drop_headers": dropped})
        assert entries(client)[0]["why"] == f"flaky; headers left out: {why}"


CANCEL, CREATE = "redrives.cancel", "redrives.create"
ATTEMPTS = [
    (f"POST {REDRIVES}/ff/cancel", None, (CANCEL, "ff", "404 unknown-redrive")),
    (f"POST {REDRIVES}/zz/cancel", None, (CANCEL, "zz", "422 invalid-request")),
    (f"POST {REDRIVES}", {"reason": "x"}, (CREATE, "", "422 invalid-request")),
    ("POST /api/v1/tokens", {"name": "eve", "role": "admin"}, ("tokens.create", "", "403 forbidden")),
    (f"DELETE /api/v1/tokens/{'0' * 12}", None, ("tokens.revoke", "0" * 12, "403 forbidden")),
    ("POST /api/v1/nothing", None, ("post", "", "404 not-found")),
    (f"POST {PATH}", None, ("audit.listed", "", "405 method-not-allowed")),
]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("request_line", "body", "expected"), ATTEMPTS)
def test_a_refused_attempt_is_recorded(
    client: httpx2.Client, request_line: str, body: object, expected: tuple[str, ...]
) -> None:
    client.request(*request_line.split(), json=body)
    (entry,) = entries(client)
    assert (entry["action"], entry["subject"], entry["outcome"]) == expected


@pytest.mark.usefixtures("store")
def test_an_unknown_caller_is_recorded_with_the_id_of_the_token_that_was_sent(
    app: FastAPI, client: httpx2.Client
) -> None:
    token = issue()
    anonymous(app).post(f"{REDRIVES}/a/cancel", headers={"Authorization": f"Bearer {token.text}"})
    (entry,) = entries(client)
    assert (entry["who"], entry["role"], entry["token"]) == ("anonymous", None, token.id)
    assert entry["outcome"] == "401 unauthenticated"
    assert token.text not in json.dumps(entry)


def test_attempts_are_bounded_and_the_next_entry_counts_what_was_left_out(
    store: Engine, store_file: Path, client: httpx2.Client, now_ms: int
) -> None:
    clock = [now_ms]
    settings = ApiSettings(store_url=f"sqlite:///{store_file}")
    nobody = anonymous(create_app(settings, now_ms=lambda: clock[0]))
    for _ in range(MAX_REFUSED + 15):
        assert nobody.post(f"{REDRIVES}/a/cancel").status_code == 401
    with store.begin() as connection:
        assert len(audit.page(connection, EntryFilter(), None, 500)) == MAX_REFUSED
    clock[0] += 60_000
    nobody.post(f"{REDRIVES}/a/cancel")
    assert entries(client)[0]["outcome"].startswith("401 unauthenticated, and 15 attempts before it")


def test_a_change_that_is_rolled_back_is_recorded_as_failed_and_not_as_done(
    app: FastAPI, store: Engine, client: httpx2.Client
) -> None:
    def broken() -> None:
        raise RuntimeError("the inside")

    def undone(action: Acting) -> None:
        with store.begin() as connection:
            action.witness("because")(connection, "a")
            raise StoreUnavailableError("the disk is full")

    app.add_api_route("/broken", broken, methods=["POST"])
    app.add_api_route("/undone", undone, methods=["POST"])
    assert client.post("/broken").status_code == 500
    assert client.post("/undone").status_code == 503
    found = [(entry["action"], entry["outcome"]) for entry in entries(client)]
    assert found == [("undone.undone", "503 store-unavailable"), ("broken.broken", "500")]


@pytest.mark.usefixtures("store")
def test_a_defect_of_the_console_is_one_line_of_the_log_and_one_entry(
    app: FastAPI, client: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("the inside")

    (console,) = [route.app for route in app.routes if isinstance(route, Mount) and route.path == "/console"]
    assert isinstance(console, FastAPI)
    console.add_api_route("/broken", broken, methods=["POST"])
    answer = client.post("/console/broken")
    assert (answer.status_code, answer.headers["content-security-policy"]) == (500, rendering.POLICY)
    assert [entry["outcome"] for entry in entries(client)] == ["500 unexpected"]
    assert len(caplog.records) == 1


def payload(action: Acting) -> str:
    action.record(UNMASKED, "dlq.t/0/7", "ticket 12")
    return "secret"


def test_without_a_store_no_payload_is_shown_and_an_attempt_is_a_line_of_the_log(
    app: FastAPI, client: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    app.add_api_route("/payload", payload)
    answer = client.get("/payload")
    assert answer.status_code == 503
    assert "secret" not in answer.text
    with caplog.at_level(logging.ERROR):
        client.post(f"{REDRIVES}/a/cancel")
    assert "not kept in the audit: redrives.cancel a 503 store-unavailable by " in caplog.text


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.PAUSED])
def test_what_the_worker_makes_of_an_order_is_recorded(
    client: httpx2.Client, store: Engine, order: str, now_ms: int, status: Status
) -> None:
    claims = OrderClaims(store)
    claim = claims.claim("w", now_ms, 60_000)
    assert claim is not None
    claims.settle(claim, status, "orders-3 made no progress", now_ms)
    (entry,) = entries(client, who="redrive worker")
    assert (entry["action"], entry["subject"]) == (f"redrives.{status.lower()}", order)
    assert entry["why"] == "orders-3 made no progress"


@pytest.fixture
def many(store: Engine, now_ms: int) -> int:
    with store.begin() as connection:
        made = partial(Entry, action="redrives.create")
        who = itertools.cycle(("bob", "ann"))
        entries = (made(at_ms=now_ms + n, who=next(who), subject=str(n)) for n in range(1_203))
        suite.keep_entries(connection, entries)
    return 1_203


def test_pages_and_export_hold_every_entry_once(client: httpx2.Client, many: int) -> None:
    seen = [entry["subject"] for page in pages(client, PATH, 500) for entry in page]
    answer = client.get(f"{PATH}/export")
    assert answer.headers["content-type"].startswith("application/jsonl")
    exported = [json.loads(line)["subject"] for line in answer.text.splitlines()]
    assert seen == exported == [str(number) for number in reversed(range(many))]


@pytest.mark.usefixtures("many")
def test_an_export_whose_store_goes_away_is_not_ended_as_a_whole_one_and_is_one_line_of_the_log(
    client: Caller, store_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sent: list[Message] = []
    remove = partial(store_file.unlink, missing_ok=True)

    async def cut_short(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_and_remove(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body":
                sent.append(message)
                remove()

        await client.app(scope, receive, send_and_remove)
        await send({"type": "http.response.body"})  # instead of the server, which would close the connection

    transport = _Transport(httpx2.ASGITransport(cut_short))
    with httpx2.Client(base_url=AT, transport=transport, headers=client.headers) as other:
        assert other.get(f"{PATH}/export").text.count("\n") == EXPORTED_AT_ONCE
    assert [message["more_body"] for message in sent] == [True]
    (line,) = caplog.records
    assert (line.getMessage(), line.exc_info) == (f"the export of the audit is cut: {ABSENT}", None)


@pytest.mark.usefixtures("many")
def test_entries_are_selected_by_who_and_when(client: httpx2.Client) -> None:
    wanted = {"who": "ann", "from": "2027-01-15T08:00:00.003Z", "to": "2027-01-15T08:00:00.006Z"}
    assert [entry["subject"] for entry in entries(client, **wanted)] == ["5", "3"]
    assert client.get(f"{PATH}/export", params=wanted).text.count("\n") == 2


@pytest.mark.usefixtures("many")
def test_retention_deletes_what_is_too_old(store: Engine, store_file: Path, now_ms: int) -> None:
    url = f"sqlite:///{store_file}"
    reader = Store(url)
    with closing(reader), closing(Writer(url, reader)) as writer:
        assert [forget(writer, now_ms + 1_200) for _ in range(3)] == [1_000, 200, 0]
    with store.begin() as connection:
        assert len(audit.page(connection, EntryFilter(), None, 500)) == 3


@pytest.mark.usefixtures("store")
def test_reads_that_were_refused_are_in_the_log_and_bounded(
    app: FastAPI, client: httpx2.Client, caplog: pytest.LogCaptureFixture, me: str
) -> None:
    refused = {"Authorization": f"Bearer {issue().text}"}
    with caplog.at_level(logging.INFO, "api.audit"):
        client.get("/api/v1/tokens")
        anonymous(app).get("/console/audit", follow_redirects=False)
        for _ in range(MAX_REFUSED + 5):
            anonymous(app).get(PATH, headers=refused)
        client.get(PATH)
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == f"refused to {me} at 127.0.0.1: GET '/api/v1/tokens', 403 forbidden"
    assert lines[1] == "refused to anonymous at 127.0.0.1: GET '/console/audit', 303 unauthenticated"
    assert lines[2].endswith("401 unauthenticated")
    assert len(lines) == 1 + MAX_REFUSED
    assert not [line for line in lines if issue().text[:3] in line]
