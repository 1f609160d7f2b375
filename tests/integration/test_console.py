"""One night with the console: real dead letters of a real sink, looked at, fixed, put back, archived."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from confluent_kafka.admin import AdminClient
from playwright.sync_api import Browser

from deadwatch.orders.reasons import MEANINGS, ParkReason, SkipReason
from lab import Lab
from lab.connect import json_sink
from lab.topics import Topics
from tests import http
from tests.integration.console_browser import Watched, window
from tests.integration.test_redrive_service import deploy, fix
from tests.integration.up_process import Up, running
from tests.kafka_topics import producing
from tests.names import fresh
from tests.waiting import until

RECORDS, EARLY = 12, 2
SETTLED_S = 5
WITHIN_S, COLD_S = 120, 300
LONG_MS = WITHIN_S * 1_000


@dataclass(frozen=True)
class Sink:
    """A sink that takes JSON, and what it is given."""

    url: str
    config: dict[str, str]
    source: str
    dlq: str


@pytest.fixture
def sink(lab: Lab) -> Iterator[Sink]:
    """Its records have died: they are no JSON."""
    name = fresh()
    source, dlq = f"in-{name}", f"dlq.in-{name}"
    named = {"topics": source, "errors.deadletterqueue.topic.name": dlq}
    config = json_sink(lab.logs.connect.with_name(f"{name}.txt")) | named
    made = Sink(f"{lab.connect_url}/connectors/sink-{name}", config, source, dlq)
    topics = Topics(lab.bootstrap_servers)
    topics.create(source)
    deploy(made.url, made.config)
    with producing(lab.bootstrap_servers) as producer:
        for number in range(RECORDS):
            producer.produce(source, b'{"order":%d, "card":"4111' % number, b"k%d" % number)
    topics.wait_beyond(dlq, RECORDS - 1)
    yield made
    http.delete(made.url).raise_for_status()


@pytest.fixture
def up(lab: Lab, sink: Sink, tmp_path: Path) -> Iterator[Up]:
    """It looks at the sink's dead letters alone: what has died in other tests is not for this night."""
    name, topics = fresh(), AdminClient({"bootstrap.servers": lab.bootstrap_servers}).list_topics(timeout=30)
    others = sorted(topics.topics.keys() - {sink.source, sink.dlq})
    file = tmp_path / "deadwatch.yaml"
    file.write_text(
        f"kafka: {{bootstrap_servers: '{lab.bootstrap_servers}'}}\n"
        f"dlq_topics: ['{re.escape(sink.dlq)}']\ndlq_topics_deny: {json.dumps(others)}\n"
        f"events_topic: deadwatch.events.{name}\ncollector: {{name: {name}}}\n"
    )
    with running(file, tmp_path) as started:
        until(lambda: started.figure("deadwatch_source_up", kind="redrive") == 1, "no worker", COLD_S)
        yield started


def test_a_night_with_the_console(lab: Lab, sink: Sink, up: Up, browser: Browser, tmp_path: Path) -> None:
    until(lambda: up.dead_letters(sink.dlq) == RECORDS, "the dead letters are not counted", COLD_S)
    with window(browser, f"{up.url}/console") as seen:
        seen.sign_in(next(tmp_path.rglob("token")).read_text().strip())
        _find(seen, sink)
        _look(seen, sink)
        _redrive_too_early(seen, sink)
        until(lambda: up.dead_letters(sink.dlq) == RECORDS + EARLY, "they do not come back", COLD_S)
        strings = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
        fix(lab, sink.url, sink.config | strings)
        _redrive(seen, sink)
        _nothing_waits(seen, sink)
        _put_back_what_was_parked(seen, sink)
        _archive(seen, sink)


def _find(seen: Watched, sink: Sink) -> None:
    page = seen.page
    seen.go("/")
    page.get_by_text(f"DataException on {sink.dlq}").wait_for()
    card = page.locator("#signal-dead-letters")
    assert (card.locator(".figure").inner_text(), card.locator(".wrong").count()) == (f"{RECORDS} waiting", 1)
    assert page.title().startswith(f"{RECORDS} waiting · ")
    seen.shoot("lab-overview-waiting")
    seen.go("/groups")
    seen.shoot("lab-groups-waiting")
    page.fill("#filter", f'topic == "{sink.dlq}"')
    seen.act("Search")
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
    assert "DataException" in page.title(), "its newest record, which it loads, is another page"
    page.get_by_text(
        "Caused by: com.fasterxml.jackson"
    ).first.wait_for()  # beyond what the store keeps of a header
    assert "4111" not in page.content(), "a payload is masked"
    seen.shoot("lab-group")


def _redrive_too_early(seen: Watched, sink: Sink) -> None:
    """Two go back before anything was fixed, and come back."""
    page = seen.page
    _sheet(seen, "is it over?", max_records=EARLY)
    seen.act(f"Move {EARLY} records")
    page.locator("#progress .tag", has_text="completed").wait_for(timeout=LONG_MS)
    _figure(seen, "came back", EARLY)
    page.get_by_text("Those that came back failed again").wait_for()
    seen.shoot("lab-came-back")
    _to_the_cause(seen)
    assert f"{EARLY}\ncame back" in page.inner_text("main")
    assert sink.source in page.inner_text("main")


