"""The parts of a page that renew themselves hold no control, and no link that would lose the focus."""

from collections import Counter
from html.parser import HTMLParser
from typing import Final

import pytest

from api.console.rendering import TEMPLATES
from tests import console_store
from tests.unit.api.console_visit import Console

LIVE: Final = "live from:body"
PAGES: Final = {
    "overview.html": "/",
    "redrives.html": "/redrives",
    "redrive.html": f"/redrives/{console_store.RUNNING}",
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
        attributes = {name: value or "" for name, value in attrs}
        if self._depth:
            self.found.append((tag, attributes))
        if (self._depth or LIVE in attributes.get("hx-trigger", "")) and tag not in VOID:
            self._depth += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._depth:
            self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if self._depth and tag not in VOID:
            self._depth -= 1


def test_every_page_that_renews_itself_is_looked_at() -> None:
    renewing = {file.name for file in TEMPLATES.iterdir() if LIVE in file.read_text()}
    assert renewing == set(PAGES)


@pytest.mark.parametrize("path", PAGES.values())
def test_what_acts_stands_outside_of_what_is_renewed(reader: Console, path: str) -> None:
    parser = _Parts()
    parser.feed(reader.get(path).text)
    assert parser.found, "nothing is renewed"
    assert {tag for tag, _ in parser.found} & ACTS == set()
    focused = [
        attributes.get("id", "") for tag, attributes in parser.found if tag == "a" or "tabindex" in attributes
    ]
    assert "" not in focused, "htmx gives the focus back by the id"
    assert max(Counter(focused).values(), default=1) == 1
