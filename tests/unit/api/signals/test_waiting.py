"""What waits: dead letters that were not moved, parked or lost to retention, alike for topics and causes."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx2
import pytest
from sqlalchemy import Engine, insert

from api.signals import group_lists, waiting
from api.signals.dead_letter_groups import GroupRow, group
from api.signals.group_choices import GroupOrder
from api.signals.waiting import CauseFigures, Waiting
from deadwatch.store import schema, series
from tests.console_store import empty_row
from tests.unit.api.answers import pages
from tests.unit.api.conftest import Add
from tests.unit.api.console_visit import Console, words

Waits = Callable[..., list[int]]
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


@pytest.fixture
def hold(add_row: Add, now_ms: int) -> Add:
    """What a collector has seen on a dead letter topic."""

    def add(dlq: str = DLQ, partitions: int = 1, records: int = 1, **times: int) -> None:
        row = {"dlq_topic": dlq, "partitions": partitions, "records": records}
        add_row(schema.dead_letter_topics, kafka_cluster=C, **row, **{"observed_at_ms": now_ms, **times})

    return add


@pytest.fixture
def waits(store: Engine) -> Waits:
    """What waits of the topics, of these causes, and of all."""

    def read(*fingerprints: str) -> list[int]:
        with store.connect() as connection:
            found = waiting.read(connection)
            causes = [found.of(group(connection, fingerprint)) for fingerprint in fingerprints]
        return [*(topic.waiting for topic in found.topics), *causes, found.total]

    return read


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_waits_is_the_same_for_topic_cause_and_all(
    case: Case, fill: Add, outcome: Add, hold: Add, waits: Waits
) -> None:
    fill()
    for kind, records in case.outcomes.items():
        outcome(kind, records)
    if case.queue is not None:
        hold(**case.queue)
    assert waits("f1") == [case.waiting] * 3


def test_what_waits_is_the_same_in_every_answer(client: httpx2.Client, fill: Add, outcome: Add) -> None:
    fill()
    outcome("sent", 5)
    outcome("parked", 2)
    (topic,) = client.get("/api/v1/dead-letters/topics").json()["items"]
    (listed,) = client.get("/api/v1/dead-letters/groups").json()["items"]
    cause = client.get("/api/v1/dead-letters/groups/f1").json()
    overview = client.get("/api/v1/overview").json()["dead_letters"]
    assert [answer["waiting"] for answer in (topic, listed, cause, overview)] == [3] * 4
    assert cause["parked"] == 2


def test_of_a_topic_that_nobody_counts_all_that_lies_there_may_wait(hold: Add, waits: Waits) -> None:
    hold("dlq.unread", records=7)
    assert waits() == [7, 7]


def test_a_topic_that_kafka_no_longer_has_holds_nothing(
    fill: Add, hold: Add, waits: Waits, now_ms: int
) -> None:
    fill(last_ms=now_ms - MINUTE_MS)
    hold("dlq.other", records=0, observed_at_ms=now_ms - 2 * MINUTE_MS)
    assert waits("f1")[-1] == 10, "the collector has looked before the newest record"
    hold("dlq.more", records=0, observed_at_ms=now_ms + 1)
    assert waits("f1") == [0] * 5


@pytest.mark.parametrize(
    ("last_ms", "lie_there", "expected"),
    [(5, 100, 0), (50, 100, 10), (5, 105, 10)],
    ids=["expired", "not older than what lies there", "less has gone than it has"],
)
def test_nothing_waits_of_a_cause_whose_records_retention_has_removed(  # noqa: PLR0917 -- fixtures
    fill: Add, hold: Add, waits: Waits, last_ms: int, lie_there: int, expected: int
) -> None:
    fill("old", last_ms=last_ms)
    fill("young", records=100)
    hold(records=lie_there, oldest_at_ms=20)
    assert waits("old", "young")[1:-1] == [expected, 100]


def test_moving_a_parked_record_on_takes_nothing_from_its_cause(
    fill: Add, outcome: Add, waits: Waits
) -> None:
    fill()
    outcome("parked", 4)
    outcome("sent", 4, dlq=f"{DLQ}.parked")
    assert waits("f1") == [6, 6, 6]


def test_what_is_beyond_the_bound_of_causes_waits_while_anything_does(
    fill: Add, outcome: Add, add_row: Add, waits: Waits
) -> None:
    fill("f1", records=10)
    add_row(schema.groups, fingerprint="other", kafka_cluster=C, dlq_topic="other", records=8)
    assert waits("other") == [10, 8, 10]
    outcome("sent", 10)
    assert waits("other") == [0, 0, 0]


def test_archived_causes_wait_by_themselves_and_count_in_no_total(
    fill: Add, add_row: Add, waits: Waits
) -> None:
    fill()
    fill("f2", records=3)
    add_row(schema.group_notes, fingerprint="f1", archived_at_ms=1, archived_records=10)
    assert waits("f1") == [13, 10, 3]


def test_what_waits_is_a_metric_of_each_topic_and_archived_causes_are_apart(
    client: httpx2.Client, fill: Add, outcome: Add, hold: Add, add_row: Add
) -> None:
    fill()
    fill("f2", records=3)
    outcome("sent", 1, "f2")
    fill("f3", "dlq.lost", records=50)
    hold("dlq.lost", records=4)
    add_row(schema.group_notes, fingerprint="f1", archived_at_ms=1, archived_records=10)
    told = re.findall(
        r'waiting_records\{dlq_topic="(.*)",kafka_cluster=".*",shelf="(.*)"\} (\d+)',
        client.get("/metrics").text,
    )
    assert sorted(told) == [
        ("dlq.lost", "active", "4"),
        (DLQ, "active", "2"),
        (DLQ, "archived", "10"),
    ]


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
    path = "/api/v1/dead-letters/groups"
    found = [group["fingerprint"] for page in pages(client, f"{path}?order=waiting", 2) for group in page]
    assert found == ["most", "few-new", "few-old", "gone-new", "many"]
    following = client.get(f"{path}?order=waiting&limit=2").json()["next"]
    assert client.get(path, params={"after": following}).status_code == 400, "a cursor belongs to its order"


def test_the_first_causes_that_wait_are_found_without_a_look_at_all(store: Engine, now_ms: int) -> None:
    """Most wait of those of the most records, but for one, of which all was moved."""
    looked: list[str] = []

    class Looking(Waiting):
        def of(self, cause: CauseFigures | GroupRow) -> int:
            looked.append(cause.fingerprint)
            return super().of(cause)

    row = empty_row(schema.groups)
    rows = [{**row, "fingerprint": f"f{number:03}", "records": number} for number in range(300)]
    request = group_lists.GroupListRequest(GroupOrder.WAITING, limit=3)
    with store.begin() as connection:
        connection.execute(insert(schema.groups), rows)
        found = group_lists.find(connection, request, Looking([], {"f299": 299}, {}), now_ms)
    assert [row.fingerprint for row in found.rows] == ["f298", "f297", "f296"]
    assert len(looked) < 10


def test_causes_are_searched_in_the_order_of_what_waits(client: httpx2.Client, fill: Add) -> None:
    for number in range(5):
        fill(f"f{number}", dlq="dlq.a" if number % 2 else "dlq.b", records=number + 1)
    first, rest = pages(client, '/api/v1/dead-letters/groups?order=waiting&filter=topic == "dlq.b"', 2)
    assert [group["waiting"] for group in (*first, *rest)] == [5, 3, 1]


def test_to_rank_causes_takes_no_time_from_the_search(
    store: Engine, add_row: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0]

    class Slow(Waiting):
        def of(self, cause: CauseFigures | GroupRow) -> int:
            clock[0] += group_lists.SEARCH_MS
            return super().of(cause)

    monkeypatch.setattr(group_lists, "monotonic_ms", lambda: clock[0])
    for number in range(3):
        add_row(schema.groups, fingerprint=f"f{number}", records=number + 1)
    asked = group_lists.GroupListRequest(GroupOrder.WAITING, filter='fingerprint != "f2"')
    with store.connect() as connection:
        found = group_lists.find(connection, asked, Slow([], {}, {}), now_ms=0)
    assert ([row.fingerprint for row in found.rows], found.complete) == (["f1", "f0"], True)


def title(console: Console, path: str) -> str:
    found = re.search(r"<title>(.*?)</title>", console.get(path).text)
    assert found
    return found[1]


def test_a_cause_that_was_worked_off_is_calm_at_once(console: Console, fill: Add, outcome: Add) -> None:
    """A minute ago it was new and all of it waited."""
    fill(records=1_200)
    assert 'class="tag bad">new<' in console.get("/groups").text
    assert "1 signal needs attention" in console.get("/").text
    pages = ("/", "/groups", "/groups/f1", "/topics")
    for path in pages:
        assert "1,200 waiting" in title(console, path)
    outcome("sent", 1_200)
    listed = console.get("/groups").text
    assert "tag bad" not in listed
    assert ">handled<" in listed
    assert "Nothing needs attention" in console.get("/").text
    assert "wrong-now" not in console.get("/").text
    for path in pages:
        assert "waiting" not in title(console, path)
    assert "/groups/f1" not in console.get("/groups?state=new").text
    assert "/groups/f1" in console.get("/groups?state=handled").text


@pytest.mark.parametrize(
    ("offsets", "parked", "moved_on", "expected"),
    [
        (11, 10, 0, (10, False)),
        (11, 10, 4, (6, False)),
        (11, 10, 10, (0, False)),
        (4, 10, 0, (4, True)),
        (7, 0, 0, (7, True)),
        (None, 10, 1, (9, False)),
    ],
    ids=["a marker", "some went on", "all went on", "retention", "by another", "not looked at"],
)
def test_parked_records_are_counted_not_their_offsets(  # noqa: PLR0917 -- a row of the table
    store: Engine, outcome: Add, hold: Add, offsets: int | None, parked: int, moved_on: int, expected: object
) -> None:
    if parked:
        outcome("parked", parked)
    if moved_on:
        outcome("sent", moved_on, dlq=f"{DLQ}.parked")
    if offsets is not None:
        hold(f"{DLQ}.parked", records=offsets)
    with store.connect() as connection:
        (row,) = waiting.parked(connection)
    assert (row.waiting, row.at_most) == expected


def test_the_console_shows_how_many_are_parked_and_where_that_is_a_bound(
    console: Console, outcome: Add, hold: Add
) -> None:
    outcome("parked", 10)
    assert f"{DLQ}.parked 10 waiting" in words(console.get("/parked").text)
    hold(f"{DLQ}.parked", records=4)
    assert f"{DLQ}.parked at most 4 waiting" in words(console.get("/parked").text)
