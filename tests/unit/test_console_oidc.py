"""Signing in at an identity provider: a real one on loopback, the browser without a face."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from pydantic import SecretStr
from sqlalchemy import Engine

from api.app import create_app
from api.console.sessions import COOKIE, Sessions
from api.console.views.sign_in_oidc import ATTEMPT
from api.oidc_settings import OidcSettings
from api.settings import ApiSettings
from collector.settings_file import SettingsError, load
from tests import console_store, identity_provider
from tests.identity_provider import Provider
from tests.unit.console_visit import Console, visiting

BACK = "/sign-in/oidc/back"
PEPPER = "p" * 32
Visit = Callable[..., Console]


@pytest.fixture
def provider() -> Iterator[Provider]:
    with identity_provider.provider() as running:
        running.people["ann"] = {"preferred_username": "ann", "roles": ["deadwatch-operator"]}
        yield running


@pytest.fixture
def visit(provider: Provider, store: Engine, store_file: Path, now_ms: int) -> Iterator[Visit]:
    """A console that people sign in to there; ``clock`` says when it is."""
    console_store.fill(store, now_ms)
    with ExitStack() as visits:

        def begin(clock: Callable[[], int] = lambda: now_ms, **changes: Any) -> Console:  # noqa: ANN401 -- settings
            settings = ApiSettings(
                store_url=f"sqlite:///{store_file}",
                token_pepper=SecretStr(PEPPER),
                oidc=OidcSettings.model_validate(provider.settings(**changes)),
            )
            return visits.enter_context(visiting(create_app(settings, clock)))

        yield begin


def leave(console: Console, place: str = "/") -> str:
    """To the provider; the query that the browser brings there."""
    answer = console.client.get("/console/sign-in/oidc", params={"next": place})
    assert answer.status_code == 303, answer.text
    return urlsplit(answer.headers["location"]).query


def come_back(console: Console, provider: Provider, query: str, who: str = "ann") -> httpx2.Response:
    return console.client.get(provider.back(query, who))


def test_who_signs_in_there_acts_here_and_comes_to_the_place(visit: Visit, provider: Provider) -> None:
    console = visit()
    assert "Sign in at 127.0.0.1" in console.get("/sign-in").text
    before = console.token()
    query = leave(console, "/groups?state=new&order=records")
    asked = parse_qs(query)
    assert asked["redirect_uri"] == ["http://127.0.0.1:8000/console/sign-in/oidc/back"]
    assert len(asked["nonce"][0]) > 40
    answer = come_back(console, provider, query)
    assert answer.status_code == 200
    assert 'content="0; url=/console/groups?state=new&amp;order=records"' in answer.text
    assert "ann · operator" in console.get("/").text
    assert console.token() != before, "no form of before is good any more"
    order = f"/redrives/{console_store.RUNNING}"
    assert console.post(f"{order}/cancel", csrf=console.token(order)).status_code == 303
    audit = console.get("/audit").text
    assert "sign-in.oidc" in audit
    assert "redrives.cancel" in audit
    assert provider.asked == ["client_secret_basic"]


def test_the_cookies_are_nobody_elses(visit: Visit, provider: Provider) -> None:
    console = visit()
    sent = console.client.get("/console/sign-in/oidc").headers["set-cookie"]
    assert {"HttpOnly", "SameSite=lax", "Path=/", "Max-Age=600"} <= {one.strip() for one in sent.split(";")}
    answer = come_back(console, provider, leave(console))
    (cookie,) = [one for one in answer.headers.get_list("set-cookie") if one.startswith(COOKIE)]
    assert {"HttpOnly", "SameSite=strict"} <= {part.strip() for part in cookie.split(";")}
    assert ATTEMPT not in console.client.cookies
    assert "u-ann" in Sessions(PEPPER).open(console.client.cookies[COOKIE])
    assert console.client.get("/api/v1/audit").status_code == 401, "a session is for the console alone"


@pytest.mark.parametrize(
    ("methods", "secret", "shown"),
    [
        (["client_secret_post"], "s3cret of the console", "client_secret_post"),
        (["private_key_jwt", "client_secret_basic"], "s3cret of the console", "client_secret_basic"),
        ([], "s3cret of the console", "client_secret_basic"),
        (["none"], "", "none"),
    ],
)
def test_the_secret_is_shown_as_the_provider_takes_it(
    visit: Visit, provider: Provider, methods: list[str], secret: str, shown: str
) -> None:
    provider.methods, provider.secret = methods, secret
    console = visit(client_secret=secret)
    assert come_back(console, provider, leave(console)).status_code == 200
    assert provider.asked == [shown]


SPOILT: dict[str, tuple[dict[str, Any], str]] = {
    "another nonce": ({"nonce": "of another sign-in"}, "not made for this sign-in"),
    "no nonce": ({"nonce": None}, "not made for this sign-in"),
    "another party": ({"azp": "another-client"}, "not made for this sign-in"),
    "many audiences, no party": ({"aud": ["deadwatch-console", "other"]}, "not made for this sign-in"),
    "another access token": ({"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, "not made for this sign-in"),
    "another audience": ({"aud": "deadwatch"}, "made for another audience"),
    "another issuer": ({"iss": "https://evil.example"}, "another issuer"),
    "expired": ({"exp": 1}, "has expired"),
    "nobody": ({"sub": None}, "lacks one of"),
}


@pytest.mark.parametrize(("changes", "said"), SPOILT.values(), ids=SPOILT)
def test_an_id_token_that_is_not_for_this_sign_in_opens_nothing(
    visit: Visit, provider: Provider, changes: dict[str, Any], said: str
) -> None:
    provider.changes = changes
    console = visit()
    answer = come_back(console, provider, leave(console))
    assert (answer.status_code, said in answer.text) == (401, True), answer.text
    assert COOKIE not in console.client.cookies
    assert ATTEMPT not in console.client.cookies


def test_an_answer_to_another_attempt_opens_nothing(visit: Visit, provider: Provider) -> None:
    """So nobody is signed in as somebody else by a link."""
    console, other = visit(), visit()
    back = provider.back(leave(other), "ann")
    assert console.client.get(back).status_code == 401, "it has begun none"
    leave(console)
    refused = console.client.get(back)
    assert (refused.status_code, "begin again" in refused.text) == (401, True)
    query = leave(console)
    mixed = provider.back(query, "ann").replace("iss=http", "iss=https")
    assert "another identity provider" in console.client.get(mixed).text
    assert COOKIE not in console.client.cookies


def test_a_code_is_good_once(visit: Visit, provider: Provider) -> None:
    console = visit()
    query = leave(console)
    attempt = console.client.cookies[ATTEMPT]
    back = provider.back(query, "ann")
    assert console.client.get(back).status_code == 200
    console.client.cookies.set(ATTEMPT, attempt)
    again = console.client.get(back)
    assert (again.status_code, "invalid_grant" in again.text) == (401, True)


def test_who_does_not_want_to_or_may_not_is_told_so(visit: Visit, provider: Provider) -> None:
    console = visit()
    denied = come_back(console, provider, leave(console, "/audit"), "")
    assert denied.status_code == 401
    assert "access_denied: &lt;b&gt;nobody&lt;/b&gt; wanted to" in denied.text
    assert "next=/audit" in denied.text, "the place is kept"
    provider.people["ann"]["roles"] = ["cook"]
    nobody = come_back(console, provider, leave(console))
    assert nobody.status_code == 403
    assert "ann is known to the identity provider, but has no role here" in nobody.text
    assert COOKIE not in console.client.cookies


def test_a_role_may_stand_in_the_access_token_of_the_same_person(visit: Visit, provider: Provider) -> None:
    console = visit()
    del provider.people["ann"]["roles"]
    provider.access = provider.access_token("bob", roles=["deadwatch-admin"])
    assert come_back(console, provider, leave(console)).status_code == 403
    provider.access = provider.access_token("ann", roles=["deadwatch-admin"])
    assert come_back(console, provider, leave(console)).status_code == 200
    assert "ann · admin" in console.get("/").text


def test_a_session_ends_when_its_time_is_over_or_another_provider_is_set(
    visit: Visit, provider: Provider, now_ms: int
) -> None:
    time_ms = [now_ms]
    console = visit(lambda: time_ms[0], session_ms=600_000)
    come_back(console, provider, leave(console))
    time_ms[0] += 599_999
    assert "ann · operator" in console.get("/groups").text
    time_ms[0] += 1
    ended = console.get("/groups?state=new")
    assert ended.status_code == 303
    assert ended.headers["location"] == "/console/sign-in?next=%2Fgroups%3Fstate%3Dnew&ended=1"
    assert COOKIE not in console.client.cookies
    come_back(console, provider, leave(console))
    moved = visit(issuer="https://id.example")
    moved.client.cookies.set(COOKIE, console.client.cookies[COOKIE])
    assert moved.get("/groups").headers["location"].endswith("ended=1")


@pytest.mark.parametrize("answer", [b"[]", b"{", b"x" * 2_000_000, b'{"access_token": "a"}'])
def test_a_provider_that_answers_nonsense_is_told(visit: Visit, provider: Provider, answer: bytes) -> None:
    provider.answer = answer
    console = visit()
    told = come_back(console, provider, leave(console))
    assert told.status_code in {401, 503}
    assert "identity provider" in told.text
    assert COOKIE not in console.client.cookies


def test_a_provider_that_is_away_is_told_and_a_token_still_signs_in(visit: Visit, provider: Provider) -> None:
    console = visit(issuer="http://127.0.0.1:9")
    away = console.get("/sign-in/oidc?next=/groups")
    assert away.status_code == 503
    assert "the identity provider does not answer" in away.text
    assert 'name="token"' in away.text
    assert 'value="/groups"' in away.text
    del provider


@pytest.mark.parametrize("place", ["//evil.example", "https://evil.example", "/\\evil.example", "/a\nb"])
def test_nobody_is_sent_away_afterwards(visit: Visit, provider: Provider, place: str) -> None:
    console = visit()
    answer = come_back(console, provider, leave(console, place))
    assert 'content="0; url=/console/"' in answer.text


def test_the_address_to_come_back_to_may_be_set(visit: Visit) -> None:
    registered = "https://deadwatch.example/console/sign-in/oidc/back"
    query = leave(visit(redirect_uri=registered))
    assert parse_qs(query)["redirect_uri"] == [registered]


def test_a_cookie_of_one_kind_is_none_of_another(visit: Visit, provider: Provider) -> None:
    console = visit()
    leave(console)
    attempt = console.client.cookies[ATTEMPT]
    come_back(console, provider, leave(console))
    session = console.client.cookies[COOKIE]
    console.client.cookies.clear()
    cookies = {"Cookie": f"{COOKIE}={attempt}"}
    swapped = console.client.get("/console/", headers=cookies)
    assert swapped.headers["location"].endswith("ended=1")
    swapped = console.client.get(f"/console{BACK}", headers={"Cookie": f"{ATTEMPT}={session}"})
    assert swapped.status_code == 401


def test_a_session_of_another_version_has_ended(visit: Visit) -> None:
    console = visit()
    for text in ('person:{"name": "ann"}', "person:[1]"):
        console.client.cookies.set(COOKIE, Sessions(PEPPER).seal(text))
        assert console.get("/").headers["location"].endswith("ended=1")
        console.client.cookies.clear()


def test_no_secret_is_on_the_page_of_settings(visit: Visit, provider: Provider) -> None:
    text = visit().get("/settings").text
    assert provider.secret not in text
    assert PEPPER not in text
    told = re.findall(r"<dt><code>([^<]+)</code></dt><dd><code>set, not shown</code>", text)
    assert {"token_pepper", "oidc.client_secret"} <= set(told)
    assert "token_pepper" not in re.findall(r"<dt><code>([^<]+)</code></dt><dd><span class=\"muted\">", text)
    public = visit(client_secret="").get("/settings").text
    told = re.findall(r"<dt><code>([^<]+)</code></dt><dd><code>set, not shown</code>", public)
    assert "oidc.client_secret" not in told


def test_without_a_provider_there_is_none_to_sign_in_at(console: Console) -> None:
    assert "/sign-in/oidc" not in console.get("/sign-in").text
    answer = console.get("/sign-in/oidc")
    assert (answer.status_code, "api.oidc.client_id" in answer.text) == (404, True)


@pytest.fixture
def console(store: Engine, store_file: Path) -> Iterator[Console]:
    del store
    with visiting(create_app(ApiSettings(store_url=f"sqlite:///{store_file}"))) as made:
        yield made


WRONG = {
    "a secret without client": ({"client_secret": "s"}, "client_secret goes with client_id"),
    "no openid": ({"client_id": "c", "scopes": ["profile"]}, "scopes need openid"),
    "another way back": ({"client_id": "c", "redirect_uri": "https://a.example/"}, "redirect_uri"),
}


@pytest.mark.parametrize(("changes", "said"), WRONG.values(), ids=WRONG)
def test_settings_that_cannot_work_are_refused(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], said: str
) -> None:
    oidc = {"issuer": "https://id.example", "audience": "deadwatch", **changes}
    monkeypatch.setenv("API_OIDC", json.dumps(oidc))
    with pytest.raises(SettingsError, match=said):
        load(ApiSettings, None)
