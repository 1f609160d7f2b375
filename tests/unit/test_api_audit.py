"""Every change and every attempt at one is in the audit, with who, what, why, how it went and the request."""

import json
import logging
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import create_app
from api.audit import UNMASKED, Auditing
from api.audit_trail import MAX_REFUSED
from api.auth import Role, require
from api.credentials import issue
from api.errors import StoreUnavailableError
from api.retention import Retention
from api.settings import ApiSettings
from api.store import Store, Writer
from streaming.redrive.order import Order, OrderRequest, Status
from streaming.redrive.plan import Plan
from streaming.store import audit
from streaming.store.audit import Entry, Wanted
from streaming.store.order_claims import OrderClaims
from streaming.store.orders import OrderBook

PATH = "/api/v1/audit"
REDRIVES = "/api/v1/redrives"
POLICY = {"dlq_topics": ["dlq\\.t"], "include_existing": True, "reason": "flaky"}
Told = dict[str, Any]


@pytest.fixture
def clock(now_ms: int) -> list[int]:
    return [now_ms]


@pytest.fixture
def app(store_file: Path, local_token_file: Path, clock: list[int]) -> FastAPI:
    """The api at the time that ``clock`` shows."""
    settings = ApiSettings(store_url=f"sqlite:///{store_file}", local_token_file=local_token_file)
    return create_app(settings, now_ms=lambda: clock[0])


@pytest.fixture
def order(store: Engine, now_ms: int) -> str:
    request = OrderRequest.model_validate(
        {"dlq_topic": "dlq.t", "selection": {"all": True}, "dry_run": False, "reason": "mended"}
    )
    made = Order(
        id="a", request=request, requested_by="me", created_at_ms=now_ms, begin={0: 0}, cut_off={0: 9}
    )
    OrderBook(store).create(made, Plan(to_move=9).model_dump_json())
    return "a"


@pytest.fixture
def nobody(app: FastAPI) -> TestClient:
    """Who says nothing about who they are."""
    return TestClient(app, "http://127.0.0.1:8000", client=("127.0.0.1", 1), raise_server_exceptions=False)


def entries(client: httpx2.Client, **wanted: str) -> list[Told]:
    items: list[Told] = client.get(PATH, params=wanted).json()["items"]
    return items


@pytest.mark.usefixtures("order")
def test_a_change_is_kept_whole(client: httpx2.Client, me: str) -> None:
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
    made = client.post("/api/v1/redrive-policies", json=POLICY).json()
    client.delete(f"/api/v1/redrive-policies/{made['id']}")
    told = [(one["action"], one["subject"], one["why"], one["outcome"]) for one in entries(client)]
    assert told == [
        ("redrive-policies.delete", made["id"], "", "done"),
        ("redrive-policies.create", made["id"], "flaky", "done"),
    ]


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


@pytest.mark.parametrize(("request_line", "body", "told"), ATTEMPTS)
@pytest.mark.usefixtures("store")
def test_an_attempt_that_was_refused_is_kept(
    client: httpx2.Client, request_line: str, body: object, told: tuple[str, ...]
) -> None:
    client.request(*request_line.split(), json=body)
    (entry,) = entries(client)
    assert (entry["action"], entry["subject"], entry["outcome"]) == told


@pytest.mark.usefixtures("store")
def test_who_is_not_known_is_kept_with_the_id_of_the_token_that_was_sent(
    client: httpx2.Client, nobody: TestClient
) -> None:
    token = issue()
    nobody.post(f"{REDRIVES}/a/cancel", headers={"Authorization": f"Bearer {token.text}"})
    (entry,) = entries(client)
    assert (entry["who"], entry["role"], entry["token"]) == ("anonymous", None, token.id)
    assert entry["outcome"] == "401 unauthenticated"
    assert token.text not in json.dumps(entry)


@pytest.mark.usefixtures("store")
def test_attempts_are_bounded_and_what_was_left_out_is_told(
    store: Engine, client: httpx2.Client, nobody: TestClient, clock: list[int]
) -> None:
    for _ in range(MAX_REFUSED + 15):
        assert nobody.post(f"{REDRIVES}/a/cancel").status_code == 401
    with store.begin() as connection:
        assert len(audit.page(connection, Wanted(), None, 500)) == MAX_REFUSED
    clock[0] += 60_000
    nobody.post(f"{REDRIVES}/a/cancel")
    assert entries(client)[0]["outcome"].startswith("401 unauthenticated, and 15 attempts before it")


@pytest.mark.usefixtures("order")
def test_what_fails_is_kept_as_failed(app: FastAPI, client: httpx2.Client) -> None:
    def broken() -> None:
        raise RuntimeError("the inside")

    app.add_api_route("/broken", broken, methods=["POST"])
    assert client.post("/broken").status_code == 500
    (entry,) = entries(client)
    assert (entry["action"], entry["outcome"]) == ("broken.broken", "500")


