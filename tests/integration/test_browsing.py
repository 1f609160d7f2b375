"""Dead letters browsed in a real Kafka: complete, filtered, in pages, without moving anybody's offset."""

import csv
import io
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from fastapi.testclient import TestClient

from api.audit import UNMASKED
from api.auth.role import Role
from api.browsing.merge import GROUP
from deadwatch.contract import headers as names
from lab import Lab
from lab.topics import Topics
from tests.kafka_topics import Headers, produce_unreadable, producing, undone
from tests.names import fresh

RECORDS, PARTITIONS = 700, 3
BEGAN_MS = int(time.time()) * 1_000 - 3_600_000
"""Brokers refuse times of the future."""
RECORDS_URL = "/api/v1/dead-letters/records"
Serve = Callable[..., TestClient]


@pytest.fixture(scope="module")
def topic(lab: Lab) -> str:
    """Records a second apart, spread unevenly over three partitions, with an aborted transaction between."""
    name = fresh("dlq.browse-")
    Topics(lab.bootstrap_servers).create(name, partitions=PARTITIONS)
    with producing(lab.bootstrap_servers) as producer:
        for number in range(RECORDS):
            if number == RECORDS // 2:
                assert producer.flush(30) == 0
                abort(lab, name)
            producer.produce(
                name,
                json.dumps({"number": number, "name": "Ada"}).encode(),
                b"k%d" % number,
                partition=0 if number % 7 else number % PARTITIONS,
                timestamp=BEGAN_MS + number * 1_000,
                headers=[(names.CONNECT_MESSAGE, b"failed at %d" % number), ("tenant", b"acme")],
            )
    return name


def abort(lab: Lab, topic: str) -> None:
    with undone(lab.bootstrap_servers) as producer:
        for partition in range(PARTITIONS):
            for _ in range(200):
                producer.produce(topic, b"never", partition=partition, timestamp=BEGAN_MS)


@pytest.fixture
def serve(serve: Serve) -> Serve:
    """With time for a machine that is busy."""
    return partial(serve, browse_timeout_ms=30_000)


def pages(client: TestClient, **asked: Any) -> Iterator[Any]:  # noqa: ANN401
    after: dict[str, str] = {}
    while True:
        answer = client.get(RECORDS_URL, params={**asked, **after})
        assert answer.status_code == 200, answer.text
        yield answer.json()
        if answer.json()["next"] is None:
            return
        after = {"after": answer.json()["next"]}


def numbers(items: list[Any]) -> list[int]:
    return [int(one["message"].removeprefix("failed at ")) for one in items]


@pytest.mark.parametrize(("order", "limit"), [("oldest", 97), ("newest", 97), ("newest", 500)])
def test_pages_hold_every_record_once_and_in_order(serve: Serve, topic: str, order: str, limit: int) -> None:
    found = [*pages(serve(), topic=topic, order=order, limit=limit)]
    read = [number for page in found for number in numbers(page["items"])]
    assert read == sorted(range(RECORDS), reverse=order == "newest")
    assert (found[-1]["unread"], found[-1]["unread_offsets"]) == ([], 0)


@pytest.mark.parametrize("order", ["oldest", "newest"])
@pytest.mark.parametrize("budget", [{"browse_max_records": 40}, {"browse_max_bytes": 900}])
def test_a_scan_that_ran_out_of_budget_goes_on(
    serve: Serve, topic: str, order: str, budget: dict[str, int]
) -> None:
    asked = {"topic": topic, "order": order, "limit": 500}
    found = [*pages(serve(**budget), **asked, filter='message.endsWith("99")')]
    assert len(found) > 5
    assert sorted(number for page in found for number in numbers(page["items"])) == list(range(99, 700, 100))
    left = [page["unread_offsets"] for page in found]
    assert left == sorted(left, reverse=True)
    assert len(set(left)) == len(left)


def test_no_group_is_made_and_no_offset_is_kept(lab: Lab, serve: Serve, topic: str) -> None:
    assert [*pages(serve(), topic=topic, limit=500)]
    admin = AdminClient({"bootstrap.servers": lab.bootstrap_servers})
    assert GROUP not in {one.group_id for one in admin.list_consumer_groups().result(30).valid}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"from": BEGAN_MS + 690_000}, range(690, 700)),
        ({"from": BEGAN_MS + 100_000, "to": BEGAN_MS + 110_000}, range(100, 110)),
        ({"filter": 'message.matches("at 1[0-9]$")'}, range(10, 20)),
        ({"from": BEGAN_MS + 800_000}, []),
    ],
)
def test_a_selection_is_what_it_says(
    serve: Serve, topic: str, asked: dict[str, Any], expected: list[int]
) -> None:
    told = {
        name: value if name == "filter" else datetime.fromtimestamp(value / 1_000, UTC).isoformat()
        for name, value in asked.items()
    }
    found = [*pages(serve(), topic=topic, order="oldest", limit=500, **told)]
    assert [number for page in found for number in numbers(page["items"])] == list(expected)


