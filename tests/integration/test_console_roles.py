"""What each role is offered in a real Chromium; what a session that ends leads to."""

import pytest

from api.auth.role import Role
from tests.console_store import DRY, MAIN_GROUP, POLICY, RUNNING
from tests.integration.console_api import Served
from tests.integration.console_browser import Watched
from tests.unit.api.console_visit import token_for

GROUP = f"/groups/{MAIN_GROUP}"
OFFERS = {
    "/redrives": {("link", "New redrive…"): Role.OPERATOR},
    GROUP: {
        ("link", "Redrive…"): Role.OPERATOR,
        ("button", "Archive"): Role.OPERATOR,
        ("button", "Save"): Role.OPERATOR,
    },
    f"/redrives/{RUNNING}": {("button", "Pause"): Role.OPERATOR, ("button", "Cancel"): Role.OPERATOR},
    f"/redrives/{DRY}": {("button", "Move 20,100 records, park 12"): Role.OPERATOR},
    "/policies": {("link", "New policy…"): Role.OPERATOR},
    f"/policies/{POLICY}": {
        ("link", "Change…"): Role.OPERATOR,
        ("button", "Switch off"): Role.OPERATOR,
        ("button", "Delete"): Role.OPERATOR,
    },
    "/parked": {("link", "Redrive the parked ones…"): Role.OPERATOR},
    "/": {
        ("link", "Audit"): Role.OPERATOR,
        ("link", "Tokens"): Role.ADMIN,
        ("link", "Findings"): Role.VIEWER,
    },
}
"""What stands on which page, for whom."""


@pytest.mark.parametrize("role", [None, *Role])
def test_a_role_is_offered_what_it_may_do(served: Served, seen: Watched, role: Role | None) -> None:
    if role is not None:
        seen.sign_in(served.tokens[role])
        assert f"ann the {role} · {role}" in seen.page.inner_text("header")
    for path, offers in OFFERS.items():
        seen.go(path)
        seen.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for (kind, name), needed in offers.items():
            found = seen.page.get_by_role("link" if kind == "link" else "button", name=name, exact=True)
            offered = (role or Role.VIEWER).covers(needed)  # nobody in particular reads on this machine
            assert (found.count() > 0) == offered, f"{name} on {path}"


def test_a_session_that_ends_leads_to_the_sign_in_and_back(served: Served, seen: Watched) -> None:
    _sign_in_and_lose(served, seen, "/findings")
    seen.go("/groups?state=new&order=records")
    _sign_in_again(served, seen)
    assert set(seen.page.url.partition("/groups?")[2].split("&")) == {"state=new", "order=records"}


def test_a_form_that_is_sent_too_late_changes_nothing_and_leads_back(served: Served, seen: Watched) -> None:
    _sign_in_and_lose(served, seen, GROUP)
    seen.page.locator("summary", has_text="Owner, note, archive").click()
    seen.page.fill("#archive-reason", "too late")
    seen.act("Archive")
    assert "Nothing was changed" in seen.page.inner_text("main")
    with seen.page.expect_navigation():
        seen.page.get_by_role("main").get_by_role("link", name="Sign in").click()
    _sign_in_again(served, seen)
    assert seen.page.url == served.base + GROUP
    assert "too late" not in seen.page.inner_text("main")


def test_a_page_that_goes_on_by_itself_notices_that_its_session_has_ended(
    served: Served, seen: Watched
) -> None:
    _sign_in_and_lose(served, seen, f"/redrives/{RUNNING}")
    seen.page.wait_for_url("**/sign-in?**")
    _sign_in_again(served, seen)
    assert seen.page.url == f"{served.base}/redrives/{RUNNING}"


def _sign_in_and_lose(served: Served, seen: Watched, place: str) -> None:
    """A session whose token is not valid any more; the page is still open and has all its parts."""
    text = token_for(served.app, Role.OPERATOR)
    seen.sign_in(text)
    seen.go(place)
    seen.page.locator(".htmx-request").wait_for(state="detached")
    served.app.state.service.tokens.revoke(text.split("_")[1], "test", lambda *_: None)


def _sign_in_again(served: Served, seen: Watched) -> None:
    page = seen.page
    assert "The session has ended" in page.inner_text("main")
    page.fill("#token", served.tokens[Role.OPERATOR])
    with page.expect_navigation():
        page.click("main button.primary")
    page.get_by_role("button", name="Sign out").wait_for()


def test_a_policy_sheet_shows_the_fields_of_what_is_chosen_and_keeps_them(
    served: Served, seen: Watched
) -> None:
    page = seen.page
    seen.sign_in(served.tokens[Role.OPERATOR])
    seen.go("/policies/new?dlq_topic=dlq.payments")
    assert not page.locator("#target_topic").is_visible(), "only the fields of what is chosen"
    page.get_by_label("All to one topic").check()
    page.fill("#target_topic", "payments-again")
    page.get_by_label("What its topics hold already as well").check()
    page.fill("#filter", "ataempts < 3")
    page.fill("#reason", "the bank is away at night")
    seen.act("Create policy")
    page.get_by_text("did you mean attempts?").wait_for()
    assert page.input_value("#target_topic") == "payments-again"
    assert seen.issues() == []
    page.fill("#filter", "attempts < 3")
    seen.act("Create policy")
    page.get_by_role("heading", name="the bank is away at night").wait_for()
    assert "all to payments-again" in page.inner_text("main")
