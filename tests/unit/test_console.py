"""The console's pages as a browser gets them, without one: what they hold, who may what, what is refused."""

import re
import time
from collections.abc import Callable, Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient
from pydantic import SecretStr
from sqlalchemy import Engine
from starlette.routing import Mount

from api.app import create_app
from api.auth import Role
from api.console.headers import POLICY
from api.console.sessions import COOKIE, MAX_AGE_S, Sessions
from api.settings import ApiSettings
from streaming.store import schema
from tests import console_store
from tests.unit.console_visit import Console, visiting

PAGES = (
    "/",
    "/groups",
    "/groups?state=archived&order=records",
    "/topics",
    "/redrives",
    "/policies",
    "/parked",
    "/tasks",
    "/delivery-timeouts",
    "/findings",
    "/health",
    "/settings",
)
TO_ACT = ("/redrives/new", "/policies/new", "/audit", "/health/checks")
FILLED = (
    f"/groups/{console_store.MAIN_GROUP}",
    f"/groups/{console_store.HOSTILE_GROUP}",
    f"/redrives/{console_store.RUNNING}",
    f"/redrives/{console_store.DONE}",
    f"/redrives/{console_store.DRY}",
    f"/policies/{console_store.POLICY}",
)
Add = Callable[..., None]
PEPPER = SecretStr("p" * 32)
PLACES = {"token": "0" * 12, "topic": "dlq.t"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def console(app: FastAPI) -> Iterator[Console]:
    """Nobody in particular, on this machine."""
    with visiting(app) as visit:
        yield visit


@pytest.fixture
def filled(store: Engine, now_ms: int) -> None:
    console_store.fill(store, now_ms)


@pytest.fixture
def issued(app: FastAPI, store: Engine) -> Callable[[Role], str]:
    """A token of the store with a role."""
    del store

    def issue(role: Role) -> str:
        _, credential = app.state.service.desk.create(f"ann the {role}", role, 0, "test", lambda *_: None)
        return str(credential.text)

    return issue


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.usefixtures("store")
def test_an_empty_store_has_pages_that_teach(console: Console, path: str) -> None:
    answer = console.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("path", [*PAGES, *FILLED])
def test_pages_hold_no_script_and_no_style_of_their_own(console: Console, path: str) -> None:
    for tag, attributes in _elements(console.get(path).text):
        assert tag != "style"
        assert tag != "script" or attributes["src"]
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        for name in ("src", "href", "action", "hx-get"):
            assert attributes.get(name, "#").startswith(("/console/", "#"))


@pytest.mark.parametrize("path", PAGES)
def test_without_a_store_a_page_says_what_to_do(console: Console, path: str) -> None:
    answer = console.get(path)
    if path != "/settings":
        assert answer.status_code == 503
        assert "streaming makes it at its first start" in answer.text


def test_what_is_not_there_is_a_page(console: Console, store: Engine) -> None:
    del store
    assert console.get("/nothing").status_code == 404
    unknown = console.get("/groups/ffff")
    assert (unknown.status_code, "fingerprint" in unknown.text) == (404, True)
    assert console.get("/groups?order=sideways").status_code == 422


@pytest.mark.usefixtures("filled")
def test_the_overview_tells_what_is_wrong_now(console: Console) -> None:
    text = _words(console.get("/").text)
    assert "6 signals need attention" in text
    assert "Abandoned tasks 1 now" in text
    assert "Stalled tasks 1 now" in text
    assert "connect:10.0.0.8:8083 down connection refused" in text
    assert "CurrencyMismatchException on dlq.payments" in text


@pytest.mark.usefixtures("filled")
def test_groups_are_filtered_by_the_filter_language(console: Console) -> None:
    found = console.get('/groups?filter=error_class.endsWith("DataException")').text
    assert "DataException" in found
    assert "CurrencyMismatchException" not in found
    broken = console.get("/groups?filter=ataempts+<+3")
    assert broken.status_code == 422
    assert "did you mean attempts?" in broken.text
    own = console.get("/groups/check?filter=attempts+<+3").text
    assert "differs from record to record" in own
    literal = console.get('/groups/check?filter=message.contains("the value of key")').text
    assert _words(literal) == ""


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("state", "first"),
    [
        ("new", "CurrencyMismatchException"),
        ("growing", "DataException"),
        ("quiet", "RejectedRecordException"),
    ],
)
def test_groups_by_how_they_get_on(console: Console, state: str, first: str) -> None:
    found = re.findall(
        r'data-row href="/console/groups/[0-9a-z]+"[^>]*>([^<]+)<', console.get(f"/groups?state={state}").text
    )
    assert found[0] == first