def test_a_place_is_browsed_and_looked_at(serve: Serve, topic: str) -> None:
    client = serve()
    (page,) = pages(client, topic=topic, partition=1, offset=2, order="oldest", limit=500)
    assert page["items"]
    assert {one["partition"] for one in page["items"]} == {1}
    first = page["items"][0]
    assert first["offset"] >= 2
    answer = client.get(f"{RECORDS_URL}/{topic}/1/{first['offset']}").json()
    assert answer == first
    aborted = next(
        offset for offset in range(2, 500) if offset not in {one["offset"] for one in page["items"]}
    )
    missing = client.get(f"{RECORDS_URL}/{topic}/1/{aborted}")
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:deadwatch:problem:unknown-record")
    assert "transaction" in missing.json()["detail"]
    assert "the partition ends" in client.get(f"{RECORDS_URL}/{topic}/1/99999").json()["detail"]
    assert client.get(f"{RECORDS_URL}/{topic}/3/0").status_code == 404


def test_a_record_whose_headers_cannot_be_read_is_shown_without_them(lab: Lab, serve: Serve) -> None:
    topic = fresh("dlq.browse-")
    Topics(lab.bootstrap_servers).create(topic)
    headers: Headers = [(names.CONNECT_MESSAGE, b"failed at 1")]
    with producing(lab.bootstrap_servers) as producer:
        producer.produce(topic, b"{}", headers=headers)
    produce_unreadable(lab.bootstrap_servers, topic, 0, headers, 50)
    client = serve()
    (page,) = pages(client, topic=topic, order="oldest", limit=500)
    told = [(one["message"], len(one["headers"]), one["headers_unreadable"]) for one in page["items"]]
    assert told == [("failed at 1", 1, False), *[("", 0, True)] * 50]
    assert page["items"][1]["value"]["content"] == {}
    shown = client.get(f"/console/records/{topic}/0/1", headers={"accept": "text/html"}).text
    assert "Its headers cannot be read" in shown


def test_payloads_are_for_the_role_and_every_look_is_in_the_audit(serve: Serve, topic: str) -> None:
    anybody, allowed = serve(), serve(Role.OPERATOR)
    asked: dict[str, Any] = {"topic": topic, "limit": 1, "unmasked": True, "why": "case 7"}
    by_value: dict[str, Any] = {"topic": topic, "filter": 'value.contains("Ada")'}
    for refused in (asked, by_value):
        answer = anybody.get(RECORDS_URL, params=refused)
        assert (answer.status_code, "Ada" in answer.text) == (401, False)
    (record,) = allowed.get(RECORDS_URL, params=asked).json()["items"]
    assert record["value"]["content"] == {"number": 699, "name": "Ada"}
    assert (record["key"]["content"], record["headers"][1]["value"]["content"]) == ("k699", "acme")
    place = f"{topic}/{record['partition']}/{record['offset']}"
    look: dict[str, str] = {"unmasked": "true", "why": "case 7"}
    assert allowed.get(f"{RECORDS_URL}/{place}", params=look).json() == record
    assert (
        allowed.get(f"{RECORDS_URL}/download", params={"topic": topic, **look}).text.count("Ada") == RECORDS
    )
    assert allowed.get(RECORDS_URL, params=by_value).status_code == 200
    kept = allowed.get("/api/v1/audit").json()["items"]
    looks = [(one["subject"], one["why"]) for one in kept if one["action"] == UNMASKED]
    assert sorted(looks) == sorted([(topic, "case 7"), (place, "case 7"), (topic, "case 7")])


@pytest.mark.parametrize("name", ["streams-plaintext-input", "__consumer_offsets", "dlq.nobody"])
def test_other_topics_cannot_be_browsed(serve: Serve, name: str) -> None:
    answer = serve().get(RECORDS_URL, params={"topic": name})
    assert (answer.status_code, answer.json()["type"]) == (
        404,
        "urn:deadwatch:problem:unknown-dead-letter-topic",
    )


def test_a_topic_on_the_deny_list_cannot_be_browsed(serve: Serve, topic: str) -> None:
    assert serve(dlq_topics_deny=(topic,)).get(RECORDS_URL, params={"topic": topic}).status_code == 404


def test_a_download_holds_all_or_says_where_it_was_cut(serve: Serve, topic: str) -> None:
    asked = {"topic": topic, "order": "oldest"}
    whole = serve().get(f"{RECORDS_URL}/download", params=asked)
    assert whole.headers["content-type"] == "application/jsonl"
    assert numbers([json.loads(line) for line in whole.text.splitlines()]) == [*range(RECORDS)]
    cut = serve(browse_download_max_records=600)
    *first, last = [
        json.loads(one) for one in cut.get(f"{RECORDS_URL}/download", params=asked).text.splitlines()
    ]
    rest = cut.get(f"{RECORDS_URL}/download", params={**asked, "after": last["next"], "as": "csv"})
    assert "attachment" in rest.headers["content-disposition"]
    rows = [*csv.DictReader(io.StringIO(rest.text))]
    assert numbers(first) + numbers(rows) == [*range(RECORDS)]
    assert {row["value_format"] for row in rows} == {"json"}
