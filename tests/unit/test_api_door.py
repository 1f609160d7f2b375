"""What comes to the door: bodies, headers, names of every kind; tokens, and where they must not turn up."""

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from api import credentials
from api.app import create_app
from api.auth import Role
from api.failures import MAX_FAILURES, WINDOW_MS, Failures
from api.settings import ApiSettings
from api.store import Store, Writer
from api.token_desk import FRESH_MS, TokenDesk
from streaming.store import tokens
from streaming.store.audit import unwitnessed

TOKENS = "/api/v1/tokens"
REDRIVES = "/api/v1/redrives"
PEPPER = "p" * 40
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def clock(now_ms: int) -> list[int]:
    return [now_ms]


@pytest.fixture
def url(store: Engine, store_file: Path) -> str:
    del store
    return f"sqlite:///{store_file}"


@pytest.fixture
def desk(url: str, clock: list[int]) -> Iterator[TokenDesk]:
    """The tokens, from another process."""
    reader = Store(url)
    made = TokenDesk(reader, Writer(url, reader), lambda: clock[0], PEPPER)
    yield made
    made.close()


@pytest.fixture
def admin(desk: TokenDesk) -> str:
    return desk.create("root", Role.ADMIN, 0, "root", unwitnessed)[1].text


@pytest.fixture
def public(url: str, clock: list[int]) -> Iterator[TestClient]:
    """The api as others reach it."""
    settings = ApiSettings.model_validate(
        {"store_url": url, "host": "0.0.0.0", "token_pepper": PEPPER, "max_body_bytes": 2_000}  # noqa: S104
    )
    app = create_app(settings, now_ms=lambda: clock[0])
    with TestClient(
        app, "https://deadwatch.example", client=("203.0.113.9", 1), raise_server_exceptions=False
    ) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def kind(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["type"].removeprefix("urn:deadwatch:problem:")


@given(st.binary(min_size=32, max_size=32))
def test_every_token_is_well_formed_and_a_mistyped_one_is_not(secret: bytes) -> None:
    del secret
    token = credentials.issue()
    assert credentials.parse(token.text) == token
    assert token.text not in repr(token)
    for at in (0, 5, 20, len(token.text) - 1):
        other = "0" if token.text[at] != "0" else "1"
        assert credentials.parse(token.text[:at] + other + token.text[at + 1 :]) is None


def test_a_token_is_shown_once_and_kept_as_a_digest(public: TestClient, admin: str, store_file: Path) -> None:
    body = {"name": "pipeline", "role": "operator", "expires_in_days": 30}
    made = public.post(TOKENS, json=body, headers=bearer(admin))
    assert made.status_code == 201
    token = made.json()["token"]
    assert (made.json()["created_by"], made.json()["expires_at"]) == ("root", "2027-02-14T08:00:00Z")
    me = public.get("/api/v1/me", headers=bearer(token)).json()
    assert me == {"name": "pipeline", "role": "operator", "token": made.json()["id"]}
    listed = public.get(TOKENS, headers=bearer(admin)).text
    secret = token.split("_")[2]
    assert secret not in listed
    written = b"".join(file.read_bytes() for file in store_file.parent.glob(f"{store_file.name}*"))
    assert secret.encode() not in written


def test_another_pepper_opens_nothing(url: str, admin: str) -> None:
    settings = ApiSettings.model_validate({"store_url": url, "token_pepper": "q" * 40})
    client = TestClient(create_app(settings), "http://127.0.0.1", client=("127.0.0.1", 1))
    assert kind(client.get("/api/v1/me", headers=bearer(admin))) == (401, "unauthenticated")


def test_a_token_that_is_revoked_elsewhere_opens_nothing_a_second_later(
    public: TestClient, desk: TokenDesk, admin: str, clock: list[int]
) -> None:
    assert public.get("/api/v1/me", headers=bearer(admin)).status_code == 200
    desk.revoke(admin[3:15], "ann", unwitnessed)
    clock[0] += FRESH_MS
    answer = public.get("/api/v1/me", headers=bearer(admin))
    assert kind(answer) == (401, "unauthenticated")
    assert "was revoked" in answer.json()["detail"]


def test_a_token_that_is_revoked_here_opens_nothing_at_once(public: TestClient, admin: str) -> None:
    other = public.post(TOKENS, json={"name": "b", "role": "viewer"}, headers=bearer(admin)).json()
    assert public.get("/api/v1/me", headers=bearer(other["token"])).status_code == 200
    assert public.delete(f"{TOKENS}/{other['id']}", headers=bearer(admin)).status_code == 204
    assert public.get("/api/v1/me", headers=bearer(other["token"])).status_code == 401
    told = {one["id"]: one for one in public.get(TOKENS, headers=bearer(admin)).json()["items"]}
    assert (told[other["id"]]["valid"], told[other["id"]]["revoked_by"]) == (False, "root")


def test_the_last_use_is_told_and_seldom_written(
    public: TestClient, admin: str, store: Engine, clock: list[int]
) -> None:
    def used() -> int:
        with store.begin() as connection:
            found = tokens.find(connection, admin[3:15])
        return found.used_at_ms if found else 0

    first = clock[0]
    for _ in range(3):
        public.get("/api/v1/me", headers=bearer(admin))
        clock[0] += 1_000
    deadline_s = time.monotonic() + 60
    while not used() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert used() == first


def test_pages_of_tokens_hold_every_one_once(public: TestClient, desk: TokenDesk, admin: str) -> None:
    for number in range(4):
        desk.create(f"t{number}", Role.VIEWER, 0, "root", unwitnessed)
    first = public.get(f"{TOKENS}?limit=3", headers=bearer(admin)).json()
    rest = public.get(f"{TOKENS}?limit=3&after={first['next']}", headers=bearer(admin)).json()
    assert {one["name"] for one in (*first["items"], *rest["items"])} == {"root", "t0", "t1", "t2", "t3"}
    assert rest["next"] is None


def test_after_too_many_failures_the_answer_is_to_come_again_but_not_to_who_has_a_token(
    public: TestClient, admin: str, clock: list[int]
) -> None:
    told = [
        kind(public.get("/api/v1/me", headers=bearer(credentials.issue().text)))
        for _ in range(MAX_FAILURES + 2)
    ]
    assert told == [(401, "unauthenticated")] * MAX_FAILURES + [(429, "too-many-failures")] * 2
    refused = public.get("/api/v1/me", headers=bearer("hunter2"))
    assert refused.headers["retry-after"] == "60"
    assert public.get("/api/v1/me", headers=bearer(admin)).status_code == 200
    clock[0] += WINDOW_MS
    assert kind(public.get("/api/v1/me", headers=bearer("hunter2"))) == (401, "unauthenticated")


def test_failures_take_bounded_memory_and_a_network_of_ipv6_is_one_address() -> None:
    failures = Failures(lambda: 0, maximum=1)
    assert failures.failed("2001:db8::1") == 0
    assert failures.failed("2001:db8::2") == 60
    assert failures.failed("2001:db8:0:1::2") == 0
    for number in range(12_000):
        failures.failed(f"10.{number // 65_536}.{number // 256 % 256}.{number % 256}")
    assert len(failures._windows) == 10_000


BODIES: dict[str, tuple[dict[str, str], bytes, tuple[int, str]]] = {
    "too large": (JSON, b'{"name": "' + b"x" * 3_000 + b'"}', (413, "content-too-large")),
    "a form": (
        {"Content-Type": "application/x-www-form-urlencoded"},
        b"name=eve&role=admin",
        (415, "unsupported-media-type"),
    ),
    "text, as a page of a foreign site may send it": (
        {"Content-Type": "text/plain"},
        b'{"name": "eve", "role": "admin"}',
        (415, "unsupported-media-type"),
    ),
    "of no kind": ({}, b'{"name": "eve", "role": "admin"}', (415, "unsupported-media-type")),
    "no JSON": (JSON, b"{", (422, "invalid-request")),
    "no UTF-8": (JSON, b'{"name": "\xff"}', (400, "bad-request")),
    "nothing": (JSON, b"", (422, "invalid-request")),
    "a list": (JSON, b"[]", (422, "invalid-request")),
    "very deep": (JSON, b"[" * 1_900, (400, "bad-request")),
    "an unknown field": (JSON, b'{"name": "a", "role": "admin", "admin": true}', (422, "invalid-request")),
    "a role that is none": (JSON, b'{"name": "a", "role": "root"}', (422, "invalid-request")),
    "a name of two lines": (JSON, b'{"name": "a\\r\\nb", "role": "viewer"}', (422, "invalid-request")),
    "a name in colours": (JSON, b'{"name": "\\u001b[31ma", "role": "viewer"}', (422, "invalid-request")),
    "a name from right to left": (JSON, b'{"name": "\\u202ea", "role": "viewer"}', (422, "invalid-request")),
    "no name": (JSON, b'{"name": "  ", "role": "viewer"}', (422, "invalid-request")),
    "for ever and a day": (
        JSON,
        b'{"name": "a", "role": "viewer", "expires_in_days": 1e99}',
        (422, "invalid-request"),
    ),
}


@pytest.mark.parametrize(("headers", "body", "told"), BODIES.values(), ids=BODIES)
def test_a_body_that_is_wrong_is_one_clear_problem(
    public: TestClient, admin: str, headers: dict[str, str], body: bytes, told: tuple[int, str]
) -> None:
    answer = public.post(TOKENS, content=body, headers={**bearer(admin), **headers})
    assert kind(answer) == told
    assert len(answer.text) < 2_000, "it repeats what was sent"


@pytest.mark.parametrize(("headers", "body", "told"), BODIES.values(), ids=BODIES)
def test_who_may_not_send_a_body_is_told_nothing_of_what_is_wrong_with_it(
    public: TestClient, headers: dict[str, str], body: bytes, told: tuple[int, str]
) -> None:
    answer = public.post(TOKENS, content=body, headers=headers)
    assert kind(answer) == (told if told[0] == 413 else (401, "unauthenticated"))


def test_a_body_of_unknown_length_is_cut_at_the_same_size(public: TestClient, admin: str) -> None:
    def parts() -> Iterator[bytes]:
        yield b'{"name": "'
        for _ in range(100):
            yield b"x" * 100

    answer = public.post(TOKENS, content=parts(), headers={**bearer(admin), **JSON})
    assert kind(answer) == (413, "content-too-large")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("shift-3.a_B", True),
        ("x" * 64, True),
        ("x" * 65, False),
        ("", False),
        ("a b", False),
        ("a\u001b[31m", False),
        ("../../etc", False),
    ],
)
def test_the_name_of_a_request_is_ours_unless_it_is_plain(
    client: httpx2.Client, sent: str, kept: bool
) -> None:
    answer = client.get("/livez", headers={"X-Request-Id": sent})
    assert (answer.headers["x-request-id"] == sent) is kept
    assert answer.headers["x-request-id"].isprintable()


