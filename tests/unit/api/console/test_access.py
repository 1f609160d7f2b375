"""Who may do what in the console: roles, sessions, CSRF tokens and redirects."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from pydantic import SecretStr
from sqlalchemy import Engine, event
from starlette.routing import Mount

from api.app import create_app
from api.auth.authenticator import MAX_FAILURES
from api.auth.role import Role
from api.console.sessions import COOKIE, MAX_AGE_S, CookieCipher
from api.service import MAX_SEARCHES
from api.settings import ApiSettings
from tests import console_store
from tests.caller import Caller
from tests.unit.api.console_visit import Console, OneRecord, form_of, token_for, visiting, words
from tests.waiting import until

PEPPER = SecretStr("p" * 32)
PLACES = {"token": "0" * 12, "topic": "dlq.t"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def test_an_operator_acts_and_the_audit_lists_it(operator: Console) -> None:
    order, group = f"/redrives/{console_store.RUNNING}", f"/groups/{console_store.MAIN_GROUP}"
    csrf = operator.token(order)
    for act, status in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        assert operator.post(f"{order}/{act}", csrf=csrf).headers["location"] == f"/console{order}"
        assert f"> {status}<" in operator.get(order).text.replace('">', "> ")
    csrf = operator.token(group)
    assert (
        operator.post(f"{group}/note", csrf=csrf, owner="team a", comment="c", version="0").status_code == 303
    )
    overtaken = operator.post(f"{group}/note", csrf=csrf, owner="team b", version="0")
    assert overtaken.status_code == 412
    assert operator.post(f"{group}/archive", csrf=csrf, reason="fixed").status_code == 303
    assert "DataException" in operator.get("/groups?state=archived").text
    audit = words(operator.get("/audit").text)
    for action in ("redrives.pause", "redrives.cancel", "dead-letters.archive"):
        assert action in audit
    assert "ann the operator" in audit


def test_what_a_form_shows_is_what_it_sends_back(operator: Console) -> None:
    """Characters that cannot be seen are made visible in texts, not in what is edited."""
    group, unseen = f"/groups/{console_store.MAIN_GROUP}", 'a\u200bb \U0001f468\u200d\U0001f469 \ufeff"<c'
    kept = {"owner": unseen, "comment": unseen}
    assert operator.post(f"{group}/note", csrf=operator.token(group), version="0", **kept).status_code == 303
    form = form_of(operator.get(group).text, f"{group}/note")
    assert {name: form[name] for name in kept} == kept
    searched = operator.client.get("/console/groups", params={"filter": unseen}).text
    assert form_of(searched, "/groups")["filter"] == unseen


LETTER = "/records/dlq.orders/0/1"
FORMS = {
    "an owner": (f"/groups/{console_store.MAIN_GROUP}/note", {"owner": "x" * 201, "version": "0"}, "owner"),
    "no version": (f"/groups/{console_store.MAIN_GROUP}/note", {"owner": "a"}, "version"),
    "a version that is none": (f"/groups/{console_store.MAIN_GROUP}/note", {"version": "x"}, "version"),
    "why it is archived": (f"/groups/{console_store.MAIN_GROUP}/archive", {"reason": "x" * 1_001}, "reason"),
    "why it is unmasked": (LETTER, {"why": "x" * 501}, "why"),
    "NUL in a note": (f"/groups/{console_store.MAIN_GROUP}/note", {"owner": "a\0", "version": "0"}, "NUL"),
}


@pytest.mark.parametrize(("path", "fields", "named"), FORMS.values(), ids=FORMS)
def test_a_text_that_cannot_be_kept_is_refused_by_its_name(
    operator: Console, path: str, fields: dict[str, str], named: str
) -> None:
    answer = operator.post(path, **fields)
    assert (answer.status_code, named in words(answer.text)) == (400, True)


@pytest.mark.parametrize(
    ("needed", "role", "status"),
    [("viewer", Role.VIEWER, 200), ("operator", Role.VIEWER, 403), ("admin", Role.OPERATOR, 403)],
)
def test_who_has_the_role_to_unmask_sees_the_button_and_what_is_behind_it(
    store_url: str, needed: Literal["viewer", "operator", "admin"], role: Role, status: int
) -> None:
    app = create_app(ApiSettings(store_url=store_url, unmask_role=needed))
    app.state.service.browser = OneRecord()
    with visiting(app) as console:
        console.sign_in(token_for(app, role))
        page, csrf = console.get(LETTER).text, console.token("/")
        assert ("Show it unmasked" in page, "<pre>ada</pre>" in page) == (status == 200, False)
        shown = console.post(LETTER, csrf=csrf, why="case 7")
        assert (shown.status_code, "<pre>ada</pre>" in shown.text) == (status, status == 200)
        assert console.post(LETTER, csrf="0" * 64, why="case 7").status_code == 403


def test_an_admin_makes_a_token_and_revokes_it(console: Console, issued: Callable[[Role], str]) -> None:
    console.sign_in(issued(Role.ADMIN))
    csrf = console.token("/tokens")
    made = console.post("/tokens", csrf=csrf, name="pipeline", role="viewer", days="30").text
    text = re.search(r"dw_([0-9a-f]{12})_\w+", made)
    assert text
    assert text[0] not in console.get("/tokens").text, "it is shown once"
    assert console.post(f"/tokens/{text[1]}/revoke", csrf=csrf).status_code == 303
    assert "revoked by ann the admin" in words(console.get("/tokens").text)
    assert console.post("/tokens", csrf=csrf, name="", role="king", days="30").status_code == 422


@pytest.mark.parametrize("text", ["%00", "%1b[31m", "%0a", "%e2%80%ae"])
def test_control_characters_in_the_audits_address_are_an_answer(operator: Console, text: str) -> None:
    for name in ("who", "action"):
        assert operator.get(f"/audit?{name}={text}").status_code == 422


def test_a_form_of_a_redrive_needs_a_place_for_its_reading_of_kafka(app: FastAPI, operator: Console) -> None:
    csrf = operator.token("/redrives/new")
    with ExitStack() as taken:
        for number in range(MAX_SEARCHES):
            taken.enter_context(app.state.service.searches.place(str(number)))
        for path in ("/redrives/new", f"/redrives/{console_store.RUNNING}/start"):
            answer = operator.post(path, csrf=csrf)
            assert (answer.status_code, "try again" in words(answer.text)) == (429, True), path
            assert answer.headers["retry-after"] == "1"


def test_a_page_that_takes_no_form_says_what_it_takes(console: Console) -> None:
    answer = console.client.post("/console/groups")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


def test_a_change_needs_the_csrf_token(operator: Console) -> None:
    path = f"/console/redrives/{console_store.RUNNING}/cancel"
    csrf = operator.token(f"/redrives/{console_store.RUNNING}")
    refused = [
        operator.client.post(path, data={"order": "mine"}),
        operator.client.post(path, data={"csrf": "0" * 64}),
        operator.client.post(path, data={"csrf": csrf}, headers={"Origin": "http://evil.example"}),
        operator.client.post(path, data={"csrf": csrf}, headers={"Origin": "http://["}),
        operator.client.post(path, data={"csrf": csrf}, headers={"Sec-Fetch-Site": "cross-site"}),
        operator.client.post(path, data={"csrf": csrf}, headers={"Sec-Fetch-Site": "same-site"}),
    ]
    assert [answer.status_code for answer in refused] == [403] * len(refused)
    assert operator.client.post(path, json={"csrf": csrf}).status_code == 400
    assert operator.client.post(path, content="csrf=" + "x" * 600_000, headers=FORM).status_code == 400
    assert "/cancel" in operator.get(f"/redrives/{console_store.RUNNING}").text, "it still runs"
    assert operator.client.post(path, data={"csrf": csrf}).status_code == 303


def test_the_session_cookie_is_for_this_site_alone(console: Console, issued: Callable[[Role], str]) -> None:
    before, token = console.token(), issued(Role.VIEWER)
    answer = console.sign_in(token)
    (cookie,) = [sent for sent in answer.headers.get_list("set-cookie") if sent.startswith(COOKIE)]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert not any(part in cookie for part in token.split("_")[1:]), "the token is in it"
    assert console.token() != before, "no form of before is good any more"


@pytest.mark.parametrize(
    "place", ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nSet-Cookie: b=c", "groups"]
)
def test_nobody_is_redirected_to_another_site_after_signing_in(
    console: Console, issued: Callable[[Role], str], place: str
) -> None:
    assert console.sign_in(issued(Role.VIEWER), place).headers["location"] == "/console/"


def test_a_revoked_token_ends_the_session_and_the_page_is_kept(
    app: FastAPI, console: Console, issued: Callable[[Role], str]
) -> None:
    token = issued(Role.OPERATOR)
    assert console.sign_in(token, "/groups?state=new").headers["location"] == "/console/groups?state=new"
    app.state.service.tokens.revoke(token.split("_")[1], "test", lambda *_: None)
    sent = console.get("/groups?state=new&order=records")
    assert sent.status_code == 303
    assert sent.headers["location"].startswith(
        "/console/sign-in?next=%2Fgroups%3Fstate%3Dnew%26order%3Drecords"
    )
    assert "The session has ended" in console.client.get(sent.headers["location"]).text
    assert COOKIE not in console.client.cookies


@pytest.mark.usefixtures("filled")
def test_who_signs_in_comes_back_to_what_was_filtered(console: Console) -> None:
    def back(asked: str) -> str:
        (link,) = re.findall(r'<a href="/console(/sign-in\?[^"]+)">Sign in</a>', console.get(asked).text)
        return form_of(console.get(link).text, "/sign-in")["next"]

    for page in (
        "/redrives",
        "/groups?state=quiet&filter=attempts+%3C+3%26a",
        "/records?topic=dlq.t&order=x",
    ):
        assert back(page) == page
    assert back("/groups?filter=" + "a" * 8_000) == "/groups"


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    "sender", ["http://[", "http://[::1/console/groups", "http://evil.example/console/groups"]
)
def test_a_form_that_no_page_of_ours_has_sent_leads_back_to_the_first_page(
    console: Console, sender: str
) -> None:
    form = {"csrf": console.token(), "topic": "dlq.t"}
    refused = console.client.post("/console/redrives/new", data=form, headers={"Referer": sender})
    assert (refused.status_code, refused.headers["www-authenticate"][:6]) == (401, "Bearer")
    places = re.findall(r'href="/console/sign-in\?next=([^"]+)"', refused.text)
    assert {unquote(place) for place in places} == {"/"}


@pytest.mark.parametrize(
    ("path", "headers"), [("/live", {"Accept": "text/event-stream"}), ("/redrives", {"HX-Request": "true"})]
)
def test_a_part_of_a_page_does_not_end_the_session_for_the_page(
    app: FastAPI, console: Console, issued: Callable[[Role], str], path: str, headers: dict[str, str]
) -> None:
    """Else the page would go on as an anonymous one, where anonymous reading is allowed."""
    token = issued(Role.OPERATOR)
    console.sign_in(token)
    app.state.service.tokens.revoke(token.split("_")[1], "test", lambda *_: None)
    part = console.client.get(f"/console{path}", headers=headers)
    assert (part.status_code, part.headers["www-authenticate"][:6]) == (401, "Bearer")
    assert COOKIE in console.client.cookies
    assert console.get("/redrives").headers["location"].endswith("ended=1")


def test_signing_out_ends_the_session_for_a_copy_of_its_cookie_in_every_api(
    app: FastAPI, console: Console, issued: Callable[[Role], str], store_file: Path
) -> None:
    settings = ApiSettings(store_url=f"sqlite:///{store_file}")
    console.sign_in(issued(Role.OPERATOR))
    copy = console.client.cookies[COOKIE]
    other = create_app(settings)
    other.state.console_cipher._fernet = app.state.console_cipher._fernet
    with visiting(other) as elsewhere:
        elsewhere.client.cookies.set(COOKIE, copy)
        assert "ann the operator" in elsewhere.get("/").text
        assert console.post("/sign-out", csrf=console.token("/")).status_code == 303
        console.client.cookies.set(COOKIE, copy)
        ended = "/console/sign-in?next=%2F&ended=1"
        assert console.get("/").headers["location"] == ended
        until(lambda: elsewhere.get("/").status_code == 303, "the other api knows")
    console.client.cookies.clear()
    console.sign_in(issued(Role.OPERATOR))
    assert "ann the operator" in console.get("/").text, "another session goes on"
    audit = words(console.get("/audit?action=sign-out").text)
    assert "ann the operator" in audit


def test_no_form_lets_the_event_loop_wait_for_the_store(
    console: Console, issued: Callable[[Role], str]
) -> None:
    """Least of all those that need no role: whoever reaches the api may send them, and a store may hang."""
    token = {"Authorization": f"Bearer {issued(Role.OPERATOR)}"}
    on_the_event_loop: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        with suppress(RuntimeError):  # a thread without an event loop
            asyncio.get_running_loop()
            on_the_event_loop.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        for path in ("/sign-in", "/sign-out", "/redrives/new"):
            answer = console.client.post(f"/console{path}", data={"csrf": ""}, headers=token)
            assert answer.status_code == 403
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert on_the_event_loop == []


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock to so many seconds after its first call."""
    calls_s: list[float] = []

    def set_clock(later_s: float) -> None:
        calls_s.append(time.time())
        now_s = calls_s[0] + later_s
        monkeypatch.setattr(time, "time", lambda: now_s)
        monkeypatch.setattr(time, "time_ns", lambda: int(now_s * 1e9))

    return set_clock


