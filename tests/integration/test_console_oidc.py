"""Signing in at an identity provider of another site, in a real Chromium."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests import identity_provider
from tests.console_store import MAIN_GROUP, RUNNING
from tests.identity_provider import Provider
from tests.integration import console_api
from tests.integration.console_api import Served
from tests.integration.console_browser import window

GROUP = f"/groups/{MAIN_GROUP}"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    """By another name than the console: to a browser another site."""
    with identity_provider.provider("localhost") as running:
        running.people["ann"] = {"preferred_username": "ann", "roles": ["deadwatch-operator"]}
        yield running


@pytest.fixture(scope="module")
def served(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with console_api.serving(tmp_path_factory.mktemp("oidc"), oidc=provider.settings()) as running:
        yield running


def test_somebody_signs_in_there_and_acts_here(provider: Provider, served: Served, browser: Browser) -> None:
    with window(browser, served.base, also=provider.issuer) as seen:
        page = seen.page
        seen.go(GROUP)
        with page.expect_navigation():
            page.get_by_role("link", name="Sign in").click()
        seen.shoot("sign-in-oidc")
        assert seen.issues() == []
        with page.expect_navigation():
            page.get_by_role("link", name="Sign in at localhost").click()
        page.get_by_role("heading", name="Who are you?").wait_for()
        with page.expect_navigation(url=served.base + GROUP):
            page.get_by_role("button", name="I am Ann").click()
        assert "ann · operator" in page.inner_text("header"), "the cookie came along from the other site"
        seen.go(f"/redrives/{RUNNING}")
        seen.act("Pause")
        page.get_by_role("button", name="Resume").wait_for()
        seen.act("Sign out")
        assert "ann" not in page.inner_text("header")