@pytest.mark.usefixtures("order")
def test_a_deed_that_is_undone_is_kept_as_failed_and_not_as_done(
    app: FastAPI, store: Engine, client: httpx2.Client
) -> None:
    def undone(record: Auditing) -> None:
        with store.begin() as connection:
            record.witness("because")(connection, "a")
            raise StoreUnavailableError("the disk is full")

    app.add_api_route("/undone", undone, methods=["POST"])
    assert client.post("/undone").status_code == 503
    assert [one["outcome"] for one in entries(client)] == ["503 store-unavailable"]


@pytest.mark.usefixtures("store")
def test_showing_a_payload_is_kept_before_it_is_shown(app: FastAPI, client: httpx2.Client) -> None:
    def payload(record: Auditing) -> str:
        record.record(UNMASKED, "dlq.t/0/7", "ticket 12")
        return "secret"

    app.add_api_route("/payload", payload, dependencies=[Depends(require(Role.OPERATOR))])
    assert client.get("/payload").json() == "secret"
    (entry,) = entries(client, action=UNMASKED)
    assert (entry["subject"], entry["why"], entry["outcome"]) == ("dlq.t/0/7", "ticket 12", "done")


def test_a_payload_whose_showing_cannot_be_kept_is_not_shown(app: FastAPI, client: httpx2.Client) -> None:
    def payload(record: Auditing) -> str:
        record.record(UNMASKED, "dlq.t/0/7")
        return "secret"

    app.add_api_route("/payload", payload)
    answer = client.get("/payload")
    assert answer.status_code == 503
    assert "secret" not in answer.text


def test_an_attempt_that_cannot_be_kept_is_a_line_of_the_log(
    client: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        client.post(f"{REDRIVES}/a/cancel")
    assert "not kept in the audit: redrives.cancel a 503 store-unavailable by " in caplog.text


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.PAUSED])
def test_what_the_worker_makes_of_an_order_is_kept(
    client: httpx2.Client, store: Engine, order: str, status: Status
) -> None:
    claims = OrderClaims(store)
    claim = claims.claim("w", 0, 60_000)
    assert claim is not None
    claims.settle(claim, status, "orders-3 made no progress", 1)
    (entry,) = entries(client, who="redrive worker")
    assert (entry["action"], entry["subject"]) == (f"redrives.{status.lower()}", order)
    assert entry["why"] == "orders-3 made no progress"


@pytest.fixture
def many(store: Engine, now_ms: int) -> int:
    with store.begin() as connection:
        for number in range(1_203):
            who = "ann" if number % 2 else "bob"
            audit.write(
                connection,
                Entry(at_ms=now_ms + number, who=who, action="redrives.create", subject=str(number)),
            )
    return 1_203


def test_pages_and_export_hold_every_entry_once(client: httpx2.Client, many: int) -> None:
    seen: list[str] = []
    parameters: dict[str, str | int] = {"limit": 500}
    while True:
        told = client.get(PATH, params=parameters).json()
        seen += [one["subject"] for one in told["items"]]
        if told["next"] is None:
            break
        parameters["after"] = told["next"]
    answer = client.get(f"{PATH}/export")
    assert answer.headers["content-type"].startswith("application/jsonl")
    exported = [json.loads(line)["subject"] for line in answer.text.splitlines()]
    assert seen == exported == [str(number) for number in reversed(range(many))]


@pytest.mark.usefixtures("many")
def test_entries_are_chosen_by_who_and_when(client: httpx2.Client) -> None:
    wanted = {"who": "ann", "from": "2027-01-15T08:00:00.003Z", "to": "2027-01-15T08:00:00.006Z"}
    assert [one["subject"] for one in entries(client, **wanted)] == ["5", "3"]
    assert client.get(f"{PATH}/export", params=wanted).text.count("\n") == 2


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("after=xx", 400),
        ("after=WyJhIl0", 400),
        ("limit=0", 422),
        ("whom=ann", 422),
        ("from=noon", 422),
        ("who=%00", 422),
    ],
)
@pytest.mark.usefixtures("store")
def test_a_wrong_question_is_refused(client: httpx2.Client, query: str, status: int) -> None:
    assert client.get(f"{PATH}?{query}").status_code == status


@pytest.mark.usefixtures("many")
def test_retention_deletes_what_is_too_old(store: Engine, store_file: Path, now_ms: int) -> None:
    url = f"sqlite:///{store_file}"
    day_ms = 86_400_000
    retention = Retention(Writer(url, Store(url)), lambda: now_ms + 30 * day_ms + 1_200, days=30)
    assert retention.forget() == 1_200
    with store.begin() as connection:
        assert len(audit.page(connection, Wanted(), None, 500)) == 3