IDLE_S = ApiSettings().session_idle_ms / 1_000


@pytest.mark.parametrize("path", ["/redrives", "/records/static/0/1"])
def test_a_session_that_nobody_uses_ends_and_one_in_use_is_renewed(
    app: FastAPI, console: Console, issued: Callable[[Role], str], at: Callable[[float], None], path: str
) -> None:
    app.state.service.browser = OneRecord()
    console.sign_in(issued(Role.VIEWER))
    at(IDLE_S - 10)
    part = console.client.get("/console/redrives", headers={"HX-Request": "true"})
    assert part.status_code == 200
    assert COOKIE not in part.headers.get("set-cookie", "")
    page = console.get(path)
    (cookie,) = [sent for sent in page.headers.get_list("set-cookie") if sent.startswith(COOKIE)]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    at(2 * IDLE_S - 20)
    assert "ann the viewer" in console.get("/redrives").text
    at(4 * IDLE_S)
    assert console.get("/redrives").headers["location"].endswith("ended=1")


def test_who_has_the_cookie_of_a_session_that_has_ended_signs_in_again(
    console: Console, issued: Callable[[Role], str], at: Callable[[float], None]
) -> None:
    console.sign_in(issued(Role.VIEWER))
    at(IDLE_S + 1)
    ended = console.client.cookies[COOKIE]
    csrf = console.token("/sign-in")
    assert console.client.cookies[COOKIE] == ended, "no page renews it"
    assert console.post("/sign-in", csrf=csrf, token=issued(Role.OPERATOR), next="/").status_code == 303
    assert "ann the operator" in console.get("/").text


