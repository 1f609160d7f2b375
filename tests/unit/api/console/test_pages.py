"""The console's pages as a browser gets them: what they show, and that foreign texts are inert."""

import re
from html import unescape

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from api.app import create_app
from api.console.rendering import POLICY
from api.console.views.overview import MAX_OF_A_KIND
from api.settings import ApiSettings
from deadwatch.store import schema, series
from deadwatch.store.write.orders import OrderBook
from redrive.plan.plan import Plan
from tests import console_store
from tests.unit.api.conftest import Add
from tests.unit.api.console_visit import FILLED, PAGES, Console, Elements, OneRecord, visiting, words
from tests.unit.deadwatch.store import suite

NEXT = re.compile(r'rel="next" href="/console([^"]+)"')


@pytest.mark.usefixtures("store")
def test_every_page_is_there_on_an_empty_store(console: Console) -> None:
    for path in PAGES.values():
        answer = console.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", [*PAGES.values(), *FILLED.values()])
def test_pages_hold_no_script_and_no_style_of_their_own(reader: Console, path: str) -> None:
    elements = Elements(reader.get(path).text).found
    assert ("link", "stylesheet") in {(tag, attributes.get("rel", "")) for tag, attributes in elements}
    for tag, attributes in elements:
        assert tag != "style"
        assert tag != "script" or attributes["src"]
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        for name in ("src", "href", "action", "hx-get"):
            assert attributes.get(name, "#").startswith(("/console/", "#"))


def test_without_a_store_a_page_says_what_to_do(console: Console) -> None:
    for path in set(PAGES.values()) - {"/settings"}:
        answer = console.get(path)
        assert answer.status_code == 503, path
        assert "streaming makes it at its first start" in answer.text
    settings = console.get("/settings")
    assert (settings.status_code, "needs <code>token_pepper</code>." in settings.text) == (200, True)


def test_an_unknown_address_is_answered_with_a_page(console: Console, store: Engine) -> None:
    del store
    assert console.get("/nothing").status_code == 404
    unknown = console.get("/groups/ffff")
    assert (unknown.status_code, "fingerprint" in unknown.text) == (404, True)
    assert console.get("/groups?order=sideways").status_code == 422


def test_the_overview_lists_what_is_wrong_now(reader: Console) -> None:
    text = words(reader.get("/").text)
    assert "6 signals need attention" in text
    assert "events are counted within a second" in text
    assert "Abandoned tasks 1 now" in text
    assert "Stalled tasks 1 now" in text
    assert "connect:10.0.0.8:8083 down connection refused" in text
    assert "CurrencyMismatchException on dlq.payments" in text
    assert "Nothing: failed tasks , failed connectors , abandoned connectors , dead letters lost ." in text


@pytest.mark.usefixtures("filled")
def test_the_overview_leads_with_what_waits_and_the_causes_that_grow(
    console: Console, reader: Console
) -> None:
    page = console.get("/").text
    parts = (
        "Dead letters 20,420 waiting",
        "Top causes of the last hour",
        "What else needs attention",
        "Nothing:",
    )
    places = [words(page).find(part) for part in parts]
    assert places == sorted(places)
    assert places[0] > 0
    grown = re.findall(r'id="cause-([0-9a-f]+)"', page)
    assert grown == [console_store.NEW_GROUP, console_store.MAIN_GROUP]
    redrive = f'href="/console/redrives/new?dlq_topic=dlq.payments&amp;group={console_store.NEW_GROUP}"'
    assert redrive not in page, "a viewer is not offered it"
    assert redrive in reader.get("/").text


@pytest.mark.usefixtures("filled")
def test_the_overview_tells_of_a_redrive_however_many_dry_runs_are_newer(
    console: Console, store: Engine, now_ms: int
) -> None:
    for number in range(MAX_OF_A_KIND):
        made = suite.order(f"{number:x}", request={"dry_run": True}, created_at_ms=now_ms)
        OrderBook(store).create(made, Plan().model_dump_json())
    assert f'href="/console/redrives/{console_store.RUNNING}"' in console.get("/").text


def test_causes_are_filtered_by_the_filter_language(reader: Console) -> None:
    found = reader.get('/groups?filter=error_class.endsWith("DataException")').text
    assert "DataException" in found
    assert "CurrencyMismatchException" not in found
    broken = reader.get("/groups?filter=ataempts+<+3")
    assert broken.status_code == 422
    assert "did you mean attempts?" in broken.text
    own = reader.get("/groups/check?filter=attempts+<+3").text
    assert "differs from record to record" in own
    literal = reader.get('/groups/check?filter=message.contains("the value of key")').text
    assert words(literal) == ""


def test_causes_are_searched_by_words(reader: Console) -> None:
    found = reader.get("/groups?filter=DATAexception+orders").text
    assert "DataException" in found
    assert "CurrencyMismatchException" not in found
    assert "Redrive what this filter selects" not in found
    none = words(reader.get("/groups?filter=DataException+absent").text)
    assert "Searched for causes with all of DataException , absent in message" in none


