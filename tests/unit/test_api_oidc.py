"""JWTs of a provider that answers over HTTP, with real keys: what opens the api, and what does not."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from fastapi.testclient import TestClient
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from sqlalchemy import Engine

from api.app import create_app
from api.errors import IdentityProviderError, UnauthenticatedError
from api.jwks import ASKED_AGAIN_MS, FRESH_MS, USABLE_MS, Keys
from api.oidc import Oidc
from api.oidc_settings import OidcSettings
from api.settings import ApiSettings
from collector.settings_file import SettingsError, load

Claims = dict[str, Any]
RSA = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
OTHER_RSA = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


TO_JWK: dict[type, Callable[..., Any]] = {
    rsa.RSAPrivateKey: RSAAlgorithm.to_jwk,
    ec.EllipticCurvePrivateKey: ECAlgorithm.to_jwk,
    ed25519.Ed25519PrivateKey: OKPAlgorithm.to_jwk,
}
Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


def jwk(key: Key, kid: str, **more: str) -> Claims:
    made = next(to_jwk for kind, to_jwk in TO_JWK.items() if isinstance(key, kind))
    return {**made(key.public_key(), as_dict=True), "kid": kid, "use": "sig", **more}


@dataclass
class Provider:
    """An identity provider: what it tells, how it answers, how often it was asked."""

    url: str = ""
    keys: list[Claims] = field(default_factory=list)
    status: int = 200
    asked: int = 0
    body: bytes | None = None

    def answer(self, path: str) -> tuple[int, bytes]:
        if path == "/.well-known/openid-configuration":
            return 200, json.dumps({"issuer": self.url, "jwks_uri": f"{self.url}/keys"}).encode()
        self.asked += 1
        return self.status, self.body or json.dumps({"keys": self.keys}).encode()

    def settings(self, **changes: object) -> OidcSettings:
        told = {"issuer": self.url, "audience": "deadwatch", "algorithms": ["RS256", "ES256", "EdDSA"]}
        return OidcSettings.model_validate({**told, **changes})


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider(keys=[jwk(RSA, "r1"), jwk(EC, "e1"), jwk(ED, "d1")])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = made.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield made
        server.shutdown()
        thread.join()


def claims(provider: Provider, **changes: object) -> Claims:
    told = {
        "iss": provider.url,
        "aud": ["other", "deadwatch"],
        "sub": "u-1",
        "exp": 4_000_000_000,
        "preferred_username": "ann",
        "roles": ["deadwatch-viewer", "deadwatch-operator", "x"],
    }
    return {name: value for name, value in {**told, **changes}.items() if value is not None}


def signed(
    provider: Provider, key: Key = RSA, alg: str = "RS256", kid: str | None = "r1", **changes: object
) -> str:
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode(claims(provider, **changes), key, alg, headers=headers)


def steady() -> int:
    return 0


@pytest.mark.parametrize(
    ("key", "alg", "kid"), [(RSA, "RS256", "r1"), (EC, "ES256", "e1"), (ED, "EdDSA", "d1")]
)
def test_who_is_known_to_the_provider_gets_the_highest_of_their_roles(
    provider: Provider,
    key: Key,
    alg: str,
    kid: str,
) -> None:
    who = Oidc(provider.settings(), steady).caller(signed(provider, key, alg, kid))
    assert (who.name, who.role, who.token) == ("ann", "operator", "oidc:u-1")


ROLES = {
    "a text": ({"roles": "deadwatch-admin"}, {}, "admin"),
    "nested": (
        {"realm_access": {"roles": ["ops"]}},
        {"role_claim": "realm_access.roles", "roles": {"ops": "operator"}},
        "operator",
    ),
    "none that is known": ({"roles": ["x"]}, {}, None),
    "no claim": ({"roles": None}, {}, None),
    "of another kind": ({"roles": [{"a": 1}, 7, None]}, {}, None),
    "nested in a text": ({"roles": "deadwatch-admin"}, {"role_claim": "roles.x"}, None),
}


@pytest.mark.parametrize(("told", "settings", "role"), ROLES.values(), ids=ROLES)
def test_roles_come_from_the_claim_that_is_set(
    provider: Provider, told: Claims, settings: Claims, role: str | None
) -> None:
    assert Oidc(provider.settings(**settings), steady).caller(signed(provider, **told)).role == role


def test_a_name_cannot_break_a_line(provider: Provider) -> None:
    who = Oidc(provider.settings(), steady).caller(signed(provider, preferred_username="ann\r\n\x1b[31mroot"))
    assert who.name == "ann???[31mroot"


def unsigned(provider: Provider) -> str:
    head = base64.urlsafe_b64encode(b'{"alg": "none", "kid": "r1"}').rstrip(b"=").decode()
    return f"{head}.{signed(provider).split('.')[1]}."


def confused(provider: Provider) -> str:
    """Signed with the public key, as if that were a shared secret."""
    public = RSA.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    head, body, _ = signed(provider).split(".")
    header = base64.urlsafe_b64encode(
        json.dumps({"alg": "HS256", "typ": "JWT", "kid": "r1"}).encode()
    ).rstrip(b"=")
    del head
    text = header + b"." + body.encode()
    mac = base64.urlsafe_b64encode(hmac.new(public, text, hashlib.sha256).digest()).rstrip(b"=")
    return (text + b"." + mac).decode()


def cut(provider: Provider) -> str:
    head, body, signature = signed(provider).split(".")
    other = base64.urlsafe_b64encode(json.dumps(claims(provider, sub="root")).encode()).rstrip(b"=").decode()
    return f"{head}.{other}.{signature}" if body else ""


REFUSED: dict[str, tuple[Callable[[Provider], str], str]] = {
    "not signed": (unsigned, "an algorithm that is taken here"),
    "signed with the public key": (confused, "an algorithm that is taken here"),
    "other claims under the signature": (cut, "is not valid"),
    "signed with a key of its own": (lambda p: signed(p, OTHER_RSA), "is not valid"),
    "a key that is not there": (lambda p: signed(p, kid="zz"), "its issuer does not have"),
    "no key named where there are several": (lambda p: signed(p, kid=None), "its issuer does not have"),
    "the key of another algorithm": (lambda p: signed(p, EC, "ES256", "r1"), "its issuer does not have"),
    "expired": (lambda p: signed(p, exp=1_000_000_000), "has expired"),
    "not yet": (lambda p: signed(p, nbf=3_900_000_000), "not valid yet"),
    "for another": (lambda p: signed(p, aud="other"), "another audience"),
    "of another": (lambda p: signed(p, iss="https://evil.example"), "another issuer"),
    "for ever": (lambda p: signed(p, exp=None), "lacks one of"),
    "of nobody": (lambda p: signed(p, sub=None), "lacks one of"),
    "rubbish": (lambda _: "a.b.c", "no token"),
    "an algorithm nobody set": (lambda p: signed(p, alg="RS512"), "an algorithm that is taken here"),
}


@pytest.mark.parametrize(("make", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_valid_opens_nothing(
    provider: Provider, make: Callable[[Provider], str], why: str
) -> None:
    token = make(provider)
    with pytest.raises(UnauthenticatedError, match=why) as refused:
        Oidc(provider.settings(), steady).caller(token)
    assert token not in str(refused.value)


def test_clocks_may_differ_a_little(provider: Provider) -> None:
    oidc = Oidc(provider.settings(leeway_ms=60_000), steady)
    assert oidc.caller(signed(provider, exp=int(time.time()) - 20)).name == "ann"
    with pytest.raises(UnauthenticatedError, match="expired"):
        Oidc(provider.settings(leeway_ms=0), steady).caller(signed(provider, exp=int(time.time()) - 20))


def test_a_key_that_was_changed_is_asked_for_but_not_for_every_made_up_id(provider: Provider) -> None:
    now = [1_000_000]
    keys = Keys(provider.settings(), lambda: now[0])
    assert keys.get("r1", "RS256") is not None
    for number in range(50):
        assert keys.get(f"made-up-{number}", "RS256") is None
    assert provider.asked == 1
    provider.keys = [jwk(OTHER_RSA, "r2")]
    now[0] += ASKED_AGAIN_MS
    assert keys.get("r2", "RS256") is not None
    assert keys.get("r1", "RS256") is None, "it was taken back"
    assert provider.asked == 2


def test_while_the_provider_is_away_known_keys_go_on_for_a_day(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    now = [1_000_000]
    keys = Keys(provider.settings(), lambda: now[0])
    keys.get("r1", "RS256")
    provider.status = 500
    for _ in range(3):
        now[0] += FRESH_MS
        assert keys.get("r1", "RS256") is not None
    assert caplog.text.count("cannot be had") == 1
    now[0] += USABLE_MS
    with pytest.raises(IdentityProviderError, match="does not tell its keys"):
        keys.get("r1", "RS256")
    provider.status = 200
    now[0] += ASKED_AGAIN_MS
    assert keys.get("r1", "RS256") is not None


HOSTILE = {
    "no JSON": b"<html>",
    "no object": b"[1]",
    "no keys": b"{}",
    "keys of no kind": b'{"keys": [1, null]}',
    "too long": b'{"keys": [], "x": "' + b"x" * 1_100_000 + b'"}',
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_an_answer_that_is_no_set_of_keys_is_as_none(provider: Provider, body: bytes) -> None:
    provider.body = body
    with pytest.raises(IdentityProviderError):
        Keys(provider.settings(), steady).get("r1", "RS256")


@pytest.mark.parametrize(
    "key", [{"kty": "oct", "k": "c2VjcmV0", "kid": "r1"}, {"kty": "RSA", "kid": "r1"}, {"kid": "r1"}]
)
def test_a_key_that_is_no_public_key_is_none(provider: Provider, key: Claims) -> None:
    provider.keys = [key]
    assert Keys(provider.settings(), steady).get("r1", "RS256") is None


def test_over_the_api_a_jwt_is_as_good_as_a_token(
    provider: Provider, store: Engine, store_file: Path
) -> None:
    del store
    settings = ApiSettings(store_url=f"sqlite:///{store_file}", host="0.0.0.0", oidc=provider.settings())  # noqa: S104 -- nothing listens
    client = TestClient(create_app(settings), "https://deadwatch.example", client=("203.0.113.9", 1))

    def ask(path: str, token: str) -> tuple[int, str]:
        answer = client.get(f"/api/v1/{path}", headers={"Authorization": f"Bearer {token}"})
        return answer.status_code, answer.json().get("type", "").removeprefix("urn:deadwatch:problem:")

    assert ask("audit", signed(provider)) == (200, "")
    assert ask("tokens", signed(provider)) == (403, "forbidden")
    assert ask("overview", signed(provider, roles=[])) == (403, "forbidden")
    assert ask("overview", signed(provider, exp=1)) == (401, "unauthenticated")
    assert client.get("/api/v1/overview").status_code == 401


def test_a_provider_that_was_never_there_is_503_and_no_reason_to_be_refused_for_long(
    store: Engine, store_file: Path
) -> None:
    del store
    oidc = OidcSettings(issuer="http://127.0.0.1:1", audience="deadwatch")
    client = TestClient(create_app(ApiSettings(store_url=f"sqlite:///{store_file}", oidc=oidc)))
    token = jwt.encode({"sub": "x"}, RSA, "RS256", headers={"kid": "r1"})
    for _ in range(20):
        answer = client.get("/api/v1/overview", headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
        assert answer.json()["type"].endswith(":identity-provider-unavailable")


SETTINGS = {
    "no audience": ({"ISSUER": "https://id.example"}, "audience is needed"),
    "an issuer on the way to which anybody listens": (
        {"ISSUER": "http://id.example", "AUDIENCE": "d"},
        "https://",
    ),
    "keys from where anybody listens": (
        {"ISSUER": "https://id.example", "AUDIENCE": "d", "JWKS_URL": "http://id.example/keys"},
        "https://",
    ),
    "a shared secret": (
        {"ISSUER": "https://id.example", "AUDIENCE": "d", "ALGORITHMS": '["HS256"]'},
        "algorithms",
    ),
    "none": ({"ISSUER": "https://id.example", "AUDIENCE": "d", "ALGORITHMS": '["none"]'}, "algorithms"),
    "an audience of nobody": ({"AUDIENCE": "d"}, "goes with issuer"),
}


@pytest.mark.parametrize(("variables", "why"), SETTINGS.values(), ids=SETTINGS)
def test_what_would_let_others_in_is_refused_at_start(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], why: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"API_OIDC__{name}", value)
    with pytest.raises(SettingsError, match=why):
        load(ApiSettings)