@pytest.mark.usefixtures("filled")
def test_texts_of_others_are_inert(console: Console) -> None:
    for path in ("/groups", f"/groups/{console_store.HOSTILE_GROUP}"):
        text = console.get(path).text
        assert "<script>document" not in text
        assert "<img" not in text
        assert "\u202e" not in text
        assert "\x1b" not in text
        assert "⟨U+202E⟩" in text
        assert len(text) < 200_000, "a megabyte of a header is cut"


@pytest.mark.usefixtures("filled")
def test_a_stack_trace_is_folded_and_own_frames_are_marked(console: Console) -> None:
    text = console.get(f"/groups/{console_store.MAIN_GROUP}").text
    (own, *_) = re.findall(r'<pre class="own">(.*?)</pre>', text, re.DOTALL)
    assert own.strip() == "at com.example.orders.PriceTransform.apply(PriceTransform.java:42)"
    assert "<summary>2 frames of libraries</summary>" in text
    assert "deadwatch redrive dlq.orders --group" in text
    row = re.search(r"<th scope=\"row\"><code>tenant</code></th>(.*?)</tr>", text, re.DOTALL)
    assert row, "what differs is told"
    told = re.findall(r"masked, value (\d)", row[1])
    assert len(told) > 1
    assert len(set(told)) > 1, "and how, without the values"
    assert "globex" not in text


@pytest.mark.usefixtures("filled")
def test_who_may_only_look_is_offered_nothing_to_do(console: Console, issued: Callable[[Role], str]) -> None:
    order = f"/redrives/{console_store.RUNNING}"
    for token in (None, issued(Role.VIEWER)):
        if token:
            assert console.sign_in(token).status_code == 303
        assert "/cancel" not in console.get(order).text
        assert "Redrive…" not in console.get(f"/groups/{console_store.MAIN_GROUP}").text
        assert "/console/tokens" not in console.get("/").text
    assert console.get("/redrives/new").status_code == 403
    assert console.post(f"{order}/cancel").status_code == 403


@pytest.mark.usefixtures("filled")
def test_an_operator_acts_and_the_audit_tells_it(console: Console, issued: Callable[[Role], str]) -> None:
    console.sign_in(issued(Role.OPERATOR))
    order, group = f"/redrives/{console_store.RUNNING}", f"/groups/{console_store.MAIN_GROUP}"
    csrf = console.token(order)
    for act, status in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        assert console.post(f"{order}/{act}", csrf=csrf).headers["location"] == f"/console{order}"
        assert f"> {status}<" in console.get(order).text.replace('">', "> ")
    csrf = console.token(group)
    assert (
        console.post(f"{group}/note", csrf=csrf, owner="team a", comment="c", version="0").status_code == 303
    )
    overtaken = console.post(f"{group}/note", csrf=csrf, owner="team b", version="0")
    assert overtaken.status_code == 412
    assert console.post(f"{group}/archive", csrf=csrf, reason="mended").status_code == 303
    assert "DataException" in console.get("/groups?state=archived").text
    audit = _words(console.get("/audit").text)
    for action in ("redrives.pause", "redrives.cancel", "archive"):
        assert action in audit
    assert "ann the operator" in audit
    assert console.get("/tokens").status_code == 403


@pytest.mark.usefixtures("filled")
def test_an_admin_makes_a_token_and_revokes_it(console: Console, issued: Callable[[Role], str]) -> None:
    console.sign_in(issued(Role.ADMIN))
    csrf = console.token("/tokens")
    made = console.post("/tokens", csrf=csrf, name="pipeline", role="viewer", days="30").text
    text = re.search(r"dw_([0-9a-f]{12})_\w+", made)
    assert text
    assert text[0] not in console.get("/tokens").text, "it is shown once"
    assert console.post(f"/tokens/{text[1]}/revoke", csrf=csrf).status_code == 303
    assert "revoked by ann the admin" in _words(console.get("/tokens").text)
    assert console.post("/tokens", csrf=csrf, name="", role="king", days="30").status_code == 422


