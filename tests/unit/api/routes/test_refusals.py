"""What every route answers where there is nothing: no store, an empty one, no such thing, no such request."""

from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from api.service import MAX_SEARCHES
from deadwatch.store import schema
from tests.caller import Caller
from tests.unit.api.answers import problem
from tests.unit.api.conftest import Add

V1 = "/api/v1"
LISTS = (
    "/overview",
    "/dead-letters/topics",
    "/dead-letters/groups",
    "/tasks",
    "/connect/tasks",
    "/abandoned",
    "/delivery-timeouts",
    "/findings",
    "/redrives",
    "/redrive-policies",
)
REDRIVE = {"dlq_topic": "dlq.t", "selection": {"all": True}, "reason": "fixed"}
POLICY = {"dlq_topics": [r"dlq\.t"], "reason": "flaky"}
NEED_A_STORE: list[tuple[str, object]] = [
    *((f"GET {path}", None) for path in LISTS),
    ("GET /dead-letters/groups/ffff", None),
    ("GET /series?metric=deadwatch_task_timeouts_total", None),
    ("POST /redrives", REDRIVE),
    ("POST /redrives/a/cancel", None),
    ("POST /redrive-policies", POLICY),
    ("DELETE /redrive-policies/a", None),
]
NOTE = "/dead-letters/groups"
INVALID, NO_CURSOR = "422 invalid-request", "400 invalid-cursor"
REFUSED: list[tuple[str, object, str]] = [
    ("GET /nothing", None, "404 not-found"),
    ("POST /overview", None, "405 method-not-allowed"),
    ("GET /overview?x=1", None, "422 unexpected-parameter"),
    ("GET /tasks?limt=5", None, INVALID),
    ("GET /tasks?after=WyIuIiwiLiJd", None, NO_CURSOR),
    ("GET /dead-letters/groups?limt=5", None, INVALID),
    ("GET /dead-letters/groups?limit=0", None, INVALID),
    ("GET /dead-letters/groups?limit=501", None, INVALID),
    ("GET /dead-letters/groups?limit=many", None, INVALID),
    ("GET /dead-letters/groups?after=xx", None, NO_CURSOR),
    ("GET /dead-letters/topics?after=xx", None, NO_CURSOR),
    ("GET /dead-letters/groups/ffffffffffffffff", None, "404 unknown-group"),
    ("GET /dead-letters/groups/%00", None, INVALID),
    ("GET /audit?after=xx", None, NO_CURSOR),
    ("GET /audit?after=WyJhIl0", None, NO_CURSOR),
    ("GET /audit?limit=0", None, INVALID),
    ("GET /audit?whom=ann", None, INVALID),
    ("GET /audit?from=noon", None, INVALID),
    ("GET /audit?from=2026-11-21T12:00:00", None, INVALID),
    ("GET /audit?to=2026-11-21T12:00:00", None, INVALID),
    ("GET /audit?who=%00", None, INVALID),
    (f"PUT {NOTE}/f9/note", {}, "404 unknown-group"),
    (f"GET {NOTE}/f9/note", None, "404 unknown-group"),
    (f"POST {NOTE}/f9/archive", {"reason": "x"}, "404 unknown-group"),
    (f"POST {NOTE}/f9/unarchive", None, "404 unknown-group"),
    (f"POST {NOTE}/f1/archive", {}, INVALID),
    (f"POST {NOTE}/f1/archive", {"reason": ""}, INVALID),
    (f"PUT {NOTE}/f1/note", {"onwer": "a"}, INVALID),
    (f"PUT {NOTE}/f1/note", {"comment": "x" * 4_001}, INVALID),
    ("GET /redrives/ffff", None, "404 unknown-redrive"),
    ("GET /redrives/ffff/outcomes", None, "404 unknown-redrive"),
    ("POST /redrives/ffff/cancel", None, "404 unknown-redrive"),
    ("POST /redrives/ffff/cancel?force=1", None, "422 unexpected-parameter"),
    ("GET /redrives/nobody", None, INVALID),
    ("GET /redrives?after=xx", None, NO_CURSOR),
    ("PUT /redrives", None, "405 method-not-allowed"),
    ("GET /redrive-policies/ffff", None, "404 unknown-redrive-policy"),
    ("GET /redrive-policies/ffff/changes", None, "404 unknown-redrive-policy"),
    ("GET /redrive-policies/ffff/redrives", None, "404 unknown-redrive-policy"),
    ("DELETE /redrive-policies/ffff", None, "404 unknown-redrive-policy"),
    ("DELETE /redrive-policies/ffff?force=1", None, "422 unexpected-parameter"),
    ("GET /redrive-policies/nobody", None, INVALID),
]


