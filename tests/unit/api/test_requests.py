"""What reaches the door: bodies, headers, ids of every kind; tokens, and where they must not turn up."""

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import Connection, Engine

from api.app import create_app
from api.auth.authenticator import MAX_FAILURES
from api.auth.credentials import issue, parse
from api.auth.limits import WINDOW_MS
from api.auth.role import Role
from api.auth.tokens import FRESH_MS, TokenService
from api.errors import UnauthenticatedError
from api.settings import ApiSettings
from api.store import Store, Writer
from deadwatch.store.write import tokens
from deadwatch.store.write.audit import unwitnessed
from tests.caller import Caller
from tests.unit.api.answers import pages, problem
from tests.waiting import until

TOKENS, ME = "/api/v1/tokens", "/api/v1/me"
PEPPER = "p" * 40
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def clock(now_ms: int) -> list[int]:
    return [now_ms]


@pytest.fixture
def elsewhere(store_url: str, clock: list[int]) -> Iterator[TokenService]:
    """The token service of another process."""
    reader = Store(store_url)
    with closing(TokenService(reader, Writer(store_url, reader), lambda: clock[0], PEPPER)) as service:
        yield service


@pytest.fixture
def admin(elsewhere: TokenService) -> str:
    return elsewhere.create("root", Role.ADMIN, 0, "root", unwitnessed)[1].text


@pytest.fixture
def public(store_url: str, clock: list[int]) -> Iterator[Caller]:
    """The api as others reach it."""
    settings = ApiSettings.model_validate(
        {"store_url": store_url, "host": "0.0.0.0", "token_pepper": PEPPER, "max_body_bytes": 2_000}  # noqa: S104
    )
    app = create_app(settings, now_ms=lambda: clock[0])
    with Caller(app, "https://deadwatch.example", peer="203.0.113.9", raising=False) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_every_token_is_well_formed_and_a_mistyped_one_is_not() -> None:
    for token in (issue() for _ in range(30)):
        assert parse(token.text) == token
        assert token.text not in repr(token)
        for at in (0, 5, 20, len(token.text) - 1):
            other = "0" if token.text[at] != "0" else "1"
            assert parse(token.text[:at] + other + token.text[at + 1 :]) is None


def test_a_token_is_shown_once_and_stored_as_a_digest(public: Caller, admin: str, store_file: Path) -> None:
    body = {"name": "pipeline", "role": "operator", "expires_in_days": 30}
    created = public.post(TOKENS, json=body, headers=bearer(admin))
    assert created.status_code == 201
    token = created.json()["token"]
    assert (created.json()["created_by"], created.json()["expires_at"]) == ("root", "2027-02-14T08:00:00Z")
    me = public.get(ME, headers=bearer(token)).json()
    assert me == {"name": "pipeline", "role": "operator", "token": created.json()["id"]}
    listed = public.get(TOKENS, headers=bearer(admin)).text
    secret = token.split("_")[2]
    assert "pipeline" in listed
    assert secret not in listed
    written = b"".join(file.read_bytes() for file in store_file.parent.glob(f"{store_file.name}*"))
    assert b"pipeline" in written
    assert secret.encode() not in written


def test_another_pepper_opens_nothing(store_url: str, admin: str) -> None:
    settings = ApiSettings.model_validate({"store_url": store_url, "token_pepper": "q" * 40})
    client = Caller(create_app(settings), "http://127.0.0.1")
    assert problem(client.get(ME, headers=bearer(admin))) == "401 unauthenticated"


def test_a_revoked_token_opens_nothing_here_at_once_and_elsewhere_a_second_later(
    public: Caller, elsewhere: TokenService, admin: str, clock: list[int]
) -> None:
    other = public.post(TOKENS, json={"name": "b", "role": "viewer"}, headers=bearer(admin)).json()
    assert public.get(ME, headers=bearer(other["token"])).status_code == 200
    assert public.delete(f"{TOKENS}/{other['id']}", headers=bearer(admin)).status_code == 204
    assert public.get(ME, headers=bearer(other["token"])).status_code == 401
    listed = {token["id"]: token for token in public.get(TOKENS, headers=bearer(admin)).json()["items"]}
    assert (listed[other["id"]]["valid"], listed[other["id"]]["revoked_by"]) == (False, "root")
    elsewhere.revoke(admin[3:15], "ann", unwitnessed)
    clock[0] += FRESH_MS
    answer = public.get(ME, headers=bearer(admin))
    assert problem(answer) == "401 unauthenticated"
    assert "was revoked" in answer.json()["detail"]


