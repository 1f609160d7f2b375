"""Every command that a runbook tells somebody to type at 3 a.m. is one that exists."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
import typer
from starlette.routing import BaseRoute, Match

from api.app import create_app
from api.metrics import catalog
from api.settings import ApiSettings
from cli.main import app
from dashboards.boards import ALL
from dashboards.panels import Page
from dashboards.rules.groups import NAMES
from deadwatch.store import heartbeat
from tests.paths import ROOT

RUNBOOKS = ROOT / "docs" / "runbooks"
PAGES = [RUNBOOKS / f"{name}.md" for name in NAMES]
HEADINGS = ["What it means", "Who is hurt", "How to look", "How to fix", "How to prove it is over"]
OURS = "127.0.0.1:8000"
ELSEWHERE = {"connect:8083", "prometheus:9090", "alertmanager:9093"}
TOOLS = {"curl", "deadwatch", "df", "grep", "jcmd", "kubectl"}
KAFKA = {
    "kafka-acls.sh",
    "kafka-configs.sh",
    "kafka-consumer-groups.sh",
    "kafka-features.sh",
    "kafka-get-offsets.sh",
    "kafka-metadata-quorum.sh",
    "kafka-share-groups.sh",
    "kafka-topics.sh",
}


BY_COMMAND = {
    f"/api/v1/{route}"
    for route in ("dead-letters/groups", "dead-letters/topics", "findings", "overview", "redrives", "tasks")
}
"""Routes that a command of ours shows, with the token that it finds."""
FOR_EVER = ("deadwatch cancel", "-X DELETE")

Routes = Sequence[BaseRoute]


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Routes:
    """Those of the api."""
    store_url = f"sqlite:///{tmp_path_factory.mktemp('api')}/none.db"
    return create_app(ApiSettings(store_url=store_url)).routes


COMMANDS = [
    (page, shlex.split(line.removeprefix("$ ")))
    for page in PAGES
    for line in page.read_text().splitlines()
    if line.startswith("$ ")
]


def of(*tools: str) -> list[list[str]]:
    return [words for _, words in COMMANDS if words[0] in tools]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_a_page_answers_every_question(page: Path) -> None:
    text = page.read_text()
    assert text.startswith(f"# {page.stem}\n")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    for section in text.split("\n## ")[1:]:
        assert len(section.split("\n", 1)[1].split()) > 5, section
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (RUNBOOKS / link).is_file(), link
    assert set(re.findall(r"\bdeadwatch_[a-z_]+\b", text)) <= {metric.name for metric in catalog.ALL}
    for title in re.findall(r'dashboard "([^"]+)"', text):
        assert any(board.title.endswith(title) for board in ALL), title
    assert sum(words[0] in TOOLS | KAFKA for where, words in COMMANDS if where == page) >= 2


def test_every_command_is_one_that_exists() -> None:
    assert {words[0] for _, words in COMMANDS} <= TOOLS | KAFKA


@pytest.fixture(scope="module")
def deadwatch() -> Any:  # noqa: ANN401 -- Typer's command, which has no public type
    """The command line, made once: to read all its functions takes 8 ms."""
    return typer.main.get_command(app)


@pytest.mark.parametrize("words", of("deadwatch"), ids=" ".join)
def test_our_command_line_takes_it(deadwatch: Any, words: list[str]) -> None:  # noqa: ANN401 -- as above
    command, rest, parent = deadwatch, words[1:], None
    while hasattr(command, "resolve_command"):
        context = command.make_context(command.name, rest, parent=parent)
        _, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        parent = context
    command.make_context(command.name, rest, parent=parent)


def test_a_command_that_does_not_exist_would_be_noticed(deadwatch: Any) -> None:  # noqa: ANN401 -- as above
    with pytest.raises(Exception, match="No such option: --colour"):
        test_our_command_line_takes_it(deadwatch, ["deadwatch", "topics", "--colour"])
    with pytest.raises(Exception, match="No such command 'topic'"):
        test_our_command_line_takes_it(deadwatch, ["deadwatch", "topic"])


def test_an_order_has_an_id_that_the_api_takes() -> None:
    named = [words[2] for words in of("deadwatch") if words[1] in {"pause", "resume", "cancel"}]
    assert named
    assert {one for one in named if str(UUID(one)) != one} == set()


def test_every_address_is_one_that_answers(routes: Routes) -> None:
    for words in of("curl"):
        address = urlsplit(next(word for word in words if word.startswith("http")))
        method = words[words.index("-X") + 1] if "-X" in words else "GET"
        assert address.netloc in ELSEWHERE or served(routes, method, address.path), words
        assert address.netloc in {OURS, *ELSEWHERE}


def test_no_page_asks_the_api_for_what_a_command_shows() -> None:
    asked = {urlsplit(word).path for words in of("curl") for word in words if f"//{OURS}/" in word}
    assert asked & BY_COMMAND == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_what_cannot_be_taken_back_stands_alone(page: Path) -> None:
    """Nobody pastes it together with a gentler way; offsets are noted before they are set."""
    for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL):
        commands = block.splitlines()
        if any(words in block for words in FOR_EVER):
            assert len(commands) == 1, block
        if "--reset-offsets" in block:
            assert any("--describe" in command for command in commands), block


def served(routes: Routes, method: str, path: str) -> bool:
    scope = {"type": "http", "method": method, "path": path, "headers": []}
    return any(route.matches(scope)[0] is Match.FULL for route in routes)


def test_an_address_that_does_not_exist_would_be_noticed(routes: Routes) -> None:
    assert not served(routes, "GET", "/api/v1/nothing")
    assert not served(routes, "POST", "/api/v1/overview")


@pytest.mark.parametrize("page", Page)
def test_a_link_of_a_panel_goes_to_a_page_that_answers(page: Page, routes: Routes) -> None:
    assert served(routes, "GET", page)


def test_a_source_of_every_kind_is_told_how_to_fix() -> None:
    code = "".join(path.read_text() for path in (ROOT / "collector").rglob("*.py"))
    kinds = {heartbeat.KAFKA, heartbeat.REDRIVE, heartbeat.STORE, heartbeat.STREAMING}
    kinds |= set(re.findall(r'^    kind = "(\w+)"$', code, re.MULTILINE))
    page = (RUNBOOKS / "DeadwatchSourceDown.md").read_text()
    assert {kind for kind in kinds if f"`{kind}`" not in page} == set()


def test_every_alert_has_a_page_and_the_index_has_every_page() -> None:
    pages = {path.stem for path in RUNBOOKS.glob("Deadwatch*.md")}
    linked = re.findall(r"^- \[(\w+)\]\((\w+)\.md\): \S", (RUNBOOKS / "README.md").read_text(), re.MULTILINE)
    assert {name for name, _ in linked} == {page for _, page in linked} == pages == set(NAMES)