def refused(client: httpx2.Client, line: str, body: object) -> str:
    """The problem that answers a request, as ``GET /redrives/ffff``."""
    method, path = line.split()
    return problem(client.request(method, f"{V1}{path}", json=body))


def test_without_a_store_a_route_says_so_and_makes_none(client: httpx2.Client, store_file: Path) -> None:
    answers = {f"{line} {body}": refused(client, line, body) for line, body in NEED_A_STORE}
    assert answers == dict.fromkeys(answers, "503 store-unavailable")
    assert not store_file.exists()
    assert str(store_file.parent) not in client.get(f"{V1}/overview").text


@pytest.mark.usefixtures("store")
def test_an_empty_store_is_an_answer(client: httpx2.Client) -> None:
    for path in LISTS:
        assert client.get(f"/api/v1{path}").status_code == 200, path


def test_a_request_that_is_refused_is_answered_with_its_problem(client: httpx2.Client, add_row: Add) -> None:
    add_row(schema.groups, fingerprint="f1")
    expected = {f"{line} {body}": answer for line, body, answer in REFUSED}
    assert {f"{line} {body}": refused(client, line, body) for line, body, _ in REFUSED} == expected


SEARCHES = [
    ("GET /dead-letters/groups", None),
    ("GET /dead-letters/records?topic=dlq.t", None),
    ("POST /redrives", REDRIVE),
]


def test_what_reads_kafka_or_evaluates_a_filter_needs_a_place(served: Caller) -> None:
    searches = served.app.state.service.searches
    with ExitStack() as taken:
        for number in range(MAX_SEARCHES):
            taken.enter_context(searches.place(str(number)))
        answers = {line: refused(served, line, body) for line, body in SEARCHES}
    assert answers == dict.fromkeys(answers, "429 search-busy")


UNSTORABLE = [
    (
        "/redrive-policies",
        r'{"dlq_topics": ["dlq.a", "\ud800"], "include_existing": true, "reason": "x"}',
        "dlq_topics.1",
    ),
    (
        "/redrive-policies",
        r'{"dlq_topics": ["a"], "include_existing": true, "reason": "x", '
        r'"guards": {"max_target_lag": 1, "lag_group": "\ud800"}}',
        "guards.lag_group",
    ),
    ("/dead-letters/groups/f1/archive", r'{"reason": "\u0000"}', "reason"),
]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("path", "body", "field"), UNSTORABLE)
def test_a_text_that_no_store_holds_is_refused(
    client: httpx2.Client, path: str, body: str, field: str
) -> None:
    answer = client.post(f"/api/v1{path}", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["errors"][0]["name"]) == (422, field)


def test_the_root_leads_to_the_console(client: httpx2.Client) -> None:
    assert client.get("/").headers["location"] == "/console/"


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("path", ["/dead-letters/groups/f1/note", "/redrive-policies/0"])
@pytest.mark.parametrize("tag", ["3", '"a"', 'W/"3"', '"3', "", '"1", "2"', "**"])
def test_an_if_match_that_no_answer_gave_is_not_valid_wherever_it_is_sent(
    client: httpx2.Client, path: str, tag: str
) -> None:
    answer = client.put(f"{V1}{path}", json=POLICY, headers={"If-Match": tag})
    assert problem(answer) == INVALID
    assert 'if-match: this takes the ETag that was read, as "3"' in answer.json()["detail"]