def _redrive(seen: Watched, sink: Sink) -> None:
    """What was moved before is left out, what has come back is parked (one attempt is allowed), the others go
    back and settle.
    """
    page, rest = seen.page, RECORDS - EARLY
    _sheet(seen, "takes text now", max_attempts=1, settle_window_s=SETTLED_S)
    text = page.inner_text("main")
    assert f"{rest}\nwould be moved" in text
    assert f"{EARLY}\nwould be parked" in text
    moved, parked = (
        f"{one} {MEANINGS[one]}" for one in (SkipReason.ALREADY_MOVED, ParkReason.ATTEMPTS_USED_UP)
    )
    for name in (moved, parked, sink.source):
        assert page.get_by_role("cell", name=name, exact=True).is_visible()
    seen.shoot("lab-dry-run")
    seen.act(f"Move {rest} records, park {EARLY}")
    page.locator("#progress .tag", has_text="completed").wait_for(timeout=LONG_MS)
    page.get_by_text(f"{RECORDS + EARLY} done: {rest} moved, {EARLY} parked, {EARLY} skipped").wait_for()
    _figure(seen, "moved", rest)
    _figure(seen, "parked", EARLY)
    _figure(seen, "settled", rest)
    page.get_by_text("All that was moved has settled").wait_for()
    assert seen.issues() == []
    seen.shoot("lab-settled")


def _nothing_waits(seen: Watched, sink: Sink) -> None:
    """A minute ago the cause was new: it is calm as soon as it is worked off, not an hour later."""
    page = seen.page
    seen.go("/")
    card = page.locator("#signal-dead-letters")
    assert (card.locator(".figure").inner_text(), card.locator(".wrong").count()) == ("0 waiting", 0)
    assert page.title().startswith("Overview") or page.title().startswith("(")
    seen.shoot("lab-overview-calm")
    seen.go("/groups?filter=" + quote(f'topic == "{sink.dlq}"'))
    assert page.locator(".rows .tag").all_inner_texts() == ["handled"]
    assert page.title().startswith("Dead letters")
    seen.shoot("lab-groups-calm")
    with page.expect_navigation():
        page.locator("[data-row]").first.click()
    assert "0\nwaiting" in page.inner_text("main")
    seen.shoot("lab-group-calm")


def _put_back_what_was_parked(seen: Watched, sink: Sink) -> None:
    page = seen.page
    seen.go("/parked")
    assert f"{sink.dlq}.parked\n{EARLY} waiting" in page.inner_text("main"), "markers are no records"
    with page.expect_navigation():
        page.locator("li", has_text=sink.dlq).get_by_role("link", name="See why").click()
    with page.expect_navigation():
        page.locator("[data-row]").first.click()
    page.get_by_text("deadwatch.redrive.parked-reason").wait_for()
    seen.go("/parked")
    with page.expect_navigation():
        page.locator("li", has_text=sink.dlq).get_by_role("link", name="Redrive the parked ones…").click()
    page.fill("#reason", "fixed")
    page.fill("#settle_window_s", str(SETTLED_S))
    seen.act("Dry run")
    seen.act(f"Move {EARLY} records")
    _figure(seen, "settled", EARLY)
    seen.go("/parked")
    assert f"{sink.dlq}.parked\n0 waiting" in page.inner_text("main")
    seen.go("/redrives")
    assert "fixed" in page.inner_text("main")


def _sheet(seen: Watched, reason: str, **fields: int) -> None:
    """From the cause to its dry run."""
    page = seen.page
    if "/groups/" not in page.url:
        _to_the_cause(seen)
    with page.expect_navigation():
        page.get_by_role("link", name="Redrive…").click()
    page.fill("#reason", reason)
    for name, value in fields.items():
        page.fill(f"#{name}", str(value))
    seen.act("Dry run")


def _to_the_cause(seen: Watched) -> None:
    with seen.page.expect_navigation():
        seen.page.get_by_role("definition").filter(has_text="cause").get_by_role("link").click()


def _figure(seen: Watched, name: str, value: int) -> None:
    """A figure of the progress that comes by itself."""
    told = seen.page.locator("#progress li", has_text=name).locator("b", has_text=str(value))
    told.wait_for(timeout=LONG_MS)


def _archive(seen: Watched, sink: Sink) -> None:
    page = seen.page
    seen.go("/groups?filter=" + quote(f'topic == "{sink.dlq}"'))
    with page.expect_navigation():
        page.locator("[data-row]").first.click()
    text = page.inner_text("main")
    assert "success rate" in text
    assert "is it over?" in text
    assert "takes text now" in text
    seen.shoot("lab-history")
    page.get_by_role("group").filter(has_text="Owner, note, archive").locator("summary").click()
    page.fill("#archive-reason", "fixed and put back")
    seen.act("Archive")
    page.get_by_text("It comes back by itself when it grows.").wait_for()
    seen.go("/groups?state=archived")
    assert sink.dlq in page.inner_text("main")
    seen.go("/audit")
    told = page.inner_text("main")
    for action in ("redrives.dry-run", "redrives.create", "archive"):
        assert action in told
