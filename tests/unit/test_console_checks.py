"""The doctor's checks in the console: what the api sees, for who may act."""

import re
import socket
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from sqlalchemy import Engine

from api.app import create_app
from api.auth import Role
from api.checks import examination
from api.checks.finding import Finding, fail, ok, warn
from api.checks.identity import identity
from api.oidc_settings import OidcSettings
from api.settings import ApiSettings
from collector.kafka import KafkaConnection
from tests import identity_provider
from tests.unit.console_visit import Console, visiting


@pytest.fixture
def console(store: Engine, store_file: Path, now_ms: int) -> Iterator[Console]:
    """An operator's; Kafka is not there."""
    del store
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = KafkaConnection(bootstrap_servers=f"127.0.0.1:{closed.getsockname()[1]}")
    app = create_app(ApiSettings(store_url=f"sqlite:///{store_file}", kafka=nobody), lambda: now_ms)
    _, credential = app.state.service.desk.create("ann", Role.OPERATOR, 0, "test", lambda *_: None)
    with visiting(app) as made:
        made.sign_in(credential.text)
        yield made


def test_what_fails_comes_first_with_what_to_do(console: Console) -> None:
    text = words(console)
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

    monkeypatch.setattr(examination, "of_api", look)
    assert "No check fails." in words(console)
    assert "<b>no</b>" in words(console)
    assert "&lt;b&gt;no" in console.get("/health/checks").text
    assert len(looks) == 1


def test_an_identity_provider_is_asked() -> None:
    with identity_provider.provider() as provider:
        there = OidcSettings.model_validate(provider.settings())
        jwts = there.model_copy(update={"client_id": ""})
        assert list(identity(there)) == [ok("identity", f"{there.issuer} answers, people sign in there")]
        assert list(identity(jwts)) == [ok("identity", f"{there.issuer} answers, its JWTs are taken")]
        elsewhere = provider.issuer.replace("127.0.0.1", "localhost")
        other = there.model_copy(update={"issuer": elsewhere})
        (another,) = identity(other)
        assert another.level == fail("", "", "").level
        assert "is of another issuer" in another.seen
    (away,) = identity(there)
    assert away.level == fail("", "", "").level
    assert list(identity(OidcSettings())) == []


def words(console: Console) -> str:
    text = re.sub(r"<[^>]+>", " ", console.get("/health/checks").text)
    return " ".join(unescape(text).split())
