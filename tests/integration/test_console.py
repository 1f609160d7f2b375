"""One night with the console: real dead letters of a real sink, looked at, mended, put back, archived."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser, sync_playwright

from lab import Lab
from lab.connect import json_sink
from lab.topics import Topics
from tests.integration.console_browser import Watched, chromium, missing, window
from tests.integration.test_up import Up, running
from tests.waiting import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(bool(missing()), reason=missing() or "there is one"),
]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab of its own: what dies here is no other test's."""
    with Lab() as running:
        yield running


RECORDS = 12
WITHIN_S, COLD_S = 120, 300


@dataclass(frozen=True)
class Sink:
    """A sink that takes JSON, and what it is given."""

    url: str
    config: dict[str, str]
    source: str
    dlq: str

    def deploy(self, **more: str) -> None:
        config = self.config | {name.replace("_", "."): value for name, value in more.items()}
        httpx2.put(f"{self.url}/config", json=config, trust_env=False).raise_for_status()
        until(self._runs, "the sink does not run", WITHIN_S)

    def _runs(self) -> bool:
        status = httpx2.get(f"{self.url}/status", trust_env=False)
        return status.is_success and [task["state"] for task in status.json()["tasks"]] == ["RUNNING"]


@pytest.fixture
def sink(lab: Lab) -> Iterator[Sink]:
    """Its records have died: they are no JSON."""
    name = uuid.uuid4().hex[:8]
    source, dlq = f"in-{name}", f"dlq.in-{name}"
    named = {"topics": source, "errors.deadletterqueue.topic.name": dlq}
    config = json_sink(lab.logs.connect.with_name(f"{name}.txt")) | named
    made = Sink(f"{lab.connect_url}/connectors/sink-{name}", config, source, dlq)
    topics = Topics(lab.bootstrap_servers)
    topics.create(source)
    made.deploy()
    producer = Producer({"bootstrap.servers": lab.bootstrap_servers})
    for number in range(RECORDS):
        producer.produce(source, b'{"order":%d, "card":"4111' % number, b"k%d" % number)
    assert producer.flush(WITHIN_S) == 0
    topics.wait_beyond(dlq, RECORDS - 1)
    yield made
    httpx2.delete(made.url, trust_env=False).raise_for_status()


@pytest.fixture
def up(lab: Lab, tmp_path: Path) -> Iterator[Up]:
    name = uuid.uuid4().hex[:8]
    file = tmp_path / "deadwatch.yaml"
    file.write_text(
        f"kafka: {{bootstrap_servers: '{lab.bootstrap_servers}'}}\n"
        f"events_topic: deadwatch.events.{name}\ncollector: {{name: {name}}}\n"
    )
    with running(file, tmp_path) as started:
        until(lambda: started.figure("deadwatch_source_up", kind="redrive") == 1, "no worker", COLD_S)
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, chromium(playwright) as started:
        yield started


def test_a_night_with_the_console(sink: Sink, up: Up, browser: Browser, tmp_path: Path) -> None:
    until(lambda: up.dead_letters(sink.dlq) == RECORDS, "the dead letters are not counted", COLD_S)
    with window(browser, f"{up.url}/console") as seen:
        seen.sign_in(next(tmp_path.rglob("token")).read_text().strip())
        _find(seen, sink)
        _look(seen, sink)
        sink.deploy(value_converter="org.apache.kafka.connect.storage.StringConverter")
        _redrive(seen, sink)
        _archive(seen, sink)


def _find(seen: Watched, sink: Sink) -> None:
    page = seen.page
    seen.go("/")
    page.get_by_text(f"DataException on {sink.dlq}").wait_for()
    seen.go("/groups")
    page.fill("#filter", f'topic == "{sink.dlq}"')
    seen.act("Filter")
    assert page.locator("[data-row]").count() == 1
    with page.expect_navigation():
        page.locator("[data-row]").click()


def _look(seen: Watched, sink: Sink) -> None:
    page = seen.page
    text = page.inner_text("main")
    assert f"{RECORDS}\nrecords" in text
    assert sink.dlq in text
    page.get_by_role("heading", name="__connect.errors.exception.stacktrace").first.wait_for()
    page.locator("details.sample").first.get_by_role("heading", name="Value").wait_for()
    assert "4111" not in page.content(), "a payload is masked"
    seen.shoot("lab-group")


def _redrive(seen: Watched, sink: Sink) -> None:
    page = seen.page
    with page.expect_navigation():
        page.get_by_role("link", name="Redrive…").click()
    page.fill("#reason", "takes text now")
    seen.act("Dry run")
    assert f"{RECORDS}\nwould be moved" in page.inner_text("main")
    assert page.get_by_role("cell", name=sink.source, exact=True).is_visible()
    seen.shoot("lab-dry-run")
    seen.act(f"Move {RECORDS} records")
    page.locator("#progress .tag", has_text="completed").wait_for(timeout=WITHIN_S * 1_000)
    page.get_by_text(f"of {RECORDS} moved").wait_for()
    page.locator("#progress b", has_text=str(RECORDS)).first.wait_for(timeout=WITHIN_S * 1_000)
    seen.shoot("lab-redrive")


def _archive(seen: Watched, sink: Sink) -> None:
    page = seen.page
    with page.expect_navigation():
        page.get_by_role("definition").filter(has_text="cause").get_by_role("link").click()
    page.get_by_role("group").filter(has_text="Owner, note, archive").locator("summary").click()
    page.fill("#archive-reason", "mended and put back")
    seen.act("Archive")
    page.get_by_text("It comes back by itself when it grows.").wait_for()
    seen.go("/groups?state=archived")
    assert sink.dlq in page.inner_text("main")
    seen.go("/audit")
    told = page.inner_text("main")
    for action in ("redrives.dry-run", "redrives.create", "archive"):
        assert action in told
