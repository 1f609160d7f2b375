"""What the api refuses at the door."""

import re

import pytest

from api.settings import ApiSettings
from deadwatch.runtime.process import SettingsError
from deadwatch.runtime.settings_file import load
from deadwatch.runtime.version import VERSION
from tests.paths import ROOT


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_is_served(host: str) -> None:
    assert ApiSettings(host=host).host == host


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "192.168.1.10", "example.org", "localhost.example.org"],  # noqa: S104 - refused
)
def test_a_public_address_is_refused_without_authentication(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_HOST", host)
    refused = f"^api settings: host {re.escape(host)} is reached from other .*API_TOKEN_PEPPER.*API_HOST\\)$"
    with pytest.raises(SettingsError, match=refused):
        load(ApiSettings)
    monkeypatch.setenv("API_TOKEN_PEPPER", "p" * 32)
    assert load(ApiSettings).host == host


def test_a_pepper_that_can_be_guessed_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN_PEPPER", "hunter2")
    with pytest.raises(SettingsError, match=r"^api settings: token_pepper: .*32 characters") as refused:
        load(ApiSettings)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("url", ["", "sqlite://", "sqlite:///", "sqlite:///:memory:", "mysql://u:secret@h/d"])
def test_a_store_that_streaming_cannot_write_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ValueError, match="must be sqlite:///FILE or postgresql://"):
        ApiSettings(store_url=url)


def test_the_version_is_the_project_s() -> None:
    (declared,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert declared == VERSION
