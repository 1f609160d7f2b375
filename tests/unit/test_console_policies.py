"""Policies in the console: made, changed, switched and deleted, with what the api says of them."""

import re
from collections.abc import Callable, Iterator
from html import unescape

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from api.auth import Role
from api.console import policy_form
from streaming.redrive.policy import PolicyRequest
from streaming.store import policies
from tests import console_store
from tests.console_store import POLICY
from tests.unit.console_visit import Console, visiting

SHEET = {
    "dlq_topics": "dlq\\.orders\ndlq\\.payments",
    "existing": "too",
    "reason": "the database is away now and then",
}
PAGE = f"/policies/{POLICY}"


@pytest.fixture
def console(app: FastAPI, store: Engine, now_ms: int) -> Iterator[Console]:
    """An operator's."""
    console_store.fill(store, now_ms)
    desk = app.state.service.desk
    _, credential = desk.create("ann", Role.OPERATOR, 0, "test", lambda *_: None)
    with visiting(app) as made:
        made.sign_in(credential.text)
        yield made


@pytest.fixture
def kept(app: FastAPI) -> Callable[[str], PolicyRequest]:
    """What the store holds of a policy."""

    def find(policy: str) -> PolicyRequest:
        with app.state.service.store.read() as connection:
            return policies.find(connection, policy).request

    return find


def test_a_policy_is_made_from_its_sheet(console: Console, kept: Callable[[str], PolicyRequest]) -> None:
    answer = console.post(
        "/policies/new",
        **SHEET,
        filter='connector == "sink"',
        exclude_error_classes="a.B\n c.D ",
        excluded="leave",
        target="map",
        target_map="orders=orders2\nold=new",
        records_per_second="",
        max_attempts="3",
        retry_backoff_s="1.5",
        retry_backoff_max_s="60",
    )
    assert answer.status_code == 303
    made = kept(answer.headers["location"].rpartition("/")[2])
    assert made.model_dump(exclude_defaults=True) == {
        "dlq_topics": (r"dlq\.orders", r"dlq\.payments"),
        "filter": 'connector == "sink"',
        "exclude_error_classes": ("a.B", "c.D"),
        "excluded": "leave",
        "include_existing": True,
        "target": {"kind": "map", "map": {"orders": "orders2", "old": "new"}},
        "limits": {"records_per_second": None},
        "retry": {"max_attempts": 3, "retry_backoff_ms": 1_500},
        "reason": SHEET["reason"],
    }
    shown = unescape(console.get(answer.headers["location"].removeprefix("/console")).text)
    assert "<code>orders</code> to <code>orders2</code>" in shown
    assert "redrive-policies.create" in console.get("/audit").text


REFUSED = {
    "no topic": ({"dlq_topics": ""}, "dlq_topics", "say which topics"),
    "no reason": ({"reason": ""}, "reason", "say why"),
    "a broken pattern": ({"dlq_topics": "dlq.("}, "dlq_topics", "pattern"),
    "a broken filter": ({"filter": "ataempts < 3"}, "filter", "did you mean attempts?"),
    "a pace that is none": ({"records_per_second": "many"}, "records_per_second", "number"),
    "no attempt": ({"max_attempts": "0"}, "max_attempts", "greater than or equal to 1"),
    "a wait that is none": ({"retry_backoff_s": "soon"}, "retry_backoff_s", "in seconds"),
    "an endless wait": ({"retry_backoff_max_s": "1e400"}, "retry_backoff_max_s", "in seconds"),
    "no target": ({"target": "topic"}, "target_topic", "name the topic"),
    "no topic's name": ({"target": "topic", "target_topic": "a b"}, "target_topic", "pattern"),
    "no pair": ({"target": "map", "target_map": "a"}, "target_map", "old=new"),
    "no class": ({"exclude_error_classes": "a b"}, "exclude_error_classes", "pattern"),
}


@pytest.mark.parametrize(("changes", "field", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_said_beside_its_field(
    console: Console, changes: dict[str, str], field: str, said: str
) -> None:
    answer = console.post("/policies/new", **{**SHEET, **changes})
    text = unescape(answer.text)
    assert answer.status_code == 422
    problem = re.search(rf'id="{field}-problem">([^<]+)<', text)
    assert problem, text
    assert said in problem[1]
    for value in changes.values():
        assert value in text, "what was written is still there"


def test_what_the_api_refuses_the_console_refuses_with_the_same_words(console: Console) -> None:
    into_a_queue = {**SHEET, "target": "topic", "target_topic": "dlq.orders"}
    answer = console.post("/policies/new", **into_a_queue)
    assert answer.status_code == 422
    assert "target dlq.orders" in _words(answer.text)


def test_a_change_leaves_alone_what_has_no_control_and_shows_it(
    console: Console, kept: Callable[[str], PolicyRequest]
) -> None:
    before = kept(POLICY)
    form = policy_form.filled(before)
    assert form["also"] == "limits.bytes_per_second=1000000"
    version = _version(console.get(f"{PAGE}/edit").text)
    answer = console.post(f"{PAGE}/edit", **{**form, "max_attempts": "9", "version": version})
    assert answer.status_code == 303
    assert kept(POLICY) == before.model_copy(
        update={"retry": before.retry.model_copy(update={"max_attempts": 9})}
    )
    assert kept(POLICY).limits.bytes_per_second == 1_000_000


def test_who_comes_second_changes_nothing(console: Console, kept: Callable[[str], PolicyRequest]) -> None:
    form = policy_form.filled(kept(POLICY)) | {"version": "3"}
    assert console.post(f"{PAGE}/edit", **{**form, "reason": "first"}).status_code == 303
    late = console.post(f"{PAGE}/edit", **{**form, "reason": "second"})
    assert late.status_code == 412
    assert kept(POLICY).reason == "first"
    assert "version 4" in _words(late.text)
    assert console.post(f"{PAGE}/switch", enabled="false", version="3").status_code == 412
    assert console.post(f"{PAGE}/delete", version="3").status_code == 412


def test_a_policy_is_switched_off_and_on_and_deleted(
    console: Console, kept: Callable[[str], PolicyRequest]
) -> None:
    for enabled, version, said in (("false", "3", "It is off"), ("true", "4", "It is on")):
        assert console.post(f"{PAGE}/switch", enabled=enabled, version=version).status_code == 303
        assert str(kept(POLICY).enabled).lower() == enabled
        assert said in console.get(PAGE).text
    assert console.post(f"{PAGE}/delete", version="").status_code == 400
    assert console.post(f"{PAGE}/delete", version="5").status_code == 303
    gone = _words(console.get(PAGE).text)
    assert "It was deleted." in gone
    assert "Switch off" not in gone
    assert "deleted version 6" in gone
    assert console.get(f"{PAGE}/edit").status_code == 404
    assert console.post(f"{PAGE}/switch", enabled="true", version="6").status_code == 404
    assert "redrive-policies.delete" in console.get("/audit").text


def test_a_link_fills_in_the_topic(console: Console) -> None:
    assert "\ndlq\\.orders</textarea>" in console.get("/policies/new?dlq_topic=dlq.orders").text


def _version(text: str) -> str:
    found = re.search(r'name="version" value="(\d+)"', text)
    assert found
    return found[1]


def _words(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())
