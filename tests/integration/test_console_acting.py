"""What is pressed acts: a real mouse and real keys in Chromium, on pages that are renewed all the time."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page

from api.auth.role import Role
from tests import http
from tests.console_store import RUNNING
from tests.integration.console_api import Served
from tests.integration.console_browser import Watched, window

ORDER: Final = f"/redrives/{RUNNING}"
PRESSES: Final = 40
HELD_MS, KEY_HELD_MS = 100, 30
RENEWED_MS: Final = 50
WATCH: Final = """(every) => {
  const count = (name) => { seen.presses[name] = (seen.presses[name] ?? 0) + 1; };
  window.seen = { presses: {}, renewed: 0 };
  document.addEventListener("submit", (event) => {
    event.preventDefault();
    count(event.submitter.textContent);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("main a");
    if (link) { event.preventDefault(); count(link.getAttribute("href")); }
  });
  document.body.addEventListener("htmx:afterSwap", () => { seen.renewed += 1; });
  setInterval(() => htmx.trigger(document.body, "live"), every);
}"""
"""Counts the presses that arrive, and stops them there; renews as a live event does."""


@pytest.fixture
def seen(served: Served, browser: Browser) -> Iterator[Watched]:
    """An operator's window."""
    with window(browser, served.base) as opened:
        opened.sign_in(served.tokens[Role.OPERATOR])
        yield opened


def test_every_press_on_a_button_counts(seen: Watched) -> None:
    seen.go(ORDER)
    places = [_button(seen, name).bounding_box() for name in ("Pause", "Cancel")]
    _watch(seen)
    for number in range(PRESSES):
        _press(seen.page, places[number % 2])
    assert _presses(seen) == {"Pause": PRESSES // 2, "Cancel": PRESSES // 2}
    assert [_button(seen, name).bounding_box() for name in ("Pause", "Cancel")] == places
    _was_renewed(seen)


def test_every_key_counts_and_the_focus_stays(seen: Watched) -> None:
    seen.go(ORDER)
    _watch(seen)
    for name, key in (("Pause", "Enter"), ("Cancel", "Space")):
        _button(seen, name).focus()
        for _ in range(PRESSES // 2):
            seen.page.keyboard.press(key, delay=KEY_HELD_MS)
    assert _presses(seen) == {"Pause": PRESSES // 2, "Cancel": PRESSES // 2}
    assert seen.page.evaluate("document.activeElement.textContent") == "Cancel"
    _was_renewed(seen)


@pytest.mark.parametrize(("path", "link"), [("/redrives", "#orders [data-row]"), ("/", "#now .signals a")])
def test_a_link_that_is_renewed_can_be_pressed_and_keeps_the_focus(
    seen: Watched, path: str, link: str
) -> None:
    seen.go(path)
    first = seen.page.locator(link).first
    address, place = first.get_attribute("href"), first.bounding_box()
    _watch(seen)
    for _ in range(PRESSES // 5):
        _press(seen.page, place)
    assert _presses(seen) == {address: PRESSES // 5}
    renewed = seen.page.evaluate("seen.renewed")
    seen.page.wait_for_function("(before) => seen.renewed > before + 3", arg=renewed)
    assert seen.page.evaluate("document.activeElement.getAttribute('href')") == address


def test_the_buttons_follow_the_order_without_moving(served: Served, seen: Watched) -> None:
    """Somebody else pauses it; who looks at the page then presses Resume."""
    seen.go(ORDER)
    seen.shoot("acting-running")
    cancel = _button(seen, "Cancel")
    place = cancel.bounding_box()
    cancel.focus()
    headers = {"Authorization": f"Bearer {served.tokens[Role.OPERATOR]}"}
    api = served.base.replace("/console", "/api/v1")
    http.post(f"{api}{ORDER}/pause", headers=headers).raise_for_status()
    seen.page.locator("button:disabled", has_text="Pause").wait_for()
    assert cancel.bounding_box() == place
    assert seen.page.evaluate("document.activeElement.textContent") == "Cancel"
    seen.shoot("acting-paused")
    seen.act("Resume")
    assert seen.page.locator("#progress .tag").first.inner_text() == "running"
    assert _button(seen, "Pause").is_enabled()
    assert _button(seen, "Resume").is_disabled()


def _watch(seen: Watched) -> None:
    seen.page.evaluate(WATCH, RENEWED_MS)


def _button(seen: Watched, name: str) -> Locator:
    return seen.page.get_by_role("main").get_by_role("button", name=name, exact=True)


def _press(page: Page, box: FloatRect | None) -> None:
    """As a hand does: the button of the mouse goes down, and comes up a moment later."""
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, delay=HELD_MS)


def _presses(seen: Watched) -> Any:  # noqa: ANN401 -- JSON
    return seen.page.evaluate("seen.presses")


def _was_renewed(seen: Watched) -> None:
    """Else nothing was tried."""
    assert seen.page.evaluate("seen.renewed") > PRESSES // 5