def test_a_change_needs_the_pages_own_token(
    console: Console, issued: Callable[[Role], str], filled: None
) -> None:
    del filled
    console.sign_in(issued(Role.OPERATOR))
    path = f"/console/redrives/{console_store.RUNNING}/cancel"
    csrf = console.token(f"/redrives/{console_store.RUNNING}")
    refused = [
        console.client.post(path, data={"order": "mine"}),
        console.client.post(path, data={"csrf": "0" * 64}),
        console.client.post(path, data={"csrf": csrf}, headers={"Origin": "http://evil.example"}),
        console.client.post(path, data={"csrf": csrf}, headers={"Sec-Fetch-Site": "cross-site"}),
        console.client.post(path, data={"csrf": csrf}, headers={"Sec-Fetch-Site": "same-site"}),
    ]
    assert [answer.status_code for answer in refused] == [403] * len(refused)
    assert console.client.post(path, json={"csrf": csrf}).status_code == 400
    assert console.client.post(path, content="csrf=" + "x" * 600_000, headers=FORM).status_code == 400
    assert "/cancel" in console.get(f"/redrives/{console_store.RUNNING}").text, "it still runs"
    assert console.client.post(path, data={"csrf": csrf}).status_code == 303


def test_no_page_of_a_foreign_site_gets_the_session(console: Console, issued: Callable[[Role], str]) -> None:
    answer = console.sign_in(issued(Role.VIEWER))
    (cookie,) = [one for one in answer.headers.get_list("set-cookie") if one.startswith(COOKIE)]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert "dw_" not in cookie


def test_signing_in_changes_the_form_token(console: Console, issued: Callable[[Role], str]) -> None:
    before = console.token()
    console.sign_in(issued(Role.VIEWER))
    assert console.token() != before


@pytest.mark.parametrize(
    "place", ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nSet-Cookie: b=c", "groups"]
)
def test_nobody_is_sent_away_after_signing_in(
    console: Console, issued: Callable[[Role], str], place: str
) -> None:
    assert console.sign_in(issued(Role.VIEWER), place).headers["location"] == "/console/"


def test_a_revoked_token_ends_the_session_and_the_place_is_kept(
    app: FastAPI, console: Console, issued: Callable[[Role], str]
) -> None:
    token = issued(Role.OPERATOR)
    assert console.sign_in(token, "/groups?state=new").headers["location"] == "/console/groups?state=new"
    app.state.service.desk.revoke(token.split("_")[1], "test", lambda *_: None)
    sent = console.get("/groups?state=new&order=records")
    assert sent.status_code == 303
    assert sent.headers["location"].startswith(
        "/console/sign-in?next=%2Fgroups%3Fstate%3Dnew%26order%3Drecords"
    )
    assert "the session has ended" in console.client.get(sent.headers["location"]).text
    assert COOKIE not in console.client.cookies


@pytest.mark.parametrize(
    ("path", "headers"),
    [("/live", {"Accept": "text/event-stream"}), ("/redrives", {"HX-Request": "true"})],
)
def test_a_part_of_a_page_does_not_end_the_session_for_the_page(
    app: FastAPI,
    console: Console,
    issued: Callable[[Role], str],
    path: str,
    headers: dict[str, str],
) -> None:
    """Else the page would go on as nobody's, where nobody in particular may read."""
    token = issued(Role.OPERATOR)
    console.sign_in(token)
    app.state.service.desk.revoke(token.split("_")[1], "test", lambda *_: None)
    part = console.client.get(f"/console{path}", headers=headers)
    assert part.status_code == 401
    assert COOKIE in console.client.cookies
    assert console.get("/redrives").headers["location"].endswith("ended=1")


def test_a_wrong_token_is_told_at_its_field(console: Console, store: Engine) -> None:
    del store
    answer = console.sign_in("dw_nonsense")
    assert answer.status_code == 401
    assert 'aria-invalid="true"' in answer.text
    assert COOKIE not in console.client.cookies


def test_a_session_opens_nothing_when_changed_old_or_of_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions("p" * 32)
    sealed = sessions.seal("dw_token")
    assert Sessions("p" * 32).open(sealed) == "dw_token", "any api with the pepper opens it"
    assert Sessions("q" * 32).open(sealed) == ""
    assert Sessions("").open(sealed) == ""
    assert sessions.open(sealed[:-2]) == ""
    assert sessions.open("ü") == ""
    assert sessions.seal("t" * 5_000) == "", "no browser keeps so long a cookie"
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + MAX_AGE_S + 1)
    assert sessions.open(sealed) == ""


