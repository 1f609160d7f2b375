"""What people say of a group, and which groups a list holds."""

from collections.abc import Callable

import httpx2
import pytest
from sqlalchemy import Engine, update

from streaming.store import schema

Add = Callable[..., None]
GROUPS = "/api/v1/dead-letters/groups"


@pytest.fixture(autouse=True)
def _two_groups(add_row: Add) -> None:
    for name, records in (("f1", 10), ("f2", 20)):
        add_row(schema.groups, fingerprint=name, records=records, last_ms=records)


def listed(client: httpx2.Client, **asked: str) -> list[str]:
    return [one["fingerprint"] for one in client.get(GROUPS, params=asked).json()["items"]]


def test_a_note_is_kept_with_who_wrote_it(client: httpx2.Client, me: str) -> None:
    assert client.get(f"{GROUPS}/f1/note").json()["version"] == 0
    said = {"owner": "team payments", "comment": "known"}
    answer = client.put(f"{GROUPS}/f1/note", json=said)
    told = {name: answer.json()[name] for name in ("owner", "comment", "version", "changed_by", "changed_at")}
    assert told == {**said, "version": 1, "changed_by": me, "changed_at": "2027-01-15T08:00:00Z"}
    assert answer.headers["etag"] == '"1"'
    assert client.get(f"{GROUPS}/f1/note").json() == answer.json()
    assert client.get(f"{GROUPS}/f1").json()["owner"] == "team payments"


def test_of_two_who_change_the_same_version_one_is_told(client: httpx2.Client) -> None:
    match = {"If-Match": '"0"'}
    assert client.put(f"{GROUPS}/f1/note", json={"owner": "a"}, headers=match).status_code == 200
    late = client.put(f"{GROUPS}/f1/note", json={"owner": "b"}, headers=match)
    assert (late.status_code, late.json()["type"]) == (412, "urn:deadwatch:problem:group-note-changed")
    assert client.get(f"{GROUPS}/f1/note").json()["owner"] == "a"


def test_an_archived_group_leaves_the_list_until_it_grows(client: httpx2.Client, store: Engine) -> None:
    client.put(f"{GROUPS}/f1/note", json={"owner": "a"})
    assert client.post(f"{GROUPS}/f1/archive", json={"reason": "fixed"}).json()["archived_records"] == 10
    assert (listed(client), listed(client, shelf="archived"), listed(client, shelf="all")) == (
        ["f2"],
        ["f1"],
        ["f2", "f1"],
    )
    with store.begin() as connection:
        connection.execute(
            update(schema.groups).where(schema.groups.c.fingerprint == "f1").values(records=11)
        )
    assert (listed(client), listed(client, shelf="archived")) == (["f2", "f1"], [])
    group = client.get(f"{GROUPS}/f1").json()
    assert (group["archived"], group["archive_reason"], group["owner"]) == (False, "fixed", "a")
    client.post(f"{GROUPS}/f2/archive", json={"reason": "fixed"})
    assert client.post(f"{GROUPS}/f2/unarchive").json()["archived_at"] is None
    assert listed(client) == ["f2", "f1"]


def test_every_change_is_in_the_audit(client: httpx2.Client) -> None:
    client.put(f"{GROUPS}/f1/note", json={"owner": "a"})
    client.post(f"{GROUPS}/f1/archive", json={"reason": "fixed"})
    client.post(f"{GROUPS}/f1/unarchive")
    kept = client.get("/api/v1/audit").json()["items"]
    assert [(one["action"], one["subject"], one["why"]) for one in kept] == [
        ("dead-letters.unarchive", "f1", ""),
        ("dead-letters.archive", "f1", "fixed"),
        ("dead-letters.write-note", "f1", ""),
    ]


@pytest.mark.parametrize(
    ("request_line", "body", "told"),
    [
        ("PUT /f9/note", {}, "404 unknown-group"),
        ("GET /f9/note", None, "404 unknown-group"),
        ("POST /f9/archive", {"reason": "x"}, "404 unknown-group"),
        ("POST /f9/unarchive", None, "404 unknown-group"),
        ("POST /f1/archive", {}, "422 invalid-request"),
        ("POST /f1/archive", {"reason": ""}, "422 invalid-request"),
        ("PUT /f1/note", {"onwer": "a"}, "422 invalid-request"),
        ("PUT /f1/note", {"comment": "x" * 4_001}, "422 invalid-request"),
    ],
)
def test_what_cannot_be_is_a_problem(
    client: httpx2.Client, request_line: str, body: object, told: str
) -> None:
    method, path = request_line.split()
    answer = (
        client.request(method, GROUPS + path, json=body)
        if body is not None
        else client.request(method, GROUPS + path)
    )
    assert f"{answer.status_code} {answer.json()['type'].rpartition(':')[2]}" == told
