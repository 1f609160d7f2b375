"""Dead letters by topic and by cause: pages, orders, filters, notes, and what of a record is shown."""

import httpx2
import pytest
from sqlalchemy import Engine, text, update

from api.signals import group_lists
from api.signals.group_choices import GroupOrder
from api.signals.group_lists import GroupListRequest
from deadwatch.runtime.clock import HOUR_MS
from deadwatch.store import schema, series
from tests.unit.api.answers import pages, problem
from tests.unit.api.conftest import Add

NOW = "2027-01-15T08:00:00Z"
GROUPS, TOPICS = "/api/v1/dead-letters/groups", "/api/v1/dead-letters/topics"


def listed(client: httpx2.Client, **asked: str) -> list[str]:
    return [one["fingerprint"] for one in client.get(GROUPS, params=asked).json()["items"]]


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_pages_are_complete_and_repeat_nothing_under_ties(
    client: httpx2.Client, add_row: Add, add_series: Add, limit: int
) -> None:
    placed = [("a", 5), ("b", 7), ("c", 7), ("d", 7), ("e", 7), ("f", 9), ("g", 0)]
    for name, last_ms in placed:
        add_row(schema.groups, fingerprint=name, last_ms=last_ms)
        add_series(series.DEAD_LETTERS, 1, dlq_topic=name, last_ms=last_ms)
    for path, name in ((GROUPS, "fingerprint"), (TOPICS, "dlq_topic")):
        read = [*pages(client, path, limit)]
        assert [item[name] for page in read for item in page] == ["f", "e", "d", "c", "b", "a", "g"]
        assert [len(page) for page in read[:-1]] == [limit] * (len(read) - 1)


def test_groups_come_in_another_order_and_by_a_filter(client: httpx2.Client, add_row: Add) -> None:
    found = (("a", 1, 30, "A"), ("b", 2, 20, "B"), ("c", 3, 10, "A"))
    for name, last_ms, records, error_class in found:
        row = {"last_ms": last_ms, "first_ms": 10 - last_ms, "records": records, "error_class": error_class}
        add_row(schema.groups, fingerprint=name, **row)
    assert listed(client, order="records") == ["a", "b", "c"]
    assert listed(client, order="newest") == ["a", "b", "c"]
    assert listed(client, filter='error_class == "A"') == ["c", "a"]
    refused = client.get(GROUPS, params={"filter": "attempts < 3"})
    assert problem(refused) == "422 invalid-filter"
    assert "differs from record to record" in refused.json()["detail"]


@pytest.mark.parametrize("order", GroupOrder)
def test_groups_are_searched_by_words_in_all_that_names_them(
    client: httpx2.Client, add_row: Add, order: GroupOrder
) -> None:
    cause = {
        "message": "Price is null",
        "error_class": "org.acme.DataException",
        "dlq_topic": "dlq.orders",
        "source_topic": "shop",
        "consumer": "sink-7",
    }
    add_row(schema.groups, fingerprint="a", last_ms=2, first_ms=2, records=2, **cause)
    add_row(schema.group_notes, fingerprint="a", owner="Team Ledger")
    add_row(schema.groups, fingerprint="b", last_ms=1, records=1, message="price is null")

    def names(text: str) -> list[str]:
        return listed(client, filter=text, order=order)

    for word in ("PRICE", "org.acme.DataException", "dataexc", "dlq.orders", "SHOP", "sink-7", "ledger"):
        assert names(f"null {word}" if word != "PRICE" else word)[0] == "a", word
    assert names("price null") == ["a", "b"]
    assert names("price shop team") == ["a"]
    assert names('"price is" shop') == ["a"]
    assert names('"price null"') == []
    assert names("price absent") == []


def test_the_busiest_causes_are_active_ones_with_most_records_since_the_hour_before(
    store: Engine, add_row: Add
) -> None:
    hour_ms = HOUR_MS
    now_ms = 500_000 * hour_ms + 17
    grown = {"two-hours": [(-1, 4), (0, 5)], "before": [(-2, 90), (-1, 8)], "now": [(0, 20)], "few": [(0, 1)]}
    for name, hours in (grown | {"archived": [(0, 99)], "old": [(-1, 99)]}).items():
        last_ms = now_ms - hour_ms - (name == "old")
        add_row(schema.groups, fingerprint=name, last_ms=last_ms, records=200)
        for hour, records in hours:
            add_row(schema.group_trends, fingerprint=name, hour_s=(500_000 + hour) * 3_600, records=records)
    add_row(schema.group_notes, fingerprint="archived", archived_at_ms=1, archived_records=200)
    with store.connect() as connection:
        found = group_lists.busiest(connection, now_ms, limit=3)
    assert [(row.fingerprint, records) for row, records in found] == [
        ("now", 20),
        ("two-hours", 9),
        ("before", 8),
    ]


