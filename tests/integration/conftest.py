"""One lab for all integration tests, ended behind the last of them: its truth only grows, so a test compares
before and after.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from lab import Lab
from tests.integration import console_api
from tests.integration.console_api import Served
from tests.integration.console_browser import chromium, missing
from tests.integration.streaming_process import Streaming, Traffic
from tests.names import fresh


@pytest.fixture(scope="package")
def lab() -> Iterator[Lab]:
    with Lab() as running:
        yield running


@pytest.fixture
def traffic(lab: Lab) -> Traffic:
    return Traffic(lab.bootstrap_servers, fresh("traffic-"))


@pytest.fixture
def streaming(lab: Lab, traffic: Traffic, tmp_path: Path) -> Streaming:
    """On SQLite."""
    return Streaming(lab.bootstrap_servers, traffic, tmp_path)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The api with its console, without Kafka."""
    with console_api.serving(tmp_path_factory.mktemp("console")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Skipped with the reason where there is none; not for longer: it keeps the thread's event loop."""
    if reason := missing():
        pytest.skip(reason)
    with sync_playwright() as playwright, chromium(playwright) as running:
        yield running
