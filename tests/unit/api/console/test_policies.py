"""Policies in the console: made, changed, switched and deleted, and refused as the api refuses them."""

import re
from collections.abc import Callable
from html import unescape

import pytest
from fastapi import FastAPI

from api.console.views.policies import from_policy
from deadwatch.orders.policy import PolicyRequest
from deadwatch.store.write import policies
from tests.console_store import POLICY
from tests.unit.api.console_visit import Console, words

FIELDS = {
    "dlq_topics": "dlq\\.orders\ndlq\\.payments",
    "existing": "too",
    "reason": "the database is away now and then",
}
PAGE = f"/policies/{POLICY}"


@pytest.fixture
def kept(app: FastAPI) -> Callable[[str], PolicyRequest]:
    """What the store holds of a policy."""

    def find(policy: str) -> PolicyRequest:
        with app.state.service.store.read() as connection:
            return policies.find(connection, policy).request

    return find


def test_a_policy_is_made_from_its_form(operator: Console, kept: Callable[[str], PolicyRequest]) -> None:
    answer = operator.post(
        "/policies/new",
        **FIELDS,
        filter='connector == "sink"',
        exclude_error_classes="a.B\n c.D ",
        excluded="leave",
        target="map",
        target_map="orders=orders2\nold=new",
        records_per_second="",
        max_attempts="3",
        retry_backoff_s="1.5",
        retry_backoff_max_s="60",
        drop_headers="x-a",
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
        "drop_headers": ("x-a",),
        "reason": FIELDS["reason"],
    }
    shown = unescape(operator.get(answer.headers["location"].removeprefix("/console")).text)
    assert "<code>orders</code> to <code>orders2</code>" in shown
    audit = operator.get("/audit").text
    assert "redrive-policies.create" in audit
    assert f"{FIELDS['reason']}; headers left out: x-a" in audit, "as over the api"


REFUSED = {
    "no topic": ({"dlq_topics": ""}, "dlq_topics", "Enter the topics"),
    "no reason": ({"reason": ""}, "reason", "Enter a reason"),
    "a broken pattern": ({"dlq_topics": "dlq.("}, "dlq_topics", "pattern"),
    "a broken filter": ({"filter": "ataempts < 3"}, "filter", "did you mean attempts?"),
    "a pace that is none": ({"records_per_second": "many"}, "records_per_second", "number"),
    "no attempt": ({"max_attempts": "0"}, "max_attempts", "greater than or equal to 1"),
    "a wait that is none": ({"retry_backoff_s": "soon"}, "retry_backoff_s", "in seconds"),
    "an endless wait": ({"retry_backoff_max_s": "1e400"}, "retry_backoff_max_s", "in seconds"),
    "no target": ({"target": "topic"}, "target_topic", "Enter the topic"),
    "no topic's name": ({"target": "topic", "target_topic": "a b"}, "target_topic", "1 to 249 characters"),
    "no pair": ({"target": "map", "target_map": "a"}, "target_map", "old=new"),
    "no class": ({"exclude_error_classes": "a b"}, "exclude_error_classes", "1 to 300 characters"),
}


def test_a_problem_is_shown_beside_its_field(operator: Console) -> None:
    csrf = operator.token()
    for name, (changes, field, why) in REFUSED.items():
        answer = operator.post("/policies/new", csrf=csrf, **{**FIELDS, **changes})
        text = unescape(answer.text)
        assert answer.status_code == 422, name
        problem = re.search(rf'id="{field}-problem">([^<]+)<', text)
        assert problem, name
        assert why in problem[1]
        for value in changes.values():
            assert value in text, "what was written is still there"


def test_what_the_api_refuses_the_console_refuses_with_the_same_words(operator: Console) -> None:
    into_a_queue = {**FIELDS, "target": "topic", "target_topic": "dlq.orders"}
    answer = operator.post("/policies/new", **into_a_queue)
    assert answer.status_code == 422
    assert "Target dlq.orders" in words(answer.text)


def test_who_comes_second_changes_nothing(operator: Console, kept: Callable[[str], PolicyRequest]) -> None:
    before = kept(POLICY)
    form = from_policy(before) | {"version": "3"}
    assert operator.post(f"{PAGE}/edit", **{**form, "max_attempts": "9"}).status_code == 303
    late = operator.post(f"{PAGE}/edit", **{**form, "max_attempts": "8"})
    assert late.status_code == 412
    retry = before.retry.model_copy(update={"max_attempts": 9})
    assert kept(POLICY) == before.model_copy(update={"retry": retry})
    assert "version 4" in words(late.text)
    assert operator.post(f"{PAGE}/switch", enabled="false", version="3").status_code == 412
    assert operator.post(f"{PAGE}/delete", version="3").status_code == 412
    refused = ("redrive-policies.change", "redrive-policies.delete")
    audit = words(operator.get("/audit").text)
    assert [name in audit for name in refused] == [True, True], "the names are those of the api"
    assert " policies." not in audit


def test_a_policy_is_switched_off_and_on_and_deleted(
    operator: Console, kept: Callable[[str], PolicyRequest]
) -> None:
    for enabled, version, state in (("false", "3", "It is off"), ("true", "4", "It is on")):
        assert operator.post(f"{PAGE}/switch", enabled=enabled, version=version).status_code == 303
        assert str(kept(POLICY).enabled).lower() == enabled
        assert state in operator.get(PAGE).text
    assert operator.post(f"{PAGE}/delete", version="").status_code == 400
    assert operator.post(f"{PAGE}/delete", version="5").status_code == 303
    gone = words(operator.get(PAGE).text)
    assert "It was deleted." in gone
    assert "Switch off" not in gone
    assert "deleted version 6" in gone
    assert operator.get(f"{PAGE}/edit").status_code == 404
    assert operator.post(f"{PAGE}/switch", enabled="true", version="6").status_code == 404
    assert "redrive-policies.delete" in operator.get("/audit").text


def test_a_link_fills_in_the_topic(operator: Console) -> None:
    assert "\ndlq\\.orders</textarea>" in operator.get("/policies/new?dlq_topic=dlq.orders").text