def test_causes_by_state(reader: Console) -> None:
    causes = {"new": "CurrencyMismatch", "growing": "Data", "quiet": "RejectedRecord"}
    for state, cause in causes.items():
        text = reader.get(f"/groups?state={state}").text
        found = re.findall(r'data-row href="/console/groups/[0-9a-z]+"[^>]*>([^<]+)<', text)
        assert found[0] == f"{cause}Exception"


def test_foreign_texts_are_inert(reader: Console) -> None:
    for path in ("/groups", f"/groups/{console_store.HOSTILE_GROUP}"):
        text = reader.get(path).text
        assert "<script>document" not in text
        assert "<img" not in text
        assert "\u202e" not in text
        assert "\x1b" not in text
        assert "⟨U+202E⟩" in text
        assert len(text) < 200_000, "a megabyte of a header is cut"


def test_a_stack_trace_is_folded_and_own_frames_are_marked(reader: Console) -> None:
    text = reader.get(f"/groups/{console_store.MAIN_GROUP}").text
    (own, *_) = re.findall(r'<pre class="own">(.*?)</pre>', text, re.DOTALL)
    assert own.strip() == "at com.example.orders.PriceTransform.apply(PriceTransform.java:42)"
    assert "<summary>2 library frames</summary>" in text
    assert text.index('class="trace"') < text.index('class="chart"')
    assert "deadwatch redrive dlq.orders --group" in text
    row = re.search(r"<th scope=\"row\"><code>tenant</code></th>(.*?)</tr>", text, re.DOTALL)
    assert row, "the page shows which headers differ"
    values = re.findall(r"masked, value (\d)", row[1])
    assert len(values) > 1
    assert len(set(values)) > 1, "and which samples differ, without the values"
    assert "globex" not in text


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("outcome", "told"),
    [("", "No redrive yet."), *((one, "No redrive was of this cause alone") for one in ("sent", "parked"))],
)
def test_a_cause_whose_records_were_moved_with_others_does_not_say_that_nothing_was(
    console: Console, add_row: Add, add_series: Add, outcome: str, told: str
) -> None:
    add_row(schema.groups, fingerprint="f1", dlq_topic="dlq.t", records=7)
    if outcome:
        add_series(series.REDRIVE_GROUPS, 7, dlq_topic="dlq.t", fingerprint="f1", outcome=outcome)
    assert told in console.get("/groups/f1").text


def test_every_value_of_a_repeated_header_is_on_the_page_of_a_record(store_url: str) -> None:
    name = "__connect.errors.exception.stacktrace"
    values = [f"E: {number}\n\tat my.App.run(App.java:{number})" for number in (1, 2)]
    record = OneRecord(*((name, value.encode()) for value in values), (name, b"no trace at all"))
    app = create_app(ApiSettings(store_url=store_url))
    app.state.service.browser = record
    with visiting(app) as console:
        page = console.get("/records/dlq.orders/0/1").text
    assert page.index("my.App.run(App.java:1)") < page.index("my.App.run(App.java:2)")
    assert "2 of 2, the latest" in words(page)
    (headers,) = re.findall(r"<h2>Headers</h2>.*?</table>", page, re.DOTALL)
    assert words(headers).endswith(f"{name} no trace at all")


def test_the_form_of_a_redrive_says_what_is_missing_beside_each_field(operator: Console) -> None:
    csrf = operator.token("/redrives/new")
    answer = operator.post("/redrives/new", csrf=csrf, select="group", target="topic", max_records="many")
    assert answer.status_code == 422
    for name in ("dlq_topic", "group", "target_topic", "reason"):
        assert f'id="{name}-problem"' in answer.text
    fields = {"dlq_topic": "dlq.a", "select": "all", "target": "origin", "reason": "r"}
    wrong = operator.post("/redrives/new", csrf=csrf, **fields, max_records="many")
    assert 'id="max_records-problem"' in wrong.text
    assert 'id="again" name="again" value="yes">' in wrong.text
    ticked = operator.post("/redrives/new", csrf=csrf, **fields, max_records="many", again="yes")
    assert 'id="again" name="again" value="yes" checked>' in ticked.text


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("guards=5", "guards.settle_window_ms is given twice"),
        ('selection.records=[{"partition": 0, "offset": 1}, 3]', "this takes an object with fields"),
    ],
)
def test_a_setting_that_fits_no_field_is_refused_beside_it(
    operator: Console, setting: str, told: str
) -> None:
    fields = {"dlq_topic": "dlq.a", "select": "all", "target": "origin", "reason": "r", "also": setting}
    answer = operator.post("/redrives/new", csrf=operator.token("/redrives/new"), **fields)
    assert answer.status_code == 422
    assert told in answer.text.partition('id="also-problem"')[2].partition("<")[0]


