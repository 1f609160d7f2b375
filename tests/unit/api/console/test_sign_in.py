"""Signing in at an identity provider: a real one on loopback, and a visitor without a browser."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from pydantic import SecretStr

from api.app import create_app
from api.auth.identity_provider import ASKED_AGAIN_MS, FRESH_MS, MAX_WAITING, IdentityProvider
from api.auth.oidc import JwtVerifier
from api.auth.settings import OidcSettings
from api.auth.sign_in import SignIn, SignInError
from api.console.sessions import COOKIE, CookieCipher
from api.console.views import administration
from api.console.views.sign_in import ATTEMPT_COOKIE
from api.errors import IdentityProviderError
from api.settings import ApiSettings
from tests import console_store, identity_provider
from tests.identity_provider import Provider
from tests.unit.api.console_visit import Console, visiting

BACK = "/sign-in/oidc/back"
PEPPER = "p" * 32
SET_NOT_SHOWN = re.compile(r"<dt><code>([^<]+)</code></dt><dd><code>set, not shown</code>")
Visit = Callable[..., Console]


@pytest.fixture
def provider() -> Iterator[Provider]:
    with identity_provider.provider() as running:
        running.people["ann"] = {"preferred_username": "ann", "roles": ["deadwatch-operator"]}
        yield running


@pytest.fixture
def visit(provider: Provider, store_url: str, now_ms: int) -> Iterator[Visit]:
    """A console that people sign in to there; ``clock`` says when it is."""
    with ExitStack() as visits:

        def begin(clock: Callable[[], int] = lambda: now_ms, **changes: Any) -> Console:  # noqa: ANN401 -- settings
            oidc = OidcSettings.model_validate(provider.settings(**changes))
            settings = ApiSettings(store_url=store_url, token_pepper=SecretStr(PEPPER), oidc=oidc)
            return visits.enter_context(visiting(create_app(settings, clock)))

        yield begin


def leave(console: Console, place: str = "/") -> str:
    """To the provider; the query that the browser brings there."""
    answer = console.client.get("/console/sign-in/oidc", params={"next": place})
    assert answer.status_code == 303, answer.text
    return urlsplit(answer.headers["location"]).query


def come_back(console: Console, provider: Provider, query: str, who: str = "ann") -> httpx2.Response:
    return console.client.get(provider.back(query, who))


@pytest.mark.usefixtures("filled")
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
    (cookie,) = [sent for sent in answer.headers.get_list("set-cookie") if sent.startswith(COOKIE)]
    assert {"HttpOnly", "SameSite=strict"} <= {part.strip() for part in cookie.split(";")}
    assert ATTEMPT_COOKIE not in console.client.cookies
    assert "u-ann" in CookieCipher(PEPPER).decrypt(console.client.cookies[COOKIE])
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
}


def test_an_id_token_that_is_not_for_this_sign_in_opens_nothing(visit: Visit, provider: Provider) -> None:
    console = visit()
    for name, (changes, why) in SPOILT.items():
        provider.changes = changes
        answer = come_back(console, provider, leave(console))
        assert (answer.status_code, why in answer.text) == (401, True), name
        assert not {COOKIE, ATTEMPT_COOKIE} & set(console.client.cookies), name


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
    assert "Another identity provider" in console.client.get(mixed).text
    assert COOKIE not in console.client.cookies


def test_the_answer_to_another_window_ends_no_attempt(visit: Visit, provider: Provider) -> None:
    console = visit()
    queries = [leave(console) for _ in range(2)]
    assert [come_back(console, provider, query).status_code for query in queries] == [401, 200]


def test_a_long_name_of_any_script_has_a_session(visit: Visit, provider: Provider) -> None:
    console = visit()
    provider.people["ann"] |= {"preferred_username": "\U0001f600" * 100, "sub": "\U0001f601" * 100}
    come_back(console, provider, leave(console))
    assert "\U0001f600 · operator" in console.get("/").text


def test_a_code_is_good_once(visit: Visit, provider: Provider) -> None:
    console = visit()
    query = leave(console)
    attempt = console.client.cookies[ATTEMPT_COOKIE]
    back = provider.back(query, "ann")
    assert console.client.get(back).status_code == 200
    console.client.cookies.set(ATTEMPT_COOKIE, attempt)
    again = console.client.get(back)
    assert (again.status_code, "invalid_grant" in again.text) == (401, True)


def test_a_refusal_and_a_person_without_role_are_reported(visit: Visit, provider: Provider) -> None:
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


def test_an_invalid_answer_of_the_provider_is_reported(visit: Visit, provider: Provider) -> None:
    console = visit()
    refusals = (b'{"error": 5}', b'{"error": ["x"], "error_description": {}}', b'{"expires_in": 1e400}')
    for answer in (b"[]", b"{", b"[" * 100_000, b"x" * 2_000_000, b'{"access_token": "a"}', *refusals):
        provider.answer = answer
        page = come_back(console, provider, leave(console))
        assert page.status_code in {401, 503}
        assert "identity provider" in page.text
    assert COOKIE not in console.client.cookies


@pytest.mark.parametrize(
    "said", [{"authorization_endpoint": "https://[1/"}, {"token_endpoint_auth_methods_supported": 5}]
)
def test_no_discovery_document_is_an_error_of_the_server(
    visit: Visit, provider: Provider, monkeypatch: pytest.MonkeyPatch, said: dict[str, object]
) -> None:
    document = provider.discovery() | said
    monkeypatch.setattr(provider, "discovery", lambda: document)
    assert visit().get("/sign-in/oidc").status_code in {303, 503}


@pytest.mark.parametrize("needed", ["a code", "the document", "another key"])
def test_a_provider_that_hangs_holds_few_threads_and_none_whose_key_is_known(
    provider: Provider, needed: str
) -> None:
    now = [0]
    settings = OidcSettings.model_validate(provider.settings(timeout_ms=30_000))
    asked = IdentityProvider(settings, lambda: now[0])
    signing_in = SignIn(settings, JwtVerifier(settings, asked), asked)
    attempt = signing_in.begin("", "/")[1]
    now[0] = FRESH_MS - ASKED_AGAIN_MS
    asked.key("k1", "RS256")
    now[0] += 0 if needed == "a code" else ASKED_AGAIN_MS
    calls: dict[str, Callable[[], object]] = {
        "a code": partial(signing_in.finish, attempt, {"state": attempt.state, "code": "a"}),
        "the document": partial(signing_in.begin, "", "/"),
        "another key": partial(asked.key, "made-up", "RS256"),
    }
    with ThreadPoolExecutor(MAX_WAITING + 1) as threads, provider.held:
        waiting = [threads.submit(calls[needed]) for _ in range(MAX_WAITING + 1)]
        (refused,), others = wait(waiting, 60, FIRST_COMPLETED)
        with pytest.raises(IdentityProviderError, match="too many wait"):
            refused.result()
        assert asked.key("k1", "RS256")
        assert not any(other.done() for other in others)
    assert IdentityProviderError not in {type(other.exception()) for other in others}
    with suppress(SignInError):
        calls[needed]()


def test_without_the_provider_a_token_still_signs_in(visit: Visit, provider: Provider) -> None:
    console = visit(issuer="http://127.0.0.1:9")
    away = console.get("/sign-in/oidc?next=/groups")
    assert away.status_code == 503
    assert "The identity provider does not answer" in away.text
    assert 'name="token"' in away.text
    assert 'value="/groups"' in away.text
    del provider


def test_nobody_is_redirected_to_another_site_afterwards(visit: Visit, provider: Provider) -> None:
    console = visit()
    for place in ("//evil.example", "https://evil.example", "/\\evil.example", "/a\nb"):
        answer = come_back(console, provider, leave(console, place))
        assert 'content="0; url=/console/"' in answer.text, place


def test_the_address_to_come_back_to_may_be_set(visit: Visit) -> None:
    registered = "https://deadwatch.example/console/sign-in/oidc/back"
    query = leave(visit(redirect_uri=registered))
    assert parse_qs(query)["redirect_uri"] == [registered]


def test_a_cookie_of_one_kind_does_not_pass_for_another(visit: Visit, provider: Provider) -> None:
    console = visit()
    leave(console)
    attempt = console.client.cookies[ATTEMPT_COOKIE]
    come_back(console, provider, leave(console))
    session = console.client.cookies[COOKIE]
    console.client.cookies.clear()
    cookies = {"Cookie": f"{COOKIE}={attempt}"}
    swapped = console.client.get("/console/", headers=cookies)
    assert swapped.headers["location"].endswith("ended=1")
    swapped = console.client.get(f"/console{BACK}", headers={"Cookie": f"{ATTEMPT_COOKIE}={session}"})
    assert swapped.status_code == 401


def test_a_session_of_another_version_has_ended(visit: Visit) -> None:
    console = visit()
    for text in ('person:{"name": "ann"}', "person:[1]", 'session:["a", 1, "dw_a"]'):
        console.client.cookies.set(COOKIE, CookieCipher(PEPPER).encrypt(text))
        assert console.get("/").headers["location"].endswith("ended=1")
        console.client.cookies.clear()


def test_no_secret_is_on_the_page_of_settings(visit: Visit, provider: Provider) -> None:
    text = visit().get("/settings").text
    assert provider.secret not in text
    assert PEPPER not in text
    assert "deadwatch-operator: operator" in text
    assert "Role." not in text
    assert {"token_pepper", "oidc.client_secret"} <= set(SET_NOT_SHOWN.findall(text))
    assert "token_pepper" not in re.findall(r"<dt><code>([^<]+)</code></dt><dd><span class=\"muted\">", text)
    told = ApiSettings(otel_endpoint="https://ann:s3cret@otlp.example")
    assert ("otel_endpoint", "set, not shown") in {row[:2] for row in administration._rows(told, "")}
    public = visit(client_secret="").get("/settings").text
    assert "oidc.client_secret" not in SET_NOT_SHOWN.findall(public)


@pytest.mark.usefixtures("store")
def test_without_a_provider_there_is_none_to_sign_in_at(console: Console) -> None:
    assert "/sign-in/oidc" not in console.get("/sign-in").text
    answer = console.get("/sign-in/oidc")
    assert (answer.status_code, "api.oidc.client_id" in answer.text) == (404, True)
