"""One lab for all integration tests, ended behind the last of them: its truth only grows, so a test compares
before and after.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from kafka import KafkaAdminClient
from playwright.sync_api import Browser, sync_playwright

from api.auth.role import Role
from api.settings import ApiSettings
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.store.store import Store
from lab import Lab
from lab.broker import LoneBroker
from lab.proxy import Proxy
from lab.topics import Topics
from tests.integration import console_api
from tests.integration.collected import collected, topics_source
from tests.integration.console_api import Served
from tests.integration.console_browser import Watched, chromium, missing, window
from tests.integration.findings_place import Way
from tests.integration.redrive_place import Place
from tests.integration.streaming_process import Streaming, Traffic
from tests.names import fresh
from tests.operators import operator


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


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The address of an empty store."""
    address = f"sqlite:///{tmp_path / 'deadwatch.db'}"
    with Store(address):
        return address


@pytest.fixture
def serve(lab: Lab, url: str, tmp_path: Path) -> Iterator[Callable[..., TestClient]]:
    """The api on that store and the lab's Kafka, to nobody in particular (a viewer), or to an operator."""
    opened: list[TestClient] = []

    def begin(role: Role = Role.VIEWER, **settings: Any) -> TestClient:  # noqa: ANN401
        kafka = KafkaConnection(bootstrap_servers=lab.bootstrap_servers)
        client = operator(ApiSettings(**{"store_url": url, "kafka": kafka, **settings}), tmp_path)
        if role is Role.VIEWER:
            del client.headers["Authorization"]
        opened.append(client)
        return client

    yield begin
    for client in opened:
        client.close()


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


@pytest.fixture
def seen(served: Served, browser: Browser) -> Iterator[Watched]:
    """A window of nobody in particular."""
    with window(browser, served.base) as opened:
        yield opened


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest) -> Iterator[LoneBroker]:
    """One of the module's own, with its settings ``BROKER``, before which a proxy may stand."""
    with LoneBroker(getattr(request.module, "BROKER", None)) as running:
        yield running


@pytest.fixture(scope="module")
def proxy(broker: LoneBroker) -> Iterator[Proxy]:
    with broker.proxy as running:
        yield running


@pytest.fixture
def place(lab: Lab, request: pytest.FixtureRequest) -> Place:
    """Topics of the test's own, as wide as its parameter says."""
    width, dlq_width = getattr(request, "param", (3, 3))
    name = fresh("orders-")
    found = Place(lab.bootstrap_servers, name, f"dlq.{name}")
    topics = Topics(found.servers)
    topics.create(found.topic, partitions=width)
    topics.create(found.dlq, partitions=dlq_width)
    return found


@pytest.fixture
def way(lab: Lab, tmp_path: Path) -> Iterator[Way]:
    with closing(topics_source(lab)) as source, collected(tmp_path) as store:
        opened = Way(source, store)
        opened.others = opened.found()
        yield opened


@pytest.fixture
def admin(lab: Lab) -> Iterator[KafkaAdminClient]:
    with closing(KafkaAdminClient(bootstrap_servers=lab.bootstrap_servers)) as client:
        yield client
