"""What is renewed while it is read holds nothing that acts, and nothing that would lose the focus."""

from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Final

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from api.auth import Role
from api.console.pages import TEMPLATES
from tests import console_store
from tests.unit.console_visit import Console, visiting

LIVE: Final = "live from:body"
PAGES: Final = {
    "overview.html": ["/"],
    "redrives.html": ["/redrives"],
    "redrive.html": [f"/redrives/{console_store.RUNNING}"],
}
"""Where each template that renews itself can be seen."""
ACTS: Final = {"form", "button", "input", "select", "textarea", "details"}
VOID: Final = {"br", "hr", "img", "input", "link", "meta", "polyline"}


class _Parts(HTMLParser):
    """The elements inside of what is renewed."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if self._depth:
            self.found.append((tag, told))
        if (self._depth or LIVE in told.get("hx-trigger", "")) and tag not in VOID:
            self._depth += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._depth:
            self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if self._depth and tag not in VOID:
            self._depth -= 1


@pytest.fixture
def console(app: FastAPI, store: Engine, now_ms: int) -> Iterator[Console]:
    """An operator's, on a full store."""
    console_store.fill(store, now_ms)
    _, credential = app.state.service.desk.create("ann", Role.OPERATOR, 0, "test", lambda *_: None)
    with visiting(app) as made:
        made.sign_in(credential.text)
        yield made


def test_every_page_that_renews_itself_is_looked_at() -> None:
    renewing = {file.name for file in TEMPLATES.iterdir() if LIVE in file.read_text()}
    assert renewing == set(PAGES)


@pytest.mark.parametrize("path", [path for paths in PAGES.values() for path in paths])
def test_what_acts_stands_outside_of_what_is_renewed(console: Console, path: str) -> None:
    parser = _Parts()
    parser.feed(console.get(path).text)
    assert parser.found, "nothing is renewed"
    assert {tag for tag, _ in parser.found} & ACTS == set()
    focused = [told.get("id", "") for tag, told in parser.found if tag == "a" or "tabindex" in told]
    assert "" not in focused, "htmx gives the focus back by the id"
    assert max(Counter(focused).values(), default=1) == 1
