"""JWTs of a provider that answers over HTTP, with real keys: what opens the api, and what does not."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator

import httpx2
import pytest
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey

from api.app import create_app
from api.auth.identity_provider import ASKED_AGAIN_MS, FRESH_MS, USABLE_MS, IdentityProvider
from api.auth.oidc import JwtVerifier
from api.auth.settings import OidcSettings
from api.errors import IdentityProviderError, UnauthenticatedError
from api.settings import ApiSettings
from deadwatch.runtime.process import SettingsError
from deadwatch.runtime.settings_file import load
from tests import identity_provider
from tests.caller import Caller
from tests.identity_provider import AUDIENCE, KEY, Claims, Provider
from tests.unit.api.answers import problem

OTHER_RSA = RSAKey.generate_key(2_048, {"kid": "r2"})
EC = ECKey.generate_key("P-256", {"kid": "e1"})
EC_384 = ECKey.generate_key("P-384", {"kid": "e2"})
ED = OKPKey.generate_key("Ed25519", {"kid": "d1"})


def running() -> Iterator[Provider]:
    with identity_provider.provider() as provider:
        provider.public = [key.as_dict(private=False) for key in (KEY, EC, EC_384, ED)]
        yield provider


unchanged = pytest.fixture(running, scope="module")
"""For tests that only ask it."""
provider = pytest.fixture(running)


def oidc(provider: Provider, **changes: object) -> OidcSettings:
    return OidcSettings.model_validate(
        provider.settings(algorithms=["RS256", "PS256", "ES256", "EdDSA"], **changes)
    )


def signed(
    provider: Provider, key: Key = KEY, alg: str = "RS256", kid: str | None = "k1", **changes: object
) -> str:
    claims = {
        "iss": provider.issuer,
        "aud": ["other", AUDIENCE],
        "sub": "u-1",
        "exp": 4_000_000_000,
        "preferred_username": "ann",
        "roles": ["deadwatch-viewer", "deadwatch-operator", "x"],
        **changes,
    }
    claims = {name: value for name, value in claims.items() if value is not None}
    return identity_provider.signed(claims, key, alg, kid)


def steady() -> int:
    return 0


def verifier(provider: Provider, **changes: object) -> JwtVerifier:
    settings = oidc(provider, **changes)
    return JwtVerifier(settings, IdentityProvider(settings, steady))


@pytest.fixture(scope="module")
def usual(unchanged: Provider) -> JwtVerifier:
    """For all that need no settings of their own."""
    return verifier(unchanged)


@pytest.mark.parametrize(
    ("key", "alg", "kid"),
    [(KEY, "RS256", "k1"), (KEY, "PS256", "k1"), (EC, "ES256", "e1"), (ED, "EdDSA", "d1")],
)
def test_who_is_known_to_the_provider_gets_the_highest_of_their_roles(
    unchanged: Provider, usual: JwtVerifier, key: Key, alg: str, kid: str
) -> None:
    who = usual.caller(signed(unchanged, key, alg, kid))
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


@pytest.mark.parametrize(("claims", "settings", "role"), ROLES.values(), ids=ROLES)
def test_roles_come_from_the_claim_that_is_set(
    unchanged: Provider, claims: Claims, settings: Claims, role: str | None
) -> None:
    assert verifier(unchanged, **settings).caller(signed(unchanged, **claims)).role == role


def test_a_name_cannot_break_a_line(unchanged: Provider, usual: JwtVerifier) -> None:
    who = usual.caller(signed(unchanged, preferred_username="ann\r\n\x1b[31mroot"))
    assert who.name == "ann???[31mroot"


def segment(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def headed(provider: Provider, header: object, *, sign: bool = False) -> str:
    """A JWT with any header: not signed, or signed with the public key as if that were a shared secret."""
    text = f"{segment(json.dumps(header).encode())}.{signed(provider).split('.')[1]}"
    mac = hmac.new(KEY.as_pem(private=False), text.encode(), hashlib.sha256).digest() if sign else b""
    return f"{text}.{segment(mac)}"


def exchanged(provider: Provider) -> str:
    """Other claims under the signature."""
    head, _, signature = signed(provider).split(".")
    return f"{head}.{signed(provider, sub='root').split('.')[1]}.{signature}"


def critical(provider: Provider) -> str:
    head = {"alg": "RS256", "kid": "k1", "crit": ["exp"], "exp": 4_000_000_000}
    return headed(provider, head)


NOT_TAKEN, NOT_THERE, NO_TOKEN = "an algorithm that is taken here", "its issuer does not have", "no token"
REFUSED: dict[str, tuple[Callable[[Provider], str], str]] = {
    "not signed": (lambda p: headed(p, {"alg": "none", "kid": "k1"}), NOT_TAKEN),
    "signed with the public key": (lambda p: headed(p, {"alg": "HS256", "kid": "k1"}, sign=True), NOT_TAKEN),
    "other claims under the signature": (exchanged, "is not valid"),
    "no signature": (lambda p: headed(p, {"alg": "RS256", "kid": "k1"}), "is not valid"),
    "signed with a key of its own": (lambda p: signed(p, OTHER_RSA), "is not valid"),
    "a key that is not there": (lambda p: signed(p, kid="zz"), NOT_THERE),
    "no key named where there are several": (lambda p: signed(p, kid=None), NOT_THERE),
    "the key of another algorithm": (lambda p: signed(p, EC, "ES256", "k1"), NOT_THERE),
    "the key of another curve": (lambda p: signed(p, EC, "ES256", "e2"), NOT_THERE),
    "expired": (lambda p: signed(p, exp=1_000_000_000), "has expired"),
    "not yet": (lambda p: signed(p, nbf=3_900_000_000), "not valid yet"),
    "made later": (lambda p: signed(p, iat=3_900_000_000), "not valid yet"),
    "for another": (lambda p: signed(p, aud="other"), "another audience"),
    "for a list of lists": (lambda p: signed(p, aud=[[AUDIENCE]]), "another audience"),
    "of another": (lambda p: signed(p, iss="https://evil.example"), "another issuer"),
    "of several": (lambda p: signed(p, iss=[p.issuer]), "another issuer"),
    "for ever": (lambda p: signed(p, exp=None), "lacks one of"),
    "for all": (lambda p: signed(p, aud=None), "lacks one of"),
    "from nowhere": (lambda p: signed(p, iss=None), "lacks one of"),
    "until no number": (lambda p: signed(p, exp=float("nan")), "is not valid"),
    "of nobody": (lambda p: signed(p, sub=None), "lacks one of"),
    "an algorithm nobody set": (lambda p: signed(p, alg="RS512"), NOT_TAKEN),
    "an extension that is critical": (critical, NO_TOKEN),
    "rubbish": (lambda _: "a.b.c", NO_TOKEN),
    "a header that is a text": (lambda p: headed(p, "alg"), NO_TOKEN),
    "a header that is a list": (lambda p: headed(p, ["alg"]), NO_TOKEN),
    "a header without algorithm": (lambda p: headed(p, {"kid": "k1"}), NO_TOKEN),
    "an algorithm that is no text": (lambda p: headed(p, {"alg": ["RS256"]}), NO_TOKEN),
    "a key id that is no text": (lambda p: headed(p, {"alg": "RS256", "kid": ["k1"]}), NO_TOKEN),
    "critical ones that are no list": (lambda p: headed(p, {"alg": "RS256", "crit": 5}), NO_TOKEN),
    "a deep header": (lambda _: f"{segment(b'[' * 9_000)}.e30.c2ln", NO_TOKEN),
}


@pytest.mark.parametrize(("make", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_valid_opens_nothing(
    unchanged: Provider, usual: JwtVerifier, make: Callable[[Provider], str], why: str
) -> None:
    token = make(unchanged)
    with pytest.raises(UnauthenticatedError, match=why) as refused:
        usual.caller(token)
    assert token not in str(refused.value)


def test_clocks_may_differ_a_little(unchanged: Provider) -> None:
    token = signed(unchanged, exp=int(time.time()) - 20)
    assert verifier(unchanged, leeway_ms=60_000).caller(token).name == "ann"
    with pytest.raises(UnauthenticatedError, match="expired"):
        verifier(unchanged, leeway_ms=0).caller(token)


def test_a_key_that_was_changed_is_asked_for_but_not_for_every_made_up_id(provider: Provider) -> None:
    now = [1_000_000]
    asked = IdentityProvider(oidc(provider), lambda: now[0])
    assert asked.key("k1", "RS256") is not None
    for number in range(50):
        assert asked.key(f"made-up-{number}", "RS256") is None
    assert provider.keys_asked == 1
    provider.public = [OTHER_RSA.as_dict(private=False)]
    now[0] += ASKED_AGAIN_MS
    assert asked.key("r2", "RS256") is not None
    assert asked.key("k1", "RS256") is None, "it was taken back"
    assert provider.keys_asked == 2


def test_while_the_provider_is_away_known_keys_go_on_for_a_day(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    now = [1_000_000]
    asked = IdentityProvider(oidc(provider), lambda: now[0])
    asked.key("k1", "RS256")
    provider.keys_status = 500
    for _ in range(3):
        now[0] += FRESH_MS
        assert asked.key("k1", "RS256") is not None
    assert caplog.text.count("does not tell its keys") == 1
    now[0] += USABLE_MS
    with pytest.raises(IdentityProviderError, match="does not tell its keys"):
        asked.key("k1", "RS256")
    provider.keys_status = 200
    now[0] += ASKED_AGAIN_MS
    assert asked.key("k1", "RS256") is not None


HOSTILE = {
    "no JSON": b"<html>",
    "no object": b"[1]",
    "a deep one": b"[" * 100_000,
    "no keys": b"{}",
    "keys of no kind": b'{"keys": [1, null]}',
    "too long": b'{"keys": [], "x": "' + b"x" * 1_100_000 + b'"}',
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_an_answer_that_is_no_set_of_keys_is_as_none(provider: Provider, body: bytes) -> None:
    provider.keys_body = body
    with pytest.raises(IdentityProviderError):
        IdentityProvider(oidc(provider), steady).key("k1", "RS256")


@pytest.mark.parametrize(
    "key", [{"kty": "oct", "k": "c2VjcmV0", "kid": "k1"}, {"kty": "RSA", "kid": "k1"}, {"kid": "k1"}]
)
def test_a_key_that_is_no_public_key_is_none(provider: Provider, key: Claims) -> None:
    provider.public = [key]
    assert IdentityProvider(oidc(provider), steady).key("k1", "RS256") is None


def test_over_the_api_a_jwt_is_as_good_as_a_token(unchanged: Provider, store_url: str) -> None:
    settings = ApiSettings(store_url=store_url, host="0.0.0.0", oidc=oidc(unchanged))  # noqa: S104 -- nothing listens
    client = Caller(create_app(settings), "https://deadwatch.example", peer="203.0.113.9")

    def ask(path: str, token: str) -> httpx2.Response:
        return client.get(f"/api/v1/{path}", headers={"Authorization": f"Bearer {token}"})

    assert ask("audit", signed(unchanged)).status_code == 200
    assert problem(ask("tokens", signed(unchanged))) == "403 forbidden"
    assert problem(ask("overview", signed(unchanged, roles=[]))) == "403 forbidden"
    assert problem(ask("overview", signed(unchanged, exp=1))) == "401 unauthenticated"
    assert client.get("/api/v1/overview").status_code == 401


def test_a_provider_that_was_never_there_is_503_and_no_reason_to_be_refused_for_long(store_url: str) -> None:
    away = OidcSettings(issuer="http://127.0.0.1:1", audience="deadwatch")
    client = Caller(create_app(ApiSettings(store_url=store_url, oidc=away)), "http://testserver")
    token = identity_provider.signed({"sub": "x"})
    for _ in range(20):
        answer = client.get("/api/v1/overview", headers={"Authorization": f"Bearer {token}"})
        assert problem(answer) == "503 identity-provider-unavailable"
        assert answer.headers["retry-after"] == "10"


SETTINGS: dict[str, tuple[Claims, str]] = {
    "no audience": ({"audience": ""}, "audience is needed"),
    "an issuer on the way to which anybody listens": ({"issuer": "http://id.example"}, "https://"),
    "keys from where anybody listens": ({"jwks_url": "http://id.example/keys"}, "https://"),
    "a shared secret": ({"algorithms": ["HS256"]}, "algorithms"),
    "no signature": ({"algorithms": ["none"]}, "algorithms"),
    "an audience of nobody": ({"issuer": ""}, "goes with issuer"),
    "a secret without client": ({"client_secret": "s"}, "client_secret goes with client_id"),
    "no openid": ({"client_id": "c", "scopes": ["profile"]}, "scopes need openid"),
    "another way back": ({"client_id": "c", "redirect_uri": "https://a.example/"}, "redirect_uri"),
}


def test_settings_that_cannot_work_or_would_let_others_in_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, (changes, why) in SETTINGS.items():
        settings = {"issuer": "https://id.example", "audience": "deadwatch", **changes}
        monkeypatch.setenv("API_OIDC", json.dumps(settings))
        with pytest.raises(SettingsError) as refused:
            load(ApiSettings)
        assert why in str(refused.value), name
