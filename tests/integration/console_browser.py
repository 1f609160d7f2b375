"""A real Chromium that looks at the console, and what it saw that should not be."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Playwright, Request, Response

CHROMIUM: Final = "/usr/bin/chromium"
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DEVICES: Final = {"desktop": (1280, 800), "phone": (390, 844)}
SHOTS: Final = os.environ.get("DEADWATCH_SCREENSHOTS", "")
"""A directory that keeps the pictures; nothing is kept without."""
WAIT_MS: Final = 60_000
GRAVE: Final = frozenset({"serious", "critical"})
EXPECTED: Final = (
    "status of 4",
    "status of 503",
    "Response Status Error Code 401",
    "Response Status Error Code 503",
)
"""Answers that a test provokes: the browser tells them as errors of its own."""


def missing() -> str:
    """Why there is no browser; "": there is one."""
    found = Path(CHROMIUM).exists() or shutil.which("chromium")
    return "" if found else "no Chromium on this machine: apt-get install chromium"


@contextmanager
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """A browser with a profile of its own that is gone with it."""
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
    try:
        yield browser
    finally:
        browser.close()


@dataclass
class Watched:
    """A page of a window; ``wrong`` is what no page may do."""

    page: Page
    base: str
    wrong: list[str] = field(default_factory=list)
    loaded: list[Request] = field(default_factory=list)

    def go(self, path: str) -> Response:
        """Open a page of the console, as if it was opened for the first time."""
        self.loaded.clear()
        answer = self.page.goto(self.base + path, wait_until="load")
        assert answer is not None
        return answer

    @property
    def received(self) -> int:
        """The bytes of the page and all it has loaded, compressed as they came."""
        sizes = [request.sizes() for request in tuple(self.loaded)]
        return sum(one["responseBodySize"] + one["responseHeadersSize"] for one in sizes)

    def sign_in(self, token: str) -> None:
        self.go("/sign-in")
        self.page.fill("#token", token)
        self.page.click("main button.primary")
        self.page.get_by_role("button", name="Sign out").wait_for()

    def act(self, name: str) -> None:
        """Press a button of the page and wait for the page it leads to."""
        with self.page.expect_navigation(wait_until="load"):
            self.page.get_by_role("button", name=name, exact=True).click()

    def issues(self) -> list[str]:
        """What axe-core finds that keeps people out."""
        told: Any = Axe().run(self.page).response
        return [
            f"{one['id']}: {node['html'][:200]}"
            for one in told["violations"]
            if one["impact"] in GRAVE
            for node in one["nodes"]
        ]

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        across = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(self.page.evaluate(across))

    def shoot(self, name: str) -> None:
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)


Scheme = Literal["light", "dark"]


@contextmanager
def window(
    browser: Browser, base: str, device: str = "desktop", scheme: Scheme = "light", also: str = ""
) -> Iterator[Watched]:
    """A new window without cookies; at its end nothing that is wrong may have been seen.

    ``also`` is the address of a site that it may visit as well.
    """
    width, height = DEVICES[device]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    watched = Watched(page, base)
    hosts = {urlsplit(base).netloc, urlsplit(also).netloc}

    def console(message: Any) -> None:  # noqa: ANN401 -- of the library
        if message.type == "error" and not any(one in message.text for one in EXPECTED):
            watched.wrong.append(f"{page.url}: {message.text}")

    def requested(request: Any) -> None:  # noqa: ANN401 -- of the library
        if urlsplit(request.url).netloc not in hosts:
            watched.wrong.append(f"asks another host: {request.url}")

    def finished(request: Request) -> None:  # the library takes no method of a list
        watched.loaded.append(request)

    page.on("console", console)
    page.on("pageerror", lambda error: watched.wrong.append(f"{page.url}: {error}"))
    page.on("request", requested)
    page.on("requestfinished", finished)
    try:
        yield watched
    finally:
        context.close()
    assert watched.wrong == []
