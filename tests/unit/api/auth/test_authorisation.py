"""Every route by everybody: a route that is not classified here fails the test."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from api.app import create_app
from api.auth import credentials
from api.auth.credentials import issue
from api.auth.role import Role
from api.auth.tokens import TokenService
from api.settings import ApiSettings
from api.store import Store, Writer
from cli import local_token
from deadwatch.store.write.audit import unwitnessed
from tests.caller import Caller
from tests.operators import caller_of
from tests.unit.api.answers import problem

PEPPER = "p" * 32
DAY_MS = 86_400_000

OPEN, READ, CHANGE, LOOK_BACK, RULE = "open", "read", "change", "look back", "rule"
"""For everybody; for a viewer; for an operator; reading, for an operator; for an admin."""
NEEDS = {READ: Role.VIEWER, CHANGE: Role.OPERATOR, LOOK_BACK: Role.OPERATOR, RULE: Role.ADMIN}

V1 = "/api/v1"
ROUTES = {
    "GET /": OPEN,
    "GET /docs": OPEN,
    "GET /redoc": OPEN,
    "GET /openapi.json": OPEN,
    "GET /livez": OPEN,
    "GET /readyz": OPEN,
    "GET /metrics": READ,
    "GET /jolokia/read/{bean:path}": READ,
    f"GET {V1}/overview": READ,
    f"GET {V1}/dead-letters/topics": READ,
    f"GET {V1}/dead-letters/groups": READ,
    f"GET {V1}/dead-letters/groups/{{fingerprint}}": READ,
    f"GET {V1}/dead-letters/groups/{{fingerprint}}/note": READ,
    f"PUT {V1}/dead-letters/groups/{{fingerprint}}/note": CHANGE,
    f"POST {V1}/dead-letters/groups/{{fingerprint}}/archive": CHANGE,
    f"POST {V1}/dead-letters/groups/{{fingerprint}}/unarchive": CHANGE,
    f"GET {V1}/dead-letters/records": READ,
    f"GET {V1}/dead-letters/records/download": READ,
    f"GET {V1}/dead-letters/records/{{topic}}/{{partition}}/{{offset}}": READ,
    f"GET {V1}/live": READ,
    f"GET {V1}/tasks": READ,
    f"GET {V1}/connect/tasks": READ,
    f"GET {V1}/abandoned": READ,
    f"GET {V1}/delivery-timeouts": READ,
    f"GET {V1}/findings": READ,
    f"GET {V1}/series": READ,
    f"GET {V1}/me": READ,
    f"POST {V1}/redrives": CHANGE,
    f"GET {V1}/redrives": READ,
    f"GET {V1}/redrives/{{order}}": READ,
    f"GET {V1}/redrives/{{order}}/outcomes": READ,
    f"POST {V1}/redrives/{{order}}/cancel": CHANGE,
    f"POST {V1}/redrives/{{order}}/pause": CHANGE,
    f"POST {V1}/redrives/{{order}}/resume": CHANGE,
    f"POST {V1}/redrive-policies": CHANGE,
    f"GET {V1}/redrive-policies": READ,
    f"GET {V1}/redrive-policies/{{policy}}": READ,
    f"PUT {V1}/redrive-policies/{{policy}}": CHANGE,
    f"DELETE {V1}/redrive-policies/{{policy}}": CHANGE,
    f"GET {V1}/redrive-policies/{{policy}}/redrives": READ,
    f"GET {V1}/redrive-policies/{{policy}}/changes": READ,
    f"POST {V1}/tokens": RULE,
    f"GET {V1}/tokens": RULE,
    f"DELETE {V1}/tokens/{{token}}": RULE,
    f"GET {V1}/audit": LOOK_BACK,
    f"GET {V1}/audit/export": LOOK_BACK,
}

PARAMETERS = {
    "fingerprint": "f",
    "order": "0",
    "policy": "0",
    "token": "0" * 12,
    "bean:path": "java.lang:type=Threading",
    "topic": "dlq.t",
    "partition": "none",
    "offset": "0",
}
"""Nothing of Kafka is asked for: there is none."""
REFUSED = {f"GET {V1}/live": "?endless=1"}
"""What answers for as long as somebody listens is asked for what it does not know."""

LOOPBACK, PUBLIC, OPEN_READS, OPEN_METRICS = "loopback", "public", "open reads", "open metrics"
CLOSED, SCRAPED = "loopback behind a proxy", "loopback behind a proxy, and metrics"
PLACES: dict[str, dict[str, str]] = {
    LOOPBACK: {},
    CLOSED: {"anonymous": "nothing"},
    SCRAPED: {"anonymous": "metrics"},
    PUBLIC: {"host": "0.0.0.0"},  # noqa: S104 -- nothing listens
    OPEN_READS: {"host": "0.0.0.0", "anonymous": "reads"},  # noqa: S104 -- as above
    OPEN_METRICS: {"host": "0.0.0.0", "anonymous": "metrics"},  # noqa: S104 -- as above
}
HERE, ELSEWHERE = ("127.0.0.1:8000", "127.0.0.1"), ("deadwatch.example", "203.0.113.9")
VALID = {"viewer": Role.VIEWER, "operator": Role.OPERATOR, "admin": Role.ADMIN}
CALLERS = ("none", *VALID, "expired", "revoked", "tampered", "foreign", "no token", "basic")


@dataclass(frozen=True)
class Door:
    """The api at one place, and what every caller sends to it."""

    client: Caller
    credentials: dict[str, str]

    def ask(self, route: str, caller: str) -> httpx2.Response:
        method, path = route.split()
        for name, value in PARAMETERS.items():
            path = path.replace(f"{{{name}}}", value)
        path += REFUSED.get(route, "")
        sent = self.credentials[caller]
        return self.client.request(method, path, headers={"Authorization": sent} if sent else {})


Opens = Callable[[str], Door]


def every_route(app: FastAPI) -> Iterator[str]:
    for route in iter_route_contexts(app.routes):
        assert route.path, f"{route!r} is of a kind that nobody has classified"
        for method in (route.methods or {"ANY"}) - {"HEAD"}:
            yield f"{method} {route.path}"


@pytest.fixture(scope="module")
def door(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opens]:
    """The api anew at a place, on one store."""
    file = tmp_path_factory.mktemp("doors") / "deadwatch.db"
    shutil.copyfile(empty_store, file)
    url, now_ms = f"sqlite:///{file}", 1_800_000_000_000
    reader = Store(url)
    service = TokenService(reader, Writer(url, reader), lambda: now_ms, PEPPER)

    def token(name: str, role: Role, expires_at_ms: int = now_ms + DAY_MS) -> str:
        return service.create(name, role, expires_at_ms, "root", unwitnessed)[1].text

    tokens = {name: token(name, role) for name, role in VALID.items()}
    tokens |= {"expired": token("expired", Role.ADMIN, now_ms), "revoked": token("revoked", Role.ADMIN)}
    service.revoke(tokens["revoked"][3:15], "root", unwitnessed)
    tokens |= {"tampered": tampered(tokens["admin"]), "foreign": issue().text}
    sent = {"none": "", "no token": "Bearer hunter2", "basic": f"Basic {tokens['admin']}"}
    sent |= {name: f"Bearer {text}" for name, text in tokens.items()}
    service.close()
    with ExitStack() as opened:

        def open_at(place: str) -> Door:
            settings = ApiSettings(store_url=url, token_pepper=PEPPER, **PLACES[place])  # type: ignore[arg-type]  # as given
            app = create_app(settings, now_ms=lambda: now_ms)
            host, peer = HERE if place in {LOOPBACK, CLOSED, SCRAPED} else ELSEWHERE
            client = Caller(app, f"http://{host}", peer=peer)
            return Door(opened.enter_context(client), sent)

        yield open_at


def tampered(token: str) -> str:
    """The token with a secret of somebody else, and a checksum that is right."""
    body = token[:16] + issue().text[16:-6]
    return body + credentials._checksum(body)


def expected(kind: str, route: str, caller: str, place: str) -> int:
    """401, 403, or 0: it is let in."""
    if kind == OPEN:
        return 0
    if caller in VALID:
        return 0 if VALID[caller].covers(NEEDS[kind]) else 403
    metrics = place in {OPEN_METRICS, SCRAPED} and route == "GET /metrics"
    anonymous = place in {LOOPBACK, OPEN_READS} or metrics
    return 0 if caller == "none" and kind == READ and anonymous else 401


def test_every_route_is_classified(app: FastAPI) -> None:
    pages = {"ANY /console"}  # tests/unit/api/console/test_access.py asks for what is below
    assert set(every_route(app)) - pages == set(ROUTES)


@pytest.mark.parametrize("place", PLACES)
def test_everybody_may_what_their_role_says_and_nothing_else(door: Opens, place: str) -> None:
    here, wrong = door(place), []
    for route, kind in ROUTES.items():
        for caller in CALLERS if place == PUBLIC else ("none", "viewer", "tampered"):
            answer = here.ask(route, caller)
            wanted = expected(kind, route, caller, place)
            got = answer.status_code if answer.status_code in {401, 403, 429} else 0
            if (429 if got == 429 and wanted == 401 else wanted) != got or answer.status_code >= 500:
                wrong.append((route, caller, answer.status_code, wanted))
    assert wrong == []


REFUSALS = [
    ("none", "401 unauthenticated", 'Bearer realm="deadwatch"'),
    ("expired", "401 unauthenticated", 'Bearer realm="deadwatch", error="invalid_token"'),
    ("viewer", "403 forbidden", 'Bearer realm="deadwatch", error="insufficient_scope"'),
]


@pytest.mark.parametrize(("caller", "refusal", "challenge"), REFUSALS)
def test_a_refusal_says_what_to_do(door: Opens, caller: str, refusal: str, challenge: str) -> None:
    answer = door(LOOPBACK).ask(f"POST {V1}/redrives", caller)
    assert (problem(answer), answer.headers["www-authenticate"]) == (refusal, challenge)
    assert "token" in answer.json()["detail"]


STRANGERS: dict[str, tuple[dict[str, str], str]] = {
    "a name of a foreign site that resolves to us": ({"Host": "evil.example"}, "127.0.0.1"),
    "a proxy on this machine": ({"X-Forwarded-For": "203.0.113.9"}, "127.0.0.1"),
    "a proxy that tells the scheme alone": ({"X-Forwarded-Proto": "https"}, "127.0.0.1"),
    "a proxy that says so as it should": ({"Forwarded": "for=203.0.113.9"}, "127.0.0.1"),
    "another machine": ({}, "192.0.2.7"),
    "a name of nothing": ({"Host": ""}, "127.0.0.1"),
}


BROKEN_HOSTS = (
    "a{b.evil.example",
    "a`b",
    "x/metrics?",
    "a b",
    "[::1",
    "localhost:x",
    "localhost:80, evil.example",
    "é",
)


@pytest.mark.usefixtures("store")
def test_a_host_that_cannot_be_read_is_refused_and_not_guessed(app: FastAPI) -> None:
    client = Caller(app, "http://127.0.0.1:8000")
    for host in BROKEN_HOSTS:
        for sent in ([(b"Host", host.encode("latin-1"))], [(b"Host", b"localhost")] * 2):
            answer = client.get(f"{V1}/overview", headers=sent)
            assert problem(answer) == "400 broken-host", host


@pytest.mark.usefixtures("store")
def test_who_only_seems_to_be_on_this_machine_has_to_say_who_they_are(client: Caller) -> None:
    mine = {"Authorization": client.headers["authorization"]}
    for name, (headers, peer) in STRANGERS.items():
        stranger = Caller(client.app, "http://127.0.0.1:8000", peer=peer, headers=headers)
        assert stranger.get(f"{V1}/overview").status_code == 401, name
        refused = stranger.get(f"{V1}/overview", headers=mine).status_code
        assert refused == 401, "the local token is for this machine only"


@pytest.mark.usefixtures("store")
def test_who_is_on_this_machine_reads_without_saying_who_they_are(app: FastAPI) -> None:
    for host in ("127.0.0.1:8000", "localhost:8000", "[::1]:8000"):
        client = Caller(app, f"http://{host}")
        assert client.get(f"{V1}/overview").status_code == 200, host
        assert client.get(f"{V1}/me").json() == {"name": "anonymous", "role": "viewer", "token": None}


def test_a_local_token_that_others_can_read_opens_nothing(
    store_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / local_token.NAME
    local_token.make(file)
    token = file.read_text().strip()
    file.chmod(0o640)
    settings = ApiSettings(store_url=store_url, local_token_file=file)
    client = caller_of(create_app(settings), token)
    assert client.post(f"{V1}/redrives/0/cancel").status_code == 401
    assert "readable by its owner only" in caplog.text
    assert token not in caplog.text
