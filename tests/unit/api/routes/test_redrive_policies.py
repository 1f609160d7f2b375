"""Redrive policies over the api, as far as Kafka is not asked."""

from dataclasses import replace
from typing import Any

import httpx2
import pytest
from sqlalchemy import Engine

from deadwatch.orders.errors import KafkaUnavailableError
from deadwatch.orders.policy import Due, PolicyRequest
from deadwatch.orders.selection import Extents
from deadwatch.store.write import policies
from deadwatch.store.write.policies import PolicyBook
from redrive.plan.plan import Plan
from tests.tables import named
from tests.unit.api.answers import pages, problem
from tests.unit.deadwatch.store import suite

PATH = "/api/v1/redrive-policies"
BODY: dict[str, Any] = {"dlq_topics": [r"dlq\.t"], "reason": "flaky", "include_existing": True}
NOW = "2027-01-15T08:00:00Z"


@pytest.fixture
def made(client: httpx2.Client, store: Engine) -> dict[str, Any]:
    del store  # it has to be there
    answer = client.post(PATH, json=BODY)
    assert (answer.status_code, answer.headers["ETag"]) == (201, '"1"')
    found: dict[str, Any] = answer.json()
    return found


def test_a_policy_has_the_shape_that_scripts_hold_on_to(
    client: httpx2.Client, made: dict[str, Any], me: str
) -> None:
    one = client.get(f"{PATH}/{made['id']}")
    assert (one.headers["ETag"], one.json()) == ('"1"', made)
    assert client.get(PATH).json() == {"items": [made], "next": None}
    request = made.pop("request")
    assert {**made, "id": ""} == {
        "id": "",
        "version": 1,
        "enabled": True,
        "status_reason": None,
        "latest_order": None,
        "dlq_topics": [],
        "changed_by": me,
        "created_at": NOW,
        "changed_at": NOW,
    }
    assert (request["dlq_topics"], request["retry"]["max_attempts"]) == ([r"dlq\.t"], 5)


def test_it_is_changed_at_the_version_that_was_read_or_not_at_all(
    client: httpx2.Client, made: dict[str, Any]
) -> None:
    path, off = f"{PATH}/{made['id']}", {**made["request"], "enabled": False}
    answer = client.put(path, json=off, headers={"If-Match": '"1"'})
    assert (answer.status_code, answer.headers["ETag"], answer.json()["enabled"]) == (200, '"2"', False)
    for refused in (
        client.put(path, json=made["request"], headers={"If-Match": '"1"'}),
        client.delete(path, headers={"If-Match": '"1"'}),
    ):
        assert problem(refused) == "412 redrive-policy-changed"
    assert client.put(path, json=made["request"], headers={"If-Match": "* "}).json()["version"] == 3
    assert client.delete(path, headers={"If-Match": '"3" '}).status_code == 204
    assert client.get(path).status_code == 404
    first, rest = pages(client, f"{path}/changes", 3)
    changes = [(change["version"], change["change"]) for change in (*first, *rest)]
    assert changes == [(4, "deleted"), (3, "changed"), (2, "changed"), (1, "created")]


def test_none_is_made_whose_existing_records_are_not_known(
    client: httpx2.Client, store: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    del store  # it has to be there
    silent = KafkaUnavailableError("topic dlq.t does not tell its offsets")
    monkeypatch.setattr("api.orders.backlog", lambda *_: ({}, [silent]))
    answer = client.post(PATH, json={**BODY, "include_existing": False})
    assert (answer.status_code, answer.json()["detail"]) == (503, str(silent))


def test_they_come_in_pages_the_oldest_first(client: httpx2.Client, made: dict[str, Any]) -> None:
    ids = [made["id"], *(client.post(PATH, json=BODY).json()["id"] for _ in range(2))]
    first, rest = pages(client, PATH, 2)
    assert [len(first), len(rest)] == [2, 1]
    assert sorted(str(policy["id"]) for policy in (*first, *rest)) == sorted(ids)


def test_its_redrives_name_it_and_outlive_it(
    client: httpx2.Client, made: dict[str, Any], store: Engine
) -> None:
    with store.begin() as connection:
        policy = policies.find(connection, made["id"])
    order = suite.order("a", policy=policy.id)
    part = Due("dlq.t", Extents({0: 0}, {0: 9}))
    PolicyBook(store).carry_out(policy, part, order, Plan().model_dump_json())
    found = client.get(f"{PATH}/{policy.id}").json()
    assert (found["latest_order"], found["dlq_topics"]) == ("a", ["dlq.t"])
    client.delete(f"{PATH}/{policy.id}")
    (one,) = client.get(f"{PATH}/{policy.id}/redrives").json()["items"]
    assert (one["id"], one["policy"], one["dry_run"]) == ("a", policy.id, False)


REFUSED_TODAY: list[tuple[str, dict[str, object], str]] = [
    ("a slow pattern", {"dlq_topics": [r"dlq\.(?!test).*"]}, "422 redrive-refused"),
    ("a filter", {"filter": '{"a": 1}.exists(k, k == error_class)'}, "422 invalid-filter"),
]


@pytest.mark.parametrize(("changes", "refusal"), named(REFUSED_TODAY))
def test_a_policy_of_before_that_is_refused_today_can_be_switched_off(
    client: httpx2.Client, made: dict[str, Any], store: Engine, changes: dict[str, object], refusal: str
) -> None:
    old, path = {**BODY, **changes}, f"{PATH}/b"
    assert problem(client.post(PATH, json=old)) == refusal
    with store.begin() as connection:
        before = policies.find(connection, made["id"])
    kept = replace(before, id="b", request=PolicyRequest.model_validate(old))
    PolicyBook(store).create(kept, lambda *_: None)
    assert problem(client.put(path, json={**old, "reason": "another"})) == refusal
    off = client.put(path, json={**old, "enabled": False})
    assert (off.status_code, off.json()["enabled"]) == (200, False)
    assert problem(client.put(path, json={**old, "enabled": True})) == refusal


A_DLQ = {"kind": "topic", "topic": "dlq.u"}
A_CIRCLE = {"kind": "map", "map": {"a": "b", "b": "a"}}
REFUSED: list[tuple[str, dict[str, object], str]] = [
    ("a filter that parses in brackets alone", {"filter": "true) || (true"}, "invalid-filter"),
    ("a filter that does not parse", {"filter": "attempts <"}, "invalid-filter"),
    ("a target that is a dead letter topic", {"target": A_DLQ}, "redrive-refused"),
    ("a map in a circle", {"target": A_CIRCLE}, "redrive-refused"),
    ("deadlines that cannot be met", {"delivery_timeout_ms": 5}, "redrive-refused"),
    ("no topics", {"dlq_topics": []}, "invalid-request"),
    ("a limit that loses records", {"limits": {"max_records": 5}}, "invalid-request"),
    ("an unknown field", {"selection": {"all": True}}, "invalid-request"),
]


@pytest.mark.usefixtures("store")
def test_a_policy_that_could_never_work_is_refused(client: httpx2.Client) -> None:
    for name, changes, kind in REFUSED:
        assert problem(client.post(PATH, json={**BODY, **changes})) == f"422 {kind}", name
    assert client.get(PATH).json() == {"items": [], "next": None}