def test_a_token_that_is_revoked_while_it_is_looked_up_opens_nothing_from_then_on(
    elsewhere: TokenService, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, credential = elsewhere.create("b", Role.VIEWER, 0, "root", unwitnessed)
    find = tokens.find

    def overtaken(connection: Connection, name: str) -> tokens.Token | None:
        found = find(connection, name)
        monkeypatch.setattr(tokens, "find", find)
        elsewhere.revoke(name, "root", unwitnessed)
        return found

    monkeypatch.setattr(tokens, "find", overtaken)
    assert elsewhere.caller(credential).token == token.id, "it was valid when it was asked for"
    with pytest.raises(UnauthenticatedError, match="was revoked"):
        elsewhere.caller(credential)


def test_the_last_use_is_shown_and_seldom_written(
    public: Caller, admin: str, store: Engine, clock: list[int]
) -> None:
    def used() -> int:
        with store.begin() as connection:
            found = tokens.find(connection, admin[3:15])
        return found.used_at_ms if found else 0

    first = clock[0]
    for _ in range(3):
        public.get(ME, headers=bearer(admin))
        clock[0] += 1_000
    until(used, "the last use of the token in the store")
    assert used() == first


def test_pages_of_tokens_hold_each_of_them_once(public: Caller, elsewhere: TokenService, admin: str) -> None:
    for number in range(4):
        elsewhere.create(f"t{number}", Role.VIEWER, 0, "root", unwitnessed)
    public.headers.update(bearer(admin))
    first, rest = pages(public, TOKENS, 3)
    assert sorted(str(token["name"]) for token in (*first, *rest)) == ["root", "t0", "t1", "t2", "t3"]


def test_after_too_many_failures_the_answer_is_to_come_again_but_not_to_who_has_a_token(
    public: Caller, admin: str, clock: list[int]
) -> None:
    answers = [problem(public.get(ME, headers=bearer(issue().text))) for _ in range(MAX_FAILURES + 2)]
    assert answers == ["401 unauthenticated"] * MAX_FAILURES + ["429 too-many-failures"] * 2
    assert public.get(ME, headers=bearer("hunter2")).headers["retry-after"] == "60"
    assert public.get(ME, headers=bearer(admin)).status_code == 200
    clock[0] += WINDOW_MS
    assert problem(public.get(ME, headers=bearer("hunter2"))) == "401 unauthenticated"


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TEXT = {"Content-Type": "text/plain"}
INVALID, BAD, NO_JSON = "422 invalid-request", "400 bad-request", "415 unsupported-media-type"
TOO_LARGE = "413 content-too-large"
BODIES: dict[str, tuple[dict[str, str], bytes, str]] = {
    "too large": (JSON, b'{"name": "' + b"x" * 3_000 + b'"}', TOO_LARGE),
    "a form": (FORM, b"name=eve&role=admin", NO_JSON),
    "text, as a page of a foreign site may send it": (TEXT, b'{"name": "eve", "role": "admin"}', NO_JSON),
    "of no kind": ({}, b'{"name": "eve", "role": "admin"}', NO_JSON),
    "no JSON": (JSON, b"{", INVALID),
    "no UTF-8": (JSON, b'{"name": "\xff"}', BAD),
    "nothing": (JSON, b"", INVALID),
    "a list": (JSON, b"[]", INVALID),
    "very deep": (JSON, b"[" * 1_900, BAD),
    "an unknown field": (JSON, b'{"name": "a", "role": "admin", "admin": true}', INVALID),
    "a role that is none": (JSON, b'{"name": "a", "role": "root"}', INVALID),
    "a name of two lines": (JSON, b'{"name": "a\\r\\nb", "role": "viewer"}', INVALID),
    "a name in colours": (JSON, b'{"name": "\\u001b[31ma", "role": "viewer"}', INVALID),
    "a name from right to left": (JSON, b'{"name": "\\u202ea", "role": "viewer"}', INVALID),
    "no name": (JSON, b'{"name": "  ", "role": "viewer"}', INVALID),
    "for ever and a day": (JSON, b'{"name": "a", "role": "viewer", "expires_in_days": 1e99}', INVALID),
}


def test_a_wrong_body_is_one_clear_problem_and_who_may_not_send_one_learns_nothing_of_it(
    public: Caller, admin: str
) -> None:
    for name, (headers, body, expected) in BODIES.items():
        answer = public.post(TOKENS, content=body, headers={**bearer(admin), **headers})
        assert problem(answer) == expected, name
        assert len(answer.text) < 2_000, f"{name}: it repeats what was sent"
        answer = public.post(TOKENS, content=body, headers=headers)
        assert problem(answer) == (expected if expected == TOO_LARGE else "401 unauthenticated"), name


def test_a_body_of_unknown_length_is_cut_at_the_same_size(public: Caller, admin: str) -> None:
    parts = (b"x" * 100 for _ in range(100))
    assert problem(public.post(TOKENS, content=parts, headers={**bearer(admin), **JSON})) == TOO_LARGE


def test_the_id_of_a_request_is_ours_unless_the_client_s_is_plain(client: httpx2.Client) -> None:
    plain = ["shift-3.a_B", "x" * 64]
    for sent in (*plain, "x" * 65, "", "a b", "a\u001b[31m", "../../etc"):
        answer = client.get("/livez", headers={"X-Request-Id": sent})
        assert (answer.headers["x-request-id"] == sent) is (sent in plain), sent
        assert answer.headers["x-request-id"].isprintable()


@pytest.mark.parametrize(
    "path", ["/livez", "/metrics", "/api/v1/overview", "/nothing", "/", "/openapi.json", "/docs"]
)
def test_every_answer_tells_browsers_and_caches_to_be_careful(client: httpx2.Client, path: str) -> None:
    headers = client.get(path, headers={"Origin": "https://elsewhere.example"}).headers
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")
    if path != "/docs":
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert "server" not in headers
    assert not [name for name in headers if name.startswith("access-control")]


def test_no_other_site_is_let_in_by_a_browser(client: httpx2.Client) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer = client.request("OPTIONS", "/api/v1/redrives", headers=asked)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_token_turns_up_in_no_log_no_problem_and_no_audit(
    public: Caller, admin: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = issue().text
    answers = [
        public.post(TOKENS, json={"name": "b", "role": "viewer"}, headers=bearer(wrong)).text,
        public.get(f"/api/v1/{wrong}", headers=bearer(admin)).headers.get("location", ""),
        public.get("/api/v1/audit", headers=bearer(admin)).text,
        public.get(ME, headers={"Authorization": wrong}).text,
        public.get(ME, headers={"Authorization": f"Basic {admin}"}).text,
    ]
    assert "tokens.create" in answers[2]
    lines = [record.getMessage() for record in caplog.records if not record.name.startswith("httpx")]
    for token in (admin, wrong):
        secret = token.split("_")[2]
        assert not [text for text in (*answers, *lines) if secret in text]
