"""The doctor's checks in the console: what the api sees, for who may act."""

from collections.abc import Iterator

import pytest

from api.app import create_app
from api.auth.role import Role
from api.auth.settings import OidcSettings
from api.checks import Finding, api_checks, fail, ok, warn
from api.checks.api_checks import identity
from api.settings import ApiSettings
from deadwatch.runtime.kafka import KafkaConnection
from tests import identity_provider
from tests.unit.api.console_visit import Console, token_for, visiting, words

CHECKS = "/health/checks"


@pytest.fixture
def console(store_url: str, now_ms: int) -> Iterator[Console]:
    """An operator's; Kafka is not there."""
    nobody = KafkaConnection(bootstrap_servers="127.0.0.1:1")
    app = create_app(ApiSettings(store_url=store_url, kafka=nobody), lambda: now_ms)
    with visiting(app) as made:
        made.sign_in(token_for(app, Role.OPERATOR))
        yield made


def test_what_fails_comes_first_with_what_to_do(console: Console) -> None:
    text = words(console.get(CHECKS).text)
    assert "1 of 2 checks fails" in text
    failing, healthy = text.index("Kafka fails"), text.index("store ok")
    assert failing < healthy
    assert "cannot be reached" in text
    assert "Check --bootstrap-servers" in text


def test_who_looks_again_at_once_opens_no_connection(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def look(settings: ApiSettings) -> list[Finding]:
        looks.append(settings.port)
        return [ok("store", "is there"), warn("redrive", "<b>no</b> WRITE", "add the ACL")]

    monkeypatch.setattr(api_checks, "of_api", look)
    assert "No check fails." in words(console.get(CHECKS).text)
    assert "<b>no</b>" in words(console.get(CHECKS).text)
    assert "&lt;b&gt;no" in console.get(CHECKS).text
    assert len(looks) == 1


def test_an_identity_provider_is_asked() -> None:
    with identity_provider.provider() as provider:
        there = OidcSettings.model_validate(provider.settings())
        jwts = there.model_copy(update={"client_id": ""})
        assert list(identity(there)) == [ok("identity", f"{there.issuer} answers, people sign in there")]
        assert list(identity(jwts)) == [ok("identity", f"{there.issuer} answers, its JWTs are accepted")]
        elsewhere = provider.issuer.replace("127.0.0.1", "localhost")
        other = there.model_copy(update={"issuer": elsewhere})
        (another,) = identity(other)
        assert another.level == fail("", "", "").level
        assert "is of another issuer" in another.seen
    (away,) = identity(there)
    assert away.level == fail("", "", "").level
    assert list(identity(OidcSettings())) == []