def test_an_order_that_no_worker_moves_says_so(console: Console, store: Engine) -> None:
    orders = OrderBook(store)
    waits, stands = (orders.create(suite.order(name, f"dlq.{name}"), "{}").order.id for name in "ab")
    orders.pause(stands, "somebody")
    told = "1 redrive waits and no worker runs"
    assert [told in console.get(f"/redrives/{order}").text for order in (waits, stands)] == [True, False]


def test_a_reason_is_shown_with_what_it_means(operator: Console) -> None:
    for order in (console_store.DRY, console_store.RUNNING):
        page = words(operator.get(f"/redrives/{order}").text)
        assert "no_origin its headers do not tell where it came from" in page


def test_a_dry_run_is_started_with_its_own_number_only(operator: Console) -> None:
    dry = f"/redrives/{console_store.DRY}"
    page = operator.get(dry).text
    assert "Type 20112 to confirm" in page
    assert "Move 20,100 records, park 12<" in page
    refused = operator.post(f"{dry}/start", csrf=operator.token(dry), confirm="20")
    assert (refused.status_code, "nothing was moved." in refused.text) == (422, True)


@pytest.mark.parametrize(
    ("plan", "button"),
    [
        (Plan(to_move=1, at_most=4, to_park=2), "Move 1 record, park up to 3"),
        (Plan(to_move=1, at_most=1, to_park=2), "Move 1 record, park 2"),
        (Plan(to_move=2, at_least=True, at_most=9, to_park=1), "Move or park up to 9 records"),
        (Plan(to_park=1, at_most=1), "Park 1 record"),
    ],
    ids=["behind max_records", "of an earlier version", "read in part", "parked alone"],
)
def test_the_button_says_all_that_is_confirmed(
    operator: Console, store: Engine, plan: Plan, button: str
) -> None:
    dry_run = suite.order("a", request={"dry_run": True})
    OrderBook(store).create(dry_run, plan.model_dump_json())
    assert f'<button class="primary">{button}</button>' in operator.get("/redrives/a").text


def test_headers_that_are_left_out_are_shown(operator: Console) -> None:
    dry_run = words(operator.get(f"/redrives/{console_store.DRY}").text)
    policy = words(operator.get(f"/policies/{console_store.POLICY}").text)
    for page, header in ((dry_run, "retry_topic-attempts"), (policy, "x-retries"), (policy, "y-*")):
        assert header in page
    assert "Headers they would go without" in dry_run
    assert "Headers left out" in policy


@pytest.mark.usefixtures("store")
def test_static_files_are_cached_and_nothing_else(
    app: FastAPI, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = console.get("/static/console.css")
    assert "immutable" in answer.headers["cache-control"]
    assert console.get("/static/../app.py").status_code == 404
    monkeypatch.setattr(app.state.service, "browser", OneRecord())
    record = console.get("/records/static/0/1")
    assert (record.status_code, record.headers["cache-control"]) == (200, "no-store")


@pytest.mark.usefixtures("store")
def test_a_search_that_finds_little_goes_on_where_it_stopped(
    console: Console, add_row: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.signals.group_lists.BATCH", 10)
    monkeypatch.setattr("api.signals.group_lists.LOOKED_AT_MOST", 20)
    for number in range(50):
        add_row(
            schema.groups, fingerprint=f"f{number:02}", error_class="A" if number else "B", last_ms=number
        )
    text = console.get('/groups?order=latest&filter=error_class+==+"B"').text
    assert "20 causes were searched" in text
    assert "No match so far." in text
    following = NEXT.search(text)
    assert following
    again = NEXT.search(console.get(unescape(following[1])).text)
    assert again
    assert "/groups/f00" in console.get(unescape(again[1])).text


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("words_too", ["", "&filter=dlq"])
def test_a_handled_cause_is_found_at_once_behind_many_of_which_something_waits(
    console: Console, add_row: Add, monkeypatch: pytest.MonkeyPatch, words_too: str
) -> None:
    monkeypatch.setattr("api.signals.group_lists.LOOKED_AT_MOST", 20)
    for number in range(30):
        add_row(schema.groups, fingerprint=f"f{number:02}", dlq_topic="dlq.t", records=number)
    text = console.get(f"/groups?state=handled{words_too}").text
    assert ("/groups/f00" in text, "were searched" in text) == (True, False)


@pytest.mark.usefixtures("store")
def test_findings_that_are_more_than_a_page_go_on(
    console: Console, add_row: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.console.views.lists.MAX_ROWS", 2)
    for number in range(3):
        add_row(schema.findings, kind="dlq_compacted", subject=f"topic:t{number}", first_ms=9 - number)
    following = NEXT.search(console.get("/findings").text)
    assert following
    rest = console.get(unescape(following[1])).text
    assert ("topic:t1" in rest, "topic:t2" in rest, NEXT.search(rest)) == (False, True, None)