def test_no_session_is_renewed_for_longer_than_it_may_last(
    console: Console, issued: Callable[[Role], str], at: Callable[[float], None]
) -> None:
    console.sign_in(issued(Role.VIEWER))
    hour_s, location = 3_600, ""
    for later_s in (*range(hour_s, MAX_AGE_S, hour_s), MAX_AGE_S + 1):
        copy = console.client.cookies[COOKIE]
        at(later_s)
        answer = console.client.get("/console/redrives", headers={"Cookie": f"{COOKIE}={copy}"})
        assert answer.status_code == (200 if later_s < MAX_AGE_S else 303), later_s
        location = answer.headers.get("location", "")
    assert location.endswith("ended=1")


def test_a_wrong_token_is_refused_beside_its_field(console: Console, store: Engine) -> None:
    del store
    answer = console.sign_in("dw_nonsense")
    assert answer.status_code == 401
    assert 'aria-invalid="true"' in answer.text
    assert COOKIE not in console.client.cookies


def test_a_cookie_that_is_changed_old_or_of_another_key_is_refused(at: Callable[[float], None]) -> None:
    cipher = CookieCipher("p" * 32)
    sealed = cipher.encrypt("dw_token")
    assert CookieCipher("p" * 32).decrypt(sealed) == "dw_token", "any api with the pepper opens it"
    assert CookieCipher("q" * 32).decrypt(sealed) == ""
    assert CookieCipher("").decrypt(sealed) == ""
    assert cipher.decrypt(sealed[:-2]) == ""
    assert cipher.decrypt("ü") == ""
    assert cipher.encrypt("t" * 5_000) == "", "no browser keeps so long a cookie"
    at(MAX_AGE_S + 1)
    assert cipher.decrypt(sealed) == ""


