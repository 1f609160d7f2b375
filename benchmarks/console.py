"""How soon a page of the console can be used, and how much it loads, with 100 000 causes in the store.

A real Chromium opens each page with nothing kept from before, several times; the api is a process of its own
on SQLite. A peer is the bound: ``ours`` and ``peer`` are pages a second, or pages of a megabyte. A page
can be used when its scripts have run.
"""

import statistics
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from playwright.sync_api import Browser, Request, sync_playwright

from benchmarks.api import served
from benchmarks.row import Row

CHROMIUM: Final = "/usr/bin/chromium"
OPENED: Final = 7
USABLE_MS: Final = 1_000.0
LOADED_BYTES: Final = 150_000
MEGABYTE: Final = 1_000_000
PAGES: Final = {
    "overview": "/",
    "causes": "/groups",
    "causes, most records first": "/groups?order=records",
    "causes, growing": "/groups?state=growing",
    "causes, filtered": "/groups?filter=" + quote('topic == "dlq.orders-17"'),
    "causes, none found": "/groups?filter=" + quote('error_class == "Nothing"'),
    "a cause": "/groups/0000000000000001",
    "topics": "/topics",
}
SCRIPTS_RAN: Final = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


def rows() -> Iterator[Row]:
    with served() as (_, port, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for page, path in PAGES.items():
            yield from _page(browser, page, f"http://127.0.0.1:{port}/console{path}")
        browser.close()


def _page(browser: Browser, page: str, url: str) -> Iterator[Row]:
    opened = [opening(browser, url) for _ in range(OPENED)]
    took_ms = statistics.median(took for took, _ in opened)
    loaded = max(size for _, size in opened)
    yield Row.more(f"console: {page}, usable within {USABLE_MS:.0f} ms", 1_000 / took_ms, 1_000 / USABLE_MS)
    yield Row.more(
        f"console: {page}, at most {LOADED_BYTES // 1_000} kB", MEGABYTE / loaded, MEGABYTE / LOADED_BYTES
    )


def opening(browser: Browser, url: str) -> tuple[float, int]:
    """When its scripts had run, in ms, and the bytes that it has loaded, compressed as they came."""
    context = browser.new_context()
    tab = context.new_page()
    loaded: list[Request] = []

    def finished(request: Request) -> None:  # the library takes no method of a list
        loaded.append(request)

    tab.on("requestfinished", finished)
    answer = tab.goto(url, wait_until="load")
    if answer is None or not answer.ok:
        raise RuntimeError(f"{url} does not answer with a page")
    took_ms = float(tab.evaluate(SCRIPTS_RAN))
    sizes = [request.sizes() for request in tuple(loaded)]
    context.close()
    return took_ms, sum(one["responseBodySize"] + one["responseHeadersSize"] for one in sizes)
