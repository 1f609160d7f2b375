"""What pages load later: what renews itself holds no control, and no link that would lose the focus."""

import re
from collections import Counter
from typing import Final

import pytest
from fastapi import FastAPI

from api.console.rendering import TEMPLATES
from tests import console_store
from tests.unit.api.console_visit import LIVE, Console, Elements, OneRecord

PAGES: Final = {
    "overview.html": "/",
    "redrives.html": "/redrives",
    "redrive.html": f"/redrives/{console_store.RUNNING}",
}
"""Where each template that renews itself can be seen."""
ACTS: Final = {"form", "button", "input", "select", "textarea", "details"}


def test_every_page_that_renews_itself_is_looked_at() -> None:
    renewing = {file.name for file in TEMPLATES.iterdir() if LIVE in file.read_text()}
    assert renewing == set(PAGES)


@pytest.mark.parametrize("path", PAGES.values())
def test_what_acts_stands_outside_of_what_is_renewed(reader: Console, path: str) -> None:
    found = Elements(reader.get(path).text, renewed=True).found
    assert found, "nothing is renewed"
    assert {tag for tag, _ in found} & ACTS == set()
    focused = [
        attributes.get("id", "") for tag, attributes in found if tag == "a" or "tabindex" in attributes
    ]
    assert "" not in focused, "htmx gives the focus back by the id"
    assert max(Counter(focused).values(), default=1) == 1


def test_what_a_cause_loads_of_its_newest_records_is_on_their_pages(
    app: FastAPI, operator: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.state.service, "browser", OneRecord())
    cause = operator.get(f"/groups/{console_store.MAIN_GROUP}").text
    loads = re.findall(r'hx-get="/console(/records/[^"]+)".*? hx-select="([^"]+)"', cause)
    assert loads
    for place, parts in loads:
        assert parts == "#traces, #payload"
        record = operator.get(place).text
        assert [record.count(f'id="{name}"') for name in ("traces", "payload")] == [1, 1]