@pytest.mark.parametrize("order", sorted(set(GroupOrder) - {GroupOrder.WAITING}))
@pytest.mark.parametrize("after", [None, (7, "a")], ids=["first page", "a later page"])
def test_groups_are_read_by_an_index(store: Engine, order: GroupOrder, after: tuple[int, str] | None) -> None:
    statement, place = group_lists.query(GroupListRequest(order), after)
    values = {"hour_ago": 0, "limit": 50, **place}
    query = statement.params(values).compile(store, compile_kwargs={"literal_binds": True})
    with store.connect() as connection:
        plan = str(connection.execute(text(f"EXPLAIN QUERY PLAN {query}")).all())
    assert "dead_letter_groups_by_" in plan
    assert "TEMP B-TREE" not in plan


def test_a_topic_is_the_sum_of_its_causes(client: httpx2.Client, add_series: Add, now_ms: int) -> None:
    topic = {"kafka_cluster": "c", "dlq_topic": "dlq.t"}
    add_series(series.DEAD_LETTERS, 3, **topic, source_topic="b", dialect="share", last_ms=now_ms - 5)
    add_series(series.DEAD_LETTERS, 4, **topic, source_topic="a", dialect="connect")
    add_series(series.DEAD_LETTERS, 9, kafka_cluster="d", dlq_topic="dlq.t", last_ms=now_ms - 9)
    mine, other = client.get(TOPICS).json()["items"]
    assert mine == {
        "kafka_cluster": "c",
        "dlq_topic": "dlq.t",
        "records": 7,
        "waiting": 7,
        "dialects": ["connect", "share"],
        "source_topics": ["a", "b"],
        "first_seen": "2027-01-15T07:59:00Z",
        "last_seen": NOW,
        "queue": None,
    }
    assert (other["kafka_cluster"], other["records"], other["dialects"]) == ("d", 9, [])


def test_a_topic_shows_what_kafka_holds_and_what_to_do_when_nobody_reads_it(
    client: httpx2.Client, add_row: Add, add_series: Add, now_ms: int
) -> None:
    add_series(series.DEAD_LETTERS, 3, kafka_cluster="c", dlq_topic="dlq.t")
    held = {"kafka_cluster": "c", "partitions": 1, "records": 2, "oldest_at_ms": now_ms}
    add_row(schema.dead_letter_topics, **held, dlq_topic="dlq.t", read=True)
    add_row(schema.dead_letter_topics, **held, dlq_topic="errors", named_by="share group g1")
    add_row(schema.dead_letter_topics, kafka_cluster="c", dlq_topic="dlq.missing", read=True)
    add_row(schema.dead_letter_topics, **held, dlq_topic="dlq.t.parked")  # belongs to dlq.t
    read, unread, missing = client.get(TOPICS).json()["items"]
    present = {"exists": True, "backlog_records": 2, "oldest_record": NOW}
    assert (read["records"], read["queue"]) == (3, {**present, "named_by": "", "read": True, "to_do": ""})
    assert (unread["dlq_topic"], unread["records"], unread["first_seen"]) == ("errors", 0, None)
    assert unread["queue"] == {
        **present,
        "named_by": "share group g1",
        "read": False,
        "to_do": "add 'errors' to dlq_topics, at the top level of the settings file",
    }
    assert (missing["queue"]["exists"], missing["queue"]["oldest_record"]) == (False, None)


def test_a_group_shows_headers_and_sizes_but_no_payload(
    client: httpx2.Client, add_row: Add, now_ms: int
) -> None:
    add_row(schema.groups, fingerprint="f1", message="failed at 17", records=12, last_ms=now_ms)
    headers = '[["__connect.errors.stage","VALUE_CONVERTER"],["authorization","secret"],["message",null]]'
    sizes = {"key": b"secret-key", "value": None, "key_bytes": 10, "value_bytes": -1}
    add_row(schema.samples, fingerprint="f1", offset=1, timestamp_ms=now_ms, headers=headers, **sizes)
    for hours, records in ((1, 4), (24, 5)):
        hour_s = now_ms // 1_000 - hours * 3_600
        add_row(schema.group_trends, fingerprint="f1", hour_s=hour_s, records=records)
    add_row(schema.samples, fingerprint="f1", offset=2, timestamp_ms=2**63 - 1, headers="[]")
    answer = client.get(f"{GROUPS}/f1")
    body = answer.json()
    assert (body["message"], body["records"], body["last_seen"]) == ("failed at 17", 12, NOW)
    assert body["trend"] == [{"at": "2027-01-15T07:00:00Z", "value": 4}]
    assert [(s["offset"], s["timestamp"]) for s in body["samples"]] == [(2, None), (1, NOW)]
    assert body["samples"][1]["headers"] == [
        {"name": "__connect.errors.stage", "value": "VALUE_CONVERTER", "masked": False},
        {"name": "authorization", "value": None, "masked": True},
        {"name": "message", "value": None, "masked": False},
    ]
    assert (body["samples"][1]["key_bytes"], body["samples"][1]["value_bytes"]) == (10, None)
    assert "secret" not in answer.text