def test_the_dry_run_sheet_tells_what_is_missing_beside_its_field(
    console: Console, issued: Callable[[Role], str]
) -> None:
    console.sign_in(issued(Role.OPERATOR))
    csrf = console.token("/redrives/new")
    answer = console.post("/redrives/new", csrf=csrf, select="group", target="topic", max_records="many")
    assert answer.status_code == 422
    for name in ("dlq_topic", "group", "target_topic", "reason"):
        assert f'id="{name}-problem"' in answer.text
    fields = {"dlq_topic": "dlq.a", "select": "all", "target": "origin", "reason": "r"}
    wrong = console.post("/redrives/new", csrf=csrf, **fields, max_records="many")
    assert 'id="max_records-problem"' in wrong.text
    assert 'id="again" name="again" value="yes">' in wrong.text
    ticked = console.post("/redrives/new", csrf=csrf, **fields, max_records="many", again="yes")
    assert 'id="again" name="again" value="yes" checked>' in ticked.text


@pytest.mark.usefixtures("filled")
def test_a_dry_run_is_carried_out_with_its_own_number_only(
    console: Console, issued: Callable[[Role], str]
) -> None:
    console.sign_in(issued(Role.OPERATOR))
    dry = f"/redrives/{console_store.DRY}"
    assert "Type 20100 to confirm" in console.get(dry).text
    refused = console.post(f"{dry}/start", csrf=console.token(dry), confirm="20")
    assert (refused.status_code, "nothing was moved" in refused.text) == (422, True)


@pytest.mark.usefixtures("store")
def test_away_from_this_machine_every_page_asks_who_one_is(store_file: Path) -> None:
    settings = ApiSettings(store_url=f"sqlite:///{store_file}", host="0.0.0.0", token_pepper=PEPPER)  # noqa: S104 -- nothing listens
    app = create_app(settings)
    (mounted,) = [one for one in app.routes if isinstance(one, Mount) and one.path == "/console"]
    open_to_all = {
        "GET /console/sign-in",
        "GET /console/sign-in/oidc",
        "GET /console/sign-in/oidc/back",
        "POST /console/sign-in",
        "POST /console/sign-out",
    }
    asked = 0
    with TestClient(app, "http://deadwatch.example", follow_redirects=False) as client:
        for route in iter_route_contexts(mounted.routes):
            for method in (route.methods or set()) - {"HEAD"}:
                path = "/console" + re.sub(r"{(\w+)}", lambda name: PLACES.get(name[1], "0"), str(route.path))
                if f"{method} {path}" in open_to_all:
                    continue
                answer = client.request(method, path, headers=FORM if method == "POST" else {})
                wanted = 303 if method == "GET" else 401
                assert answer.status_code == wanted, f"{method} {path}"
                assert method == "POST" or answer.headers["location"].startswith("/console/sign-in?")
                asked += 1
    assert asked > 25, "the pages were found"


def test_static_files_are_kept_and_pages_are_not(console: Console) -> None:
    answer = console.get("/static/console.css")
    assert "immutable" in answer.headers["cache-control"]
    assert console.get("/static/../app.py").status_code == 404


def test_many_causes_come_in_pages(console: Console, store: Engine, now_ms: int) -> None:
    console_store.many_groups(store, 120, now_ms)
    seen: list[str] = []
    path: str | None = "/groups?order=records"
    while path:
        text = console.get(path).text
        seen += re.findall(r'data-row href="/console/groups/([0-9a-f]+)"', text)
        following = re.search(r'rel="next" href="/console([^"]+)"', text)
        path = unescape(following[1]) if following else None
    assert len(seen) == len(set(seen)) == 120


@pytest.mark.usefixtures("store")
def test_a_search_that_finds_little_goes_on_where_it_stopped(
    console: Console, add_row: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.group_lists.BATCH", 10)
    monkeypatch.setattr("api.group_lists.LOOKED_AT_MOST", 20)
    for number in range(50):
        add_row(
            schema.groups, fingerprint=f"f{number:02}", error_class="A" if number else "B", last_ms=number
        )
    text = console.get('/groups?filter=error_class+==+"B"').text
    assert "20 causes were looked at" in text
    following = re.search(r'rel="next" href="/console([^"]+)"', text)
    assert following
    again = re.search(r'rel="next" href="/console([^"]+)"', console.get(unescape(following[1])).text)
    assert again
    assert "/groups/f00" in console.get(unescape(again[1])).text


class Elements(HTMLParser):
    """What a browser makes elements of."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def _elements(text: str) -> list[tuple[str, dict[str, str]]]:
    parser = Elements()
    parser.feed(text)
    return parser.found


def _words(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())