OPEN_TO_ALL = {
    *("GET /sign-in", "GET /sign-in/oidc", "GET /sign-in/oidc/back"),
    *("POST /sign-in", "POST /sign-out"),
}
ROLES = {
    **dict.fromkeys(("GET /tokens", "POST /tokens", f"POST /tokens/{'0' * 12}/revoke"), Role.ADMIN),
    **dict.fromkeys(("GET /redrives/new", "GET /policies/new", "GET /policies/0/edit"), Role.OPERATOR),
    **dict.fromkeys(("GET /health/checks", "GET /audit"), Role.OPERATOR),
}
"""Of requests that need more than a viewer to read, and an operator to change something."""


def every_request(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Method and path of each, but for those that are open to all."""
    (mounted,) = [found for found in app.routes if isinstance(found, Mount) and found.path == "/console"]
    for route in iter_route_contexts(mounted.routes):
        path = re.sub(r"{(\w+)}", lambda name: PLACES.get(name[1], "0"), str(route.path))
        for method in (route.methods or set()) - {"HEAD"}:
            if f"{method} {path}" not in OPEN_TO_ALL:
                yield method, path


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_every_request_needs_its_role(
    app: FastAPI, console: Console, issued: Callable[[Role], str], role: Role
) -> None:
    console.sign_in(issued(role))
    csrf = console.token("/")
    for method, path in every_request(app):
        needed = ROLES.get(f"{method} {path}", Role.VIEWER if method == "GET" else Role.OPERATOR)
        sent = {"data": {"csrf": csrf}} if method == "POST" else {"params": {"endless": "1"}}
        answer = console.client.request(method, f"/console{path}", **sent)  # type: ignore[arg-type]  # texts
        assert (answer.status_code == 403) is not role.covers(needed), f"{method} {path}"


def test_away_from_this_machine_every_page_asks_to_sign_in(store_url: str) -> None:
    settings = ApiSettings(store_url=store_url, host="0.0.0.0", token_pepper=PEPPER)  # noqa: S104 -- nothing listens
    app = create_app(settings)
    with Caller(app, "http://deadwatch.example", peer="testclient") as client:
        requests = [*every_request(app)]
        assert len(requests) > 25, "the pages were found"
        for method, path in requests:
            answer = client.request(method, f"/console{path}", headers=FORM if method == "POST" else {})
            assert answer.status_code == (303 if method == "GET" else 401), f"{method} {path}"
            assert method == "POST" or answer.headers["location"].startswith("/console/sign-in?")
        visit = Console(client)
        answers = [visit.sign_in("no token") for _ in range(MAX_FAILURES + 1)]
        assert [answer.status_code for answer in answers] == [401] * MAX_FAILURES + [429]
        assert 0 < int(answers[-1].headers["retry-after"]) <= 60
