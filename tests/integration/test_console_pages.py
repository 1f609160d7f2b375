"""Every page of the console in a real Chromium, on a store as a day of trouble leaves it; without Kafka."""

import pytest
from playwright.sync_api import Browser

from api.auth.role import Role
from tests.console_store import DRY, POLICY, RUNNING
from tests.integration.console_api import Served
from tests.integration.console_browser import Scheme, Watched, window
from tests.unit.api.console_visit import FILLED
from tests.unit.api.console_visit import PAGES as EVERYBODYS

MAX_BYTES = 150_000
LOOKS: list[tuple[str, Scheme]] = [("desktop", "light"), ("phone", "dark")]
"""Every width and every colour; neither depends on the other."""
PAGES = {
    **EVERYBODYS,
    **FILLED,
    "broken-filter": "/groups?filter=ataempts+%3C+3",
    "redrive-new": "/redrives/new?dlq_topic=dlq.orders&filter=attempts+%3C+3",
    "redrive-like": f"/redrives/new?like={DRY}",
    "policy-new": "/policies/new?dlq_topic=dlq.orders",
    "policy-edit": f"/policies/{POLICY}/edit",
    "checks": "/health/checks",
    "audit": "/audit",
    "tokens": "/tokens",
    "not-found": "/nothing",
}


@pytest.mark.parametrize(("device", "scheme"), LOOKS)
def test_every_page_is_for_everybody(served: Served, browser: Browser, device: str, scheme: Scheme) -> None:
    found: dict[str, list[str]] = {}
    with window(browser, served.base, device, scheme) as seen:
        seen.go("/sign-in")
        seen.shoot(f"sign-in-{device}-{scheme}")
        issues = {"sign-in": seen.issues()}
        seen.sign_in(served.tokens[Role.ADMIN])
        for name, path in PAGES.items():
            answer = seen.go(path)
            assert answer.status in {200, 404, 422}, name
            seen.shoot(f"{name}-{device}-{scheme}")
            issues[name] = seen.issues()
            if seen.overflow() > 0:
                issues[name].append(f"is {seen.overflow()} pixels too wide")
        found = {name: told for name, told in issues.items() if told}
    assert found == {}


@pytest.mark.parametrize("path", ["/", "/groups", "/groups?order=records", PAGES["group"], PAGES["hostile"]])
def test_a_page_is_small(seen: Watched, path: str) -> None:
    seen.go(path)
    assert 1_000 < seen.received < MAX_BYTES


def test_a_filter_is_completed_and_told_what_is_wrong_while_it_is_written(seen: Watched) -> None:
    page = seen.page
    seen.go("/groups")
    page.keyboard.press("/")
    page.keyboard.type("error_c")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.input_value("#filter") == "error_class"
    page.keyboard.type(" = 3")
    page.get_by_text("write == to compare").wait_for()
    page.fill("#filter", 'error_class.contains("Currency")')
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.locator("[data-row]").all_inner_texts() == ["CurrencyMismatchException"]
    seen.shoot("filtered")