@pytest.mark.parametrize("path", ["/livez", "/metrics", "/api/v1/overview", "/nothing", "/openapi.json"])
def test_every_answer_tells_browsers_to_be_careful(client: httpx2.Client, path: str) -> None:
    headers = client.get(path).headers
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert "server" not in headers
    assert "access-control-allow-origin" not in headers


def test_no_other_site_is_let_in_by_a_browser(client: httpx2.Client) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer = client.request("OPTIONS", REDRIVES, headers=asked)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_token_turns_up_in_no_log_no_problem_and_no_audit(
    public: TestClient, admin: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = credentials.issue().text
    told = [
        public.post(TOKENS, json={"name": "b", "role": "viewer"}, headers=bearer(wrong)).text,
        public.get(f"/api/v1/{wrong}", headers=bearer(admin)).headers.get("location", ""),
        public.get("/api/v1/audit", headers=bearer(admin)).text,
        public.get("/api/v1/me", headers={"Authorization": wrong}).text,
        public.get("/api/v1/me", headers={"Authorization": f"Basic {admin}"}).text,
    ]
    lines = [record.getMessage() for record in caplog.records if not record.name.startswith("httpx")]
    for token in (admin, wrong):
        secret = token.split("_")[2]
        assert not [text for text in (*told, *lines) if secret in text]


def test_what_is_sent_in_vain_does_not_break_a_line_of_the_log(
    app: FastAPI, client: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(name: str) -> None:
        raise RuntimeError(name)

    app.add_api_route("/broken/{name}", broken)
    caplog.set_level(logging.ERROR)
    client.get("/broken/a%0d%0a2027%20ERROR%20all%20is%20lost")
    (line,) = [record.getMessage() for record in caplog.records if record.name == "api.problems"]
    assert line.isprintable()


def test_the_openapi_document_says_how_one_says_who_one_is(client: httpx2.Client) -> None:
    document: dict[str, Any] = json.loads(client.get("/openapi.json").text)
    schemes = document["components"]["securitySchemes"]
    assert [(one["type"], one["scheme"]) for one in schemes.values()] == [("http", "bearer")]
    (name,) = schemes
    post = document["paths"][REDRIVES]["post"]
    assert {name: []} in post["security"]
    assert {"401", "403", "413", "415", "429"} <= set(post["responses"])
    assert "security" not in document["paths"]["/livez"]["get"]