def test_headers_of_samples_are_shown_to_who_may_see_them_once_that_is_in_the_audit(
    client: httpx2.Client, add_row: Add
) -> None:
    add_row(schema.groups, fingerprint="f1")
    add_row(schema.samples, fingerprint="f1", headers='[["authorization","Bearer x"]]')

    def look(group: str, why: str, **headers: str) -> httpx2.Response:
        return client.get(f"{GROUPS}/{group}", params={"unmasked": True, "why": why}, headers=headers)

    (sample,) = look("f1", "case 7").json()["samples"]
    assert sample["headers"] == [{"name": "authorization", "value": "Bearer x", "masked": False}]
    refused = (look("f1", "x", Authorization=""), look("f2", "x"), look("f1", "a\0"))
    assert [answer.status_code for answer in refused] == [401, 404, 422]
    kept = client.get("/api/v1/audit").json()["items"]
    assert [(one["action"], one["subject"], one["why"]) for one in kept] == [
        ("payload.unmasked", "f1", "case 7")
    ]


def test_damaged_headers_are_an_error_that_says_so(client: httpx2.Client, add_row: Add) -> None:
    damaged = ("{", "7", "[7]", '[["a"]]', '[["a","b","c"]]', '[[1,"b"]]', '["ab"]')
    for number, headers in enumerate(damaged):
        add_row(schema.groups, fingerprint=f"f{number}")
        add_row(schema.samples, fingerprint=f"f{number}", headers=headers)
        assert problem(client.get(f"{GROUPS}/f{number}")) == "503 store-unavailable", headers


@pytest.fixture
def _two_groups(add_row: Add) -> None:
    for name, records in (("f1", 10), ("f2", 20)):
        add_row(schema.groups, fingerprint=name, records=records, last_ms=records)


@pytest.mark.usefixtures("_two_groups")
def test_a_note_is_kept_with_who_wrote_it(client: httpx2.Client, me: str) -> None:
    assert client.get(f"{GROUPS}/f1/note").json()["version"] == 0
    written = {"owner": "team payments", "comment": "known" * 800}
    answer = client.put(f"{GROUPS}/f1/note", json=written)
    assert answer.json().items() >= {**written, "version": 1, "changed_by": me, "changed_at": NOW}.items()
    assert answer.headers["etag"] == '"1"'
    assert client.get(f"{GROUPS}/f1/note").json() == answer.json()
    assert client.get(f"{GROUPS}/f1").json()["owner"] == "team payments"


@pytest.mark.usefixtures("_two_groups")
def test_of_two_who_change_the_same_version_one_is_told(client: httpx2.Client) -> None:
    match = {"If-Match": '"0"'}
    assert client.put(f"{GROUPS}/f1/note", json={"owner": "a"}, headers=match).status_code == 200
    late = client.put(f"{GROUPS}/f1/note", json={"owner": "b"}, headers=match)
    assert problem(late) == "412 group-note-changed"
    assert client.get(f"{GROUPS}/f1/note").json()["owner"] == "a"


@pytest.mark.usefixtures("_two_groups")
def test_an_archived_group_leaves_the_list_until_it_grows_as_the_audit_tells(
    client: httpx2.Client, store: Engine
) -> None:
    client.put(f"{GROUPS}/f1/note", json={"owner": "a"})
    assert client.post(f"{GROUPS}/f1/archive", json={"reason": "fixed"}).json()["archived_records"] == 10
    shelves = [listed(client, shelf=shelf) for shelf in ("active", "archived", "all")]
    assert shelves == [["f2"], ["f1"], ["f2", "f1"]]
    grown = update(schema.groups).where(schema.groups.c.fingerprint == "f1").values(records=11)
    with store.begin() as connection:
        connection.execute(grown)
    assert (listed(client), listed(client, shelf="archived")) == (["f2", "f1"], [])
    group = client.get(f"{GROUPS}/f1").json()
    assert (group["archived"], group["archive_reason"], group["owner"]) == (False, "fixed", "a")
    client.post(f"{GROUPS}/f2/archive", json={"reason": "fixed"})
    assert client.post(f"{GROUPS}/f2/unarchive").json()["archived_at"] is None
    assert listed(client) == ["f2", "f1"]
    kept = client.get("/api/v1/audit").json()["items"]
    assert [(one["action"], one["subject"], one["why"]) for one in kept] == [
        ("dead-letters.unarchive", "f2", ""),
        ("dead-letters.archive", "f2", "fixed"),
        ("dead-letters.archive", "f1", "fixed"),
        ("dead-letters.write-note", "f1", ""),
    ]
