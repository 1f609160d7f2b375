"""What waits: dead letters that were not moved, parked or lost to retention, alike for topics and causes."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx2
import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from streaming.store import schema, series
from tests.unit.console_visit import Console, visiting

Add = Callable[..., None]
C, DLQ = "default", "dlq.t"
MINUTE_MS = 60_000


@dataclass(frozen=True)
class Case:
    name: str
    waiting: int
    outcomes: dict[str, int] = field(default_factory=dict)
    queue: dict[str, int] | None = None


HELD = {"partitions": 1, "oldest_at_ms": 1}
CASES = [
    Case("nobody has done anything", 10),
    Case("some were moved and some were parked", 3, {"sent": 5, "parked": 2}),
    Case("all was moved", 0, {"sent": 10}),
    Case("what came back is a record more and waits again", 2, {"sent": 8, "bounced": 3}),
    Case("what stayed or failed waits", 9, {"sent": 1, "skipped": 4, "failed": 5}),
    Case("moved twice is not less than nothing", 0, {"sent": 25}),
    Case("no more than lies on the topic", 4, {}, {**HELD, "records": 4}),
    Case("markers of transactions are no records", 10, {}, {**HELD, "records": 13}),
    Case("Kafka keeps what was moved", 3, {"sent": 7}, {**HELD, "records": 10}),
    Case("the topic was emptied", 0, {}, {**HELD, "records": 0}),
    Case("the topic does not exist", 0, {}, {"partitions": 0, "records": 0}),
]


@pytest.fixture
def fill(add_row: Add, add_series: Add, now_ms: int) -> Add:
    """Ten dead letters of one cause on one topic, and what became of them."""

    def add(name: str = "f1", dlq: str = DLQ, records: int = 10, **more: int) -> None:
        times = {"first_ms": now_ms - MINUTE_MS, "last_ms": now_ms - MINUTE_MS} | more
        add_row(schema.groups, fingerprint=name, kafka_cluster=C, dlq_topic=dlq, records=records, **times)
        add_series(series.DEAD_LETTERS, records, kafka_cluster=C, dlq_topic=dlq, error_class=name)

    return add


@pytest.fixture
def outcome(add_series: Add) -> Add:
    def add(kind: str, records: int, name: str = "f1", dlq: str = DLQ) -> None:
        topic = {"kafka_cluster": C, "dlq_topic": dlq, "target_topic": name}
        add_series(series.REDRIVE_RECORDS, records, **topic, outcome=kind)
        add_series(series.REDRIVE_GROUPS, records, dlq_topic=dlq, fingerprint=name, outcome=kind)

    return add


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_waits_is_the_same_for_topic_cause_and_overview(  # noqa: PLR0917 -- fixtures
    case: Case, client: httpx2.Client, fill: Add, outcome: Add, add_row: Add, now_ms: int
) -> None:
    fill()
    for kind, records in case.outcomes.items():
        outcome(kind, records)
    if case.queue is not None:
        row = {"kafka_cluster": C, "dlq_topic": DLQ, "observed_at_ms": now_ms}
        add_row(schema.dead_letter_topics, **row, **case.queue)
    (topic,) = client.get("/api/v1/dead-letters/topics").json()["items"]
    (listed,) = client.get("/api/v1/dead-letters/groups").json()["items"]
    cause = client.get("/api/v1/dead-letters/groups/f1").json()
    now = client.get("/api/v1/overview").json()["dead_letters"]
    assert [one["waiting"] for one in (topic, listed, cause, now)] == [case.waiting] * 4
    assert cause["parked"] == case.outcomes.get("parked", 0)


def test_of_a_topic_that_nobody_counts_all_that_lies_there_may_wait(
    client: httpx2.Client, add_row: Add
) -> None:
    held = {"partitions": 1, "records": 7}
    add_row(schema.dead_letter_topics, kafka_cluster=C, dlq_topic="dlq.unread", **held)
    (topic,) = client.get("/api/v1/dead-letters/topics").json()["items"]
    assert (topic["records"], topic["waiting"]) == (0, 7)


def test_a_topic_that_kafka_no_longer_has_holds_nothing(
    client: httpx2.Client, fill: Add, add_row: Add, now_ms: int
) -> None:
    fill(last_ms=now_ms - MINUTE_MS)
    row = {"kafka_cluster": C, "partitions": 1, "records": 1}
    add_row(schema.dead_letter_topics, **row, dlq_topic="dlq.other", observed_at_ms=now_ms - 2 * MINUTE_MS)
    assert client.get("/api/v1/dead-letters/groups/f1").json()["waiting"] == 10, "the look was before"
    add_row(schema.dead_letter_topics, **row, dlq_topic="dlq.more", observed_at_ms=now_ms + 1)
    assert client.get("/api/v1/dead-letters/groups/f1").json()["waiting"] == 0


@pytest.mark.parametrize(
    ("last_ms", "lie_there", "waiting"),
    [(5, 100, 0), (50, 100, 10), (5, 105, 10)],
    ids=["expired", "not older than what lies there", "less has gone than it has"],
)
def test_a_cause_whose_records_retention_has_removed_waits_for_nobody(  # noqa: PLR0917 -- fixtures
    client: httpx2.Client, fill: Add, add_row: Add, now_ms: int, last_ms: int, lie_there: int, waiting: int
) -> None:
    fill("old", last_ms=last_ms)
    fill("young", records=100)
    held = {"partitions": 1, "records": lie_there, "oldest_at_ms": 20, "observed_at_ms": now_ms}
    add_row(schema.dead_letter_topics, kafka_cluster=C, dlq_topic=DLQ, **held)
    assert client.get("/api/v1/dead-letters/groups/old").json()["waiting"] == waiting
    assert client.get("/api/v1/dead-letters/groups/young").json()["waiting"] == 100


def test_moving_a_parked_record_on_takes_nothing_from_its_cause(
    client: httpx2.Client, fill: Add, outcome: Add
) -> None:
    fill()
    outcome("parked", 4)
    outcome("sent", 4, dlq=f"{DLQ}.parked")
    assert client.get("/api/v1/dead-letters/groups/f1").json()["waiting"] == 6
    (topic,) = client.get("/api/v1/dead-letters/topics").json()["items"]
    assert topic["waiting"] == 6


def test_what_is_beyond_the_bound_of_causes_waits_while_anything_does(
    client: httpx2.Client, fill: Add, outcome: Add, add_row: Add
) -> None:
    fill("f1", records=10)
    add_row(schema.groups, fingerprint="other", kafka_cluster=C, dlq_topic="other", records=8)
    assert client.get("/api/v1/dead-letters/groups/other").json()["waiting"] == 8
    outcome("sent", 10)
    assert client.get("/api/v1/dead-letters/groups/other").json()["waiting"] == 0


def test_what_was_archived_calls_nobody(client: httpx2.Client, fill: Add, add_row: Add) -> None:
    fill()
    fill("f2", records=3)
    add_row(schema.group_notes, fingerprint="f1", archived_at_ms=1, archived_records=10)
    assert client.get("/api/v1/overview").json()["dead_letters"]["waiting"] == 3
    assert client.get("/api/v1/dead-letters/groups/f1").json()["waiting"] == 10


def test_causes_come_by_what_waits_then_the_newest(
    client: httpx2.Client, fill: Add, outcome: Add, now_ms: int
) -> None:
    fill("many", records=900, last_ms=now_ms - 90)
    outcome("sent", 900, "many")
    fill("few-old", records=3, last_ms=now_ms - 80)
    fill("few-new", records=3, last_ms=now_ms - 70)
    fill("most", records=500, last_ms=now_ms - 100)
    outcome("parked", 400, "most")
    fill("gone-new", records=2, last_ms=now_ms - 1)
    outcome("sent", 2, "gone-new")
    found: list[str] = []
    query: dict[str, str | int] = {"order": "waiting", "limit": 2}
    while True:
        page = client.get("/api/v1/dead-letters/groups", params=query).json()
        found += [one["fingerprint"] for one in page["items"]]
        if page["next"] is None:
            break
        query["after"] = page["next"]
    assert found == ["most", "few-new", "few-old", "gone-new", "many"]
    refused = client.get("/api/v1/dead-letters/groups", params={"after": query["after"]})
    assert refused.status_code == 400, "a cursor belongs to its order"


def test_causes_are_searched_in_the_order_of_what_waits(client: httpx2.Client, fill: Add) -> None:
    for number in range(5):
        fill(f"f{number}", dlq="dlq.a" if number % 2 else "dlq.b", records=number + 1)
    query: dict[str, str | int] = {"order": "waiting", "filter": 'topic == "dlq.b"', "limit": 2}
    first = client.get("/api/v1/dead-letters/groups", params=query).json()
    rest = client.get("/api/v1/dead-letters/groups", params=query | {"after": first["next"]}).json()
    assert [one["waiting"] for one in (*first["items"], *rest["items"])] == [5, 3, 1]
    assert rest["next"] is None


@pytest.fixture
def console(app: FastAPI, store: Engine) -> Iterator[Console]:
    del store
    with visiting(app) as visit:
        yield visit


def title(console: Console, path: str) -> str:
    found = re.search(r"<title>(.*?)</title>", console.get(path).text)
    assert found
    return found[1]


def test_a_cause_that_was_worked_off_is_calm_at_once(console: Console, fill: Add, outcome: Add) -> None:
    """A minute ago it was new and all of it waited."""
    fill(records=1_200)
    assert 'class="tag bad">new<' in console.get("/groups").text
    assert "1 signal needs attention" in console.get("/").text
    assert "1,200 waiting" in title(console, "/")
    assert "1,200 waiting" in title(console, "/groups")
    assert "1,200 waiting" in title(console, "/groups/f1")
    assert "1,200 waiting" in title(console, "/topics")
    outcome("sent", 1_200)
    listed = console.get("/groups").text
    assert "tag bad" not in listed
    assert ">handled<" in listed
    assert "Nothing needs attention" in console.get("/").text
    assert "wrong-now" not in console.get("/").text
    for path in ("/", "/groups", "/groups/f1", "/topics"):
        assert "waiting" not in title(console, path)
    assert "/groups/f1" not in console.get("/groups?state=new").text
    assert "/groups/f1" in console.get("/groups?state=handled").text


@pytest.mark.parametrize(
    ("offsets", "parked", "moved_on", "told"),
    [
        (11, 10, 0, "10 waiting"),
        (11, 10, 4, "6 waiting"),
        (11, 10, 10, "0 waiting"),
        (4, 10, 0, "at most 4 waiting"),
        (7, 0, 0, "at most 7 waiting"),
        (None, 10, 1, "9 waiting"),
    ],
    ids=["a marker", "some went on", "all went on", "retention", "by another", "not looked at"],
)
def test_parked_records_are_counted_not_their_offsets(  # noqa: PLR0917 -- a row of the table
    console: Console,
    outcome: Add,
    add_row: Add,
    offsets: int | None,
    parked: int,
    moved_on: int,
    told: str,
) -> None:
    if parked:
        outcome("parked", parked)
    if moved_on:
        outcome("sent", moved_on, dlq=f"{DLQ}.parked")
    if offsets is not None:
        held = {"partitions": 1, "records": offsets}
        add_row(schema.dead_letter_topics, kafka_cluster=C, dlq_topic=f"{DLQ}.parked", **held)
    words = " ".join(re.sub(r"<[^>]+>", " ", console.get("/parked").text).split())
    assert f"{DLQ}.parked {told}" in words