def test_the_keyboard_is_enough(seen: Watched) -> None:
    page = seen.page
    seen.go("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    with page.expect_navigation():
        page.keyboard.type("gg")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == "CurrencyMismatchException"
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog").count() == 0


def test_times_are_the_readers_with_utc_on_hover(seen: Watched) -> None:
    seen.go("/groups")
    time_element = seen.page.locator("main time").first
    assert "ago" in time_element.inner_text()
    assert "UTC" in (time_element.get_attribute("title") or "")


HAS_COLOUR_OF_LINKS = """() => {
  const canvas = document.querySelector("[data-plot] canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const link = getComputedStyle(document.querySelector("main a")).color.match(/\\d+/g).map(Number);
  return data.some((_, at) => at % 4 === 0 && link.every((part, more) => data[at + more] === part));
}"""
"""Of some pixel of the chart."""


def test_the_colours_can_be_switched_and_stay(seen: Watched) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    seen.go("/")
    light = seen.page.evaluate(ground)
    seen.page.get_by_role("button", name="Dark").click()
    assert seen.page.evaluate(ground) != light
    seen.go("/groups")
    assert seen.page.evaluate(ground) != light
    seen.go(PAGES["group"])
    assert seen.page.evaluate(HAS_COLOUR_OF_LINKS), "its chart"


def test_pages_can_be_read_without_a_script(served: Served, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    for name in ("overview", "groups", "group", "running"):
        page.goto(served.base + PAGES[name])
        assert "UTC" in page.inner_text("main")
    page.goto(f"{served.base}/groups")
    page.fill("#filter", "dialect == 'spring'")
    page.click("main button.primary")
    assert page.locator("[data-row]").count() == 1
    context.close()


def test_the_overview_goes_on_by_itself_and_says_when_it_cannot(seen: Watched) -> None:
    seen.go("/")
    with seen.page.expect_response(lambda answer: answer.url.endswith("/console/")):
        pass
    seen.page.route("**/console/", lambda route: route.fulfill(status=503, body="away"))
    seen.page.locator("#stale").wait_for(state="visible")
    seen.page.unroute("**/console/")
    seen.page.locator("#stale").wait_for(state="hidden")


@pytest.mark.parametrize("status", [0, 503], ids=["it hangs", "a proxy answers in its place"])
def test_a_page_says_that_nobody_answers_keeps_what_was_typed_and_comes_back(
    served: Served, seen: Watched, status: int
) -> None:
    page = seen.page
    seen.sign_in(served.tokens[Role.OPERATOR])
    seen.go(PAGES["group"])
    page.get_by_text("Owner, note, archive").click()
    page.fill("#owner", "team payments")
    page.route("**/*", lambda route: route.fulfill(status=status) if status else None)
    page.locator("#stale").wait_for(state="visible")
    page.get_by_role("button", name="Save").click()
    page.locator("#unsent").wait_for(state="visible")
    seen.shoot("away")
    page.unroute_all()
    page.locator("#stale").wait_for(state="hidden")
    assert page.input_value("#owner") == "team payments"
    seen.act("Save")
    assert "team payments" in page.inner_text("main")


def test_a_form_of_another_site_changes_nothing(served: Served, browser: Browser) -> None:
    """The page is another origin on this machine: the browser asks it, so nobody watches for other hosts."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{served.base}/sign-in")
    page.fill("#token", served.tokens[Role.OPERATOR])
    page.click("main button.primary")
    page.get_by_role("button", name="Sign out").wait_for()
    foreign = served.base.replace("127.0.0.1", "localhost").removesuffix("/console")
    form = f'<form method="post" action="{served.base}/redrives/{RUNNING}/cancel"><button>Win</button></form>'
    page.route(f"{foreign}/**", lambda route: route.fulfill(body=form, content_type="text/html"))
    page.goto(f"{foreign}/prize")
    with page.expect_navigation():
        page.click("button")
    assert (
        page.get_by_role("heading", name="Nothing was changed")
        .or_(page.get_by_role("heading", name="Who are you?"))
        .is_visible()
    )
    page.goto(f"{served.base}/redrives/{RUNNING}")
    assert page.get_by_role("button", name="Cancel").is_visible(), "it still runs"
    context.close()


IN_THE_BACKGROUND = """
  let hidden = true;
  const streams = [];
  Object.defineProperty(document, "hidden", { get: () => hidden });
  window.EventSource = class extends EventSource { constructor(url) { super(url); streams.push(this); } };
  window.connected = () => streams.filter((stream) => stream.readyState !== EventSource.CLOSED).length;
  window.turn = () => { hidden = !hidden; document.dispatchEvent(new Event("visibilitychange")); };
"""


def test_a_page_that_nobody_sees_keeps_no_connection(seen: Watched) -> None:
    seen.page.add_init_script(IN_THE_BACKGROUND)
    seen.go("/")
    found = [seen.page.evaluate("turn(), connected()" if turn else "connected()") for turn in range(4)]
    assert found == [0, 1, 0, 1]


def test_a_browser_that_copies_nothing_offers_no_button_for_it(seen: Watched) -> None:
    """As over HTTP from another machine: there a page has no clipboard."""
    seen.page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    seen.go(PAGES["health"])
    seen.page.locator("#theme").wait_for(state="visible")
    assert not seen.page.locator("[data-copy]").is_visible()
