"""Redrive policies over the api, as far as Kafka is not asked."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import Engine

from streaming.redrive.cluster import Extents
from streaming.redrive.order import Order
from streaming.redrive.plan import Plan
from streaming.redrive.policies import Due
from streaming.store import policies
from streaming.store.policies import PolicyBook

PATH = "/api/v1/redrive-policies"
PROBLEM = "urn:deadwatch:problem:"
BODY: dict[str, Any] = {"dlq_topics": [r"dlq\.t"], "reason": "flaky", "include_existing": True}
NOW = "2027-01-15T08:00:00Z"


@pytest.fixture
def made(client: httpx2.Client, store: Engine) -> dict[str, Any]:
    del store  # it has to be there
    answer = client.post(PATH, json=BODY)
    assert (answer.status_code, answer.headers["ETag"]) == (201, '"1"')
    told: dict[str, Any] = answer.json()
    return told


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
        assert (refused.status_code, refused.json()["type"]) == (412, f"{PROBLEM}redrive-policy-changed")
    assert client.put(path, json=made["request"], headers={"If-Match": "*"}).json()["version"] == 3
    assert client.delete(path, headers={"If-Match": '"3"'}).status_code == 204
    assert client.get(path).status_code == 404
    first = client.get(f"{path}/changes", params={"limit": 3}).json()
    rest = client.get(f"{path}/changes", params={"limit": 3, "after": first["next"]}).json()
    assert rest["next"] is None
    told = (*first["items"], *rest["items"])
    assert [(one["version"], one["change"]) for one in told] == [
        (4, "deleted"),
        (3, "changed"),
        (2, "changed"),
        (1, "created"),
    ]


def test_they_come_in_pages_the_oldest_first(client: httpx2.Client, made: dict[str, Any]) -> None:
    ids = [made["id"], *(client.post(PATH, json=BODY).json()["id"] for _ in range(2))]
    first = client.get(PATH, params={"limit": 2}).json()
    rest = client.get(PATH, params={"limit": 2, "after": first["next"]}).json()
    assert [len(first["items"]), len(rest["items"]), rest["next"]] == [2, 1, None]
    assert sorted(one["id"] for one in (*first["items"], *rest["items"])) == sorted(ids)


def test_its_redrives_name_it_and_outlive_it(
    client: httpx2.Client, made: dict[str, Any], store: Engine
) -> None:
    with store.begin() as connection:
        policy = policies.find(connection, made["id"])
    order = Order(
        id="a",
        request=policy.request.order("dlq.t"),
        requested_by=f"policy {policy.id}",
        created_at_ms=1,
        begin={0: 0},
        cut_off={0: 9},
        policy=policy.id,
    )
    part = Due("dlq.t", Extents({0: 0}, {0: 9}))
    PolicyBook(store).carry_out(policy, part, order, Plan().model_dump_json())
    told = client.get(f"{PATH}/{policy.id}").json()
    assert (told["latest_order"], told["dlq_topics"]) == ("a", ["dlq.t"])
    client.delete(f"{PATH}/{policy.id}")
    (one,) = client.get(f"{PATH}/{policy.id}/redrives").json()["items"]
    assert (one["id"], one["policy"], one["dry_run"]) == ("a", policy.id, False)


A_DLQ = {"kind": "topic", "topic": "dlq.u"}
A_CIRCLE = {"kind": "map", "map": {"a": "b", "b": "a"}}
REFUSED = [
    ("a filter that parses in brackets alone", {"filter": "true) || (true"}, "invalid-filter"),
    ("a filter that does not parse", {"filter": "attempts <"}, "invalid-filter"),
    (
        "a target that is a dead letter topic",
        {"target": A_DLQ},
        "redrive-refused",
    ),
    ("a map in a circle", {"target": A_CIRCLE}, "redrive-refused"),
    ("deadlines that cannot be met", {"delivery_timeout_ms": 5}, "redrive-refused"),
    ("no topics", {"dlq_topics": []}, "invalid-request"),
    ("a limit that loses records", {"limits": {"max_records": 5}}, "invalid-request"),
    ("an unknown field", {"selection": {"all": True}}, "invalid-request"),
]


@pytest.mark.parametrize(("changes", "kind"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
@pytest.mark.usefixtures("store")
def test_a_policy_that_could_never_work_is_refused(
    client: httpx2.Client, changes: dict[str, object], kind: str
) -> None:
    answer = client.post(PATH, json={**BODY, **changes})
    assert (answer.status_code, answer.json()["type"]) == (422, PROBLEM + kind)
    assert client.get(PATH).json() == {"items": [], "next": None}


@pytest.mark.parametrize(
    ("request_line", "told"),
    [
        (f"GET {PATH}/ffff", "404 unknown-redrive-policy"),
        (f"GET {PATH}/ffff/changes", "404 unknown-redrive-policy"),
        (f"GET {PATH}/ffff/redrives", "404 unknown-redrive-policy"),
        (f"DELETE {PATH}/ffff", "404 unknown-redrive-policy"),
        (f"DELETE {PATH}/ffff?force=1", "422 unexpected-parameter"),
        (f"GET {PATH}/nobody", "422 invalid-request"),
    ],
)
@pytest.mark.usefixtures("store")
def test_a_refusal_is_a_problem(client: httpx2.Client, request_line: str, told: str) -> None:
    answer = client.request(*request_line.split())
    assert f"{answer.status_code} {answer.json()['type'].removeprefix(PROBLEM)}" == told


def test_an_etag_that_is_none_is_refused(client: httpx2.Client, made: dict[str, Any]) -> None:
    answer = client.delete(f"{PATH}/{made['id']}", headers={"If-Match": "1"})
    assert (answer.status_code, answer.json()["type"]) == (422, f"{PROBLEM}redrive-refused")


def test_without_a_store_nothing_is_made(client: httpx2.Client, store_file: Path) -> None:
    for answer in (client.post(PATH, json=BODY), client.delete(f"{PATH}/a"), client.get(PATH)):
        assert (answer.status_code, answer.json()["type"]) == (503, f"{PROBLEM}store-unavailable")
    assert not store_file.exists()
