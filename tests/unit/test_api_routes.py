"""What people and scripts read from ``/api/v1``."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import Engine, insert, select, text

from api import dead_letters, group_lists
from api.errors import StoreUnavailableError
from api.group_lists import Asked, Order
from api.store import ABSENT, Store
from streaming.store import schema, series
from streaming.store import store as written_by_streaming
from streaming.store.trouble import REMEDY

Add = Callable[..., None]
NOW = "2027-01-15T08:00:00Z"
ROUTES = (
    "/api/v1/overview",
    "/api/v1/dead-letters/topics",
    "/api/v1/dead-letters/groups",
    "/api/v1/dead-letters/groups/ffff",
    "/api/v1/tasks",
    "/api/v1/connect/tasks",
    "/api/v1/abandoned",
    "/api/v1/delivery-timeouts",
    "/api/v1/findings",
)


def pages(client: httpx2.Client, path: str, limit: int) -> Iterator[list[dict[str, object]]]:
    after: dict[str, str] = {}
    while True:
        body = client.get(path, params={"limit": limit, **after}).json()
        yield body["items"]
        if body["next"] is None:
            return
        after = {"after": body["next"]}


@pytest.mark.parametrize("path", ROUTES)
def test_without_a_store_a_route_says_so(client: httpx2.Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:deadwatch:problem:store-unavailable")


@pytest.mark.parametrize("path", sorted(set(ROUTES) - {"/api/v1/dead-letters/groups/ffff"}))
@pytest.mark.usefixtures("store")
def test_an_empty_store_is_an_answer(client: httpx2.Client, path: str) -> None:
    assert client.get(path).status_code == 200


def test_ready_as_soon_as_there_is_a_store(
    client: httpx2.Client, store_file: Path, request: pytest.FixtureRequest
) -> None:
    assert client.get("/livez").json() == {"alive": True}
    before = client.get("/readyz")
    assert (before.status_code, before.json()["ready"]) == (503, False)
    assert before.json()["missing"] == [ABSENT]
    assert not store_file.exists()
    request.getfixturevalue("store")
    assert (client.get("/readyz").status_code, client.get("/readyz").json()) == (
        200,
        {"ready": True, "missing": [], "warnings": []},
    )


def test_a_stream_that_counts_nothing_is_a_warning(client: httpx2.Client, add_row: Add, now_ms: int) -> None:
    stream = {"name": "streaming", "kind": "streaming", "up": False}
    add_row(schema.sources, **stream, message="the checkpoint cannot be used", heartbeat_ms=now_ms)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["warnings"]) == (
        200,
        ["streaming counts nothing now: the checkpoint cannot be used"],
    )


def test_a_stream_that_does_not_count_all_is_a_warning(
    client: httpx2.Client, add_row: Add, now_ms: int
) -> None:
    stream = {"name": "streaming", "kind": "streaming", "up": True}
    add_row(schema.sources, **stream, message="not counted: dlq.a", heartbeat_ms=now_ms)
    assert client.get("/readyz").json()["warnings"] == ["streaming: not counted: dlq.a"]


def test_a_stream_that_is_silent_is_a_warning(client: httpx2.Client, add_row: Add) -> None:
    add_row(schema.sources, name="streaming", kind="streaming", up=True, heartbeat_ms=1)
    assert client.get("/readyz").json()["warnings"] == ["streaming counts nothing now: it is silent"]


def test_what_is_wrong_with_the_store_is_a_warning_though_it_can_be_read(
    client: httpx2.Client, add_row: Add, now_ms: int
) -> None:
    message = f"the store is damaged (page 8): {REMEDY}"
    add_row(schema.sources, name="store", kind="store", message=message, heartbeat_ms=now_ms)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["warnings"]) == (200, [message])
    (down,) = client.get("/api/v1/overview").json()["sources"]["down"]
    assert (down["name"], down["message"]) == ("store", message)


def test_a_file_that_is_no_store_any_more_is_said_with_what_mends_it(
    client: httpx2.Client, store_file: Path
) -> None:
    store_file.write_bytes(b"no database at all" * 100)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["missing"][0].endswith(REMEDY)


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 500])
def test_pages_are_complete_and_repeat_nothing_under_ties(
    client: httpx2.Client, add_row: Add, add_series: Add, limit: int
) -> None:
    placed = [("a", 5), ("b", 7), ("c", 7), ("d", 7), ("e", 7), ("f", 9), ("g", 0)]
    for name, last_ms in placed:
        add_row(schema.groups, fingerprint=name, last_ms=last_ms)
        add_series(series.DEAD_LETTERS, 1, dlq_topic=name, last_ms=last_ms)
    for path, name in (("groups", "fingerprint"), ("topics", "dlq_topic")):
        read = [*pages(client, f"/api/v1/dead-letters/{path}", limit)]
        assert [item[name] for page in read for item in page] == ["f", "e", "d", "c", "b", "a", "g"]
        assert [len(page) for page in read[:-1]] == [limit] * (len(read) - 1)


def test_findings_come_newest_first_in_pages(client: httpx2.Client, add_row: Add) -> None:
    told = {"kafka_cluster": "c", "kind": "dlq_compacted", "message": "m", "change": "k=v"}
    for subject, first_ms in (("a", 1_000), ("b", 3_000), ("c", 3_000)):
        add_row(schema.findings, **told, subject=subject, first_ms=first_ms, observed_at_ms=4_000)
    first, second = pages(client, "/api/v1/findings", 2)
    assert [one["subject"] for one in (*first, *second)] == ["c", "b", "a"]
    times = {"first_seen": "1970-01-01T00:00:01Z", "last_seen": "1970-01-01T00:00:04Z"}
    assert second == [{**told, "subject": "a", **times}]
    body = client.get("/api/v1/overview").json()
    assert body["findings"] == {"current": 3, "newest_since": "1970-01-01T00:00:03Z"}


@pytest.mark.parametrize("limit", [1, 2, 5, 6, 500])
def test_lists_by_urgency_are_paged_as_they_are_sorted(
    client: httpx2.Client, add_row: Add, add_series: Add, limit: int
) -> None:
    for number in range(6):
        place = {"worker": "w:1", "connector": f"c{number}", "task": "0"}
        add_row(schema.abandoned, **place, logged_current=number // 4, logged_total=2, last_ms=number % 2)
        since_ms = {0: 0, 1: 7_000, 2: 5_000}[number % 3]
        add_row(
            schema.connect_tasks, **place, judged=True, stalled_since_ms=since_ms, last_error_at_ms=number
        )
        add_series(series.DELIVERY_TIMEOUT_BATCHES, 1, topic=f"c{number}", last_ms=number % 2)
    expected = {
        "abandoned": ["c5", "c4", "c1", "c3", "c0", "c2"],
        "connect/tasks": ["c5", "c2", "c4", "c1", "c3", "c0"],
        "delivery-timeouts": ["c1", "c3", "c5", "c0", "c2", "c4"],
    }
    for path, order in expected.items():
        read = [*pages(client, f"/api/v1/{path}", limit)]
        names = [item.get("connector") or item.get("topic") for page in read for item in page]
        assert names == order
        assert [len(page) for page in read[:-1]] == [limit] * (len(read) - 1)
        assert client.get(f"/api/v1/{path}?after=WzFd").status_code == 400


@pytest.mark.parametrize("limit", [1, 2, 3, 500])
def test_a_page_of_tasks_has_the_next_part_of_every_list(
    client: httpx2.Client, add_row: Add, add_series: Add, now_ms: int, limit: int
) -> None:
    for number in range(3):
        add_series(series.TASK_TIMEOUTS, 1, task=f"0_{number}", last_ms=number % 2)
        add_row(schema.instances, worker="w:1", connector=f"c{number}")
    timer = {"streams_client": "s", "running": True, "heard_ms": now_ms}
    add_row(schema.task_timers, **timer, task="0_0", since_ms=2)
    add_row(schema.task_timers, **timer, task="0_1", since_ms=1)
    read: dict[str, list[object]] = {"task_timeouts": [], "timers": [], "connect": []}
    after: dict[str, str] = {}
    requests = 0
    while True:
        body = client.get("/api/v1/tasks", params={"limit": limit, **after}).json()
        requests += 1
        for name, names in read.items():
            assert len(body[name]) <= limit
            names += [one["task"] or one["connector"] for one in body[name]]
        if body["next"] is None:
            break
        after = {"after": body["next"]}
    assert read == {
        "task_timeouts": ["0_1", "0_0", "0_2"],
        "timers": ["0_1", "0_0"],
        "connect": ["c0", "c1", "c2"],
    }
    assert requests == -(-3 // limit)


def test_a_cursor_of_another_list_is_refused(client: httpx2.Client, add_series: Add) -> None:
    for topic in ("a", "b"):
        add_series(series.DEAD_LETTERS, 1, dlq_topic=topic)
    following = client.get("/api/v1/dead-letters/topics?limit=1").json()["next"]
    assert client.get(f"/api/v1/dead-letters/groups?after={following}").status_code == 400


def test_groups_come_in_another_order_and_by_a_filter(client: httpx2.Client, add_row: Add) -> None:
    told = (("a", 1, 30, "A"), ("b", 2, 20, "B"), ("c", 3, 10, "A"))
    for name, last_ms, records, error_class in told:
        row = {"last_ms": last_ms, "first_ms": 10 - last_ms, "records": records, "error_class": error_class}
        add_row(schema.groups, fingerprint=name, **row)
    path = "/api/v1/dead-letters/groups"

    def names(**query: str) -> list[str]:
        return [one["fingerprint"] for one in client.get(path, params=query).json()["items"]]

    assert names(order="records") == ["a", "b", "c"]
    assert names(order="newest") == ["a", "b", "c"]
    assert names(filter='error_class == "A"') == ["c", "a"]
    refused = client.get(path, params={"filter": "attempts < 3"})
    assert refused.status_code == 422
    assert "differs from record to record" in refused.json()["detail"]


@pytest.mark.parametrize("order", sorted(set(Order) - {Order.WAITING}))
@pytest.mark.parametrize("after", [None, (7, "a")], ids=["first page", "a later page"])
def test_groups_are_read_by_an_index(store: Engine, order: Order, after: tuple[int, str] | None) -> None:
    statement, place = group_lists.query(Asked(order), after)
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
    (mine, other) = client.get("/api/v1/dead-letters/topics").json()["items"]
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
    read, unread, missing = client.get("/api/v1/dead-letters/topics").json()["items"]
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
        add_row(
            schema.group_trends, fingerprint="f1", hour_s=now_ms // 1_000 - hours * 3_600, records=records
        )
    add_row(schema.samples, fingerprint="f1", offset=2, timestamp_ms=2**63 - 1, headers="[]")
    answer = client.get("/api/v1/dead-letters/groups/f1")
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
    client: httpx2.Client, store: Engine, add_row: Add
) -> None:
    add_row(schema.groups, fingerprint="f1")
    add_row(schema.samples, fingerprint="f1", headers='[["authorization","Bearer x"]]')
    path = "/api/v1/dead-letters/groups/f1"
    (sample,) = client.get(path, params={"unmasked": True, "why": "case 7"}).json()["samples"]
    assert sample["headers"] == [{"name": "authorization", "value": "Bearer x", "masked": False}]
    assert client.get(path, params={"unmasked": True}, headers={"Authorization": ""}).status_code == 401
    assert client.get(path.replace("f1", "f2"), params={"unmasked": True}).status_code == 404
    with store.connect() as connection:
        kept = connection.execute(select(schema.audit.c.action, schema.audit.c.subject, schema.audit.c.why))
        assert [tuple(row) for row in kept] == [("payload.unmasked", "f1", "case 7")]


@pytest.mark.parametrize("headers", ["{", "7", "[7]", '[["a"]]', '[["a","b","c"]]', '[[1,"b"]]', '["ab"]'])
def test_headers_that_are_damaged_are_said_to_be(client: httpx2.Client, add_row: Add, headers: str) -> None:
    add_row(schema.groups, fingerprint="f1")
    add_row(schema.samples, fingerprint="f1", headers=headers)
    answer = client.get("/api/v1/dead-letters/groups/f1")
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:deadwatch:problem:store-unavailable")


def test_tasks_tell_the_latest_timeout_and_what_connect_runs(
    client: httpx2.Client, add_row: Add, add_series: Add, now_ms: int
) -> None:
    for task, last_ms in (("0_0", now_ms - 1), ("0_1", now_ms)):
        detail = {"elapsed_ms": 4_006, "message": f"Task {task} did not make progress within 4006 ms."}
        add_series(series.TASK_TIMEOUTS, 2, detail=detail, application="wc", task=task, last_ms=last_ms)
    worker = {"worker": "w:1", "connector": "pipe"}
    add_row(schema.instances, **worker, task="", state="RUNNING")
    add_row(schema.instances, **worker, task="0", abandoned=1, observed_at_ms=now_ms)
    body = client.get("/api/v1/tasks").json()
    assert [(t["task"], t["timeouts"], t["elapsed_ms"]) for t in body["task_timeouts"]] == [
        ("0_1", 2, 4_006),
        ("0_0", 2, 4_006),
    ]
    assert body["task_timeouts"][0]["message"].startswith("Task 0_1 did not")
    assert [(i["task"], i["state"], i["abandoned"], i["observed_at"]) for i in body["connect"]] == [
        (None, "RUNNING", 0, None),
        ("0", "", 1, NOW),
    ]


@pytest.mark.parametrize("detail", ["", "[]", '{"elapsed_ms":"soon","message":7}', '{"elapsed_ms":true}'])
def test_a_timeout_without_usable_facts_is_still_told(
    client: httpx2.Client, add_row: Add, detail: str
) -> None:
    labels = series.TASK_TIMEOUTS.key({"task": "0_0"})
    add_row(schema.series, name="task_timeouts", labels=labels, value=1, detail=detail)
    (told,) = client.get("/api/v1/tasks").json()["task_timeouts"]
    assert (told["timeouts"], told["elapsed_ms"], told["message"]) == (1, None, "")


def test_what_is_abandoned_now_stands_first(client: httpx2.Client, add_row: Add, now_ms: int) -> None:
    worker = {"worker": "w:1", "seen": True, "seen_total": 1}
    add_row(schema.abandoned, **worker, connector="over", task="0", last_ms=now_ms)
    add_row(schema.abandoned, **worker, connector="pipe", task="1", seen_current=1, last_ms=5)
    add_row(schema.abandoned, connector="tap", logged_total=1, logged_current=1, last_ms=now_ms)
    items = client.get("/api/v1/abandoned").json()["items"]
    told = [(i["connector"], i["kind"], i["task"], i["current"], i["total"], i["evidence"]) for i in items]
    assert told == [
        ("tap", "connector", None, 1, 1, "log"),
        ("pipe", "task", "1", 1, 1, "threads"),
        ("over", "task", "0", 0, 1, "threads"),
    ]


def test_what_log_and_threads_say_stands_beside_each_other(client: httpx2.Client, add_row: Add) -> None:
    pipe = {"worker": "w:1", "connector": "pipe", "task": "0", "last_ms": 5}
    add_row(
        schema.abandoned, **pipe, logged_total=3, logged_current=2, seen=True, seen_total=3, seen_current=1
    )
    add_row(schema.abandoned, connector="tap", logged_total=1, logged_current=1)
    told = client.get("/api/v1/abandoned").json()["items"]
    assert [(i["connector"], i["log"], i["threads"], i["disagree"]) for i in told] == [
        ("pipe", {"current": 2, "total": 3}, {"current": 1, "total": 3}, True),
        ("tap", {"current": 1, "total": 1}, None, None),
    ]


def test_delivery_timeouts_join_batches_and_records(client: httpx2.Client, add_series: Add) -> None:
    labels = {"kafka_cluster": "c", "topic": "t", "client_id": "p", "client": "java"}
    add_series(series.DELIVERY_TIMEOUT_BATCHES, 7, detail={"elapsed_ms": 3_004}, **labels)
    add_series(series.DELIVERY_TIMEOUT_RECORDS, 21, **labels)
    add_series(series.DELIVERY_TIMEOUT_RECORDS, 99, last_ms=5, **{**labels, "topic": "other"})
    told = client.get("/api/v1/delivery-timeouts").json()["items"]
    assert [(i["topic"], i["batches"], i["records"], i["elapsed_ms"]) for i in told] == [
        ("t", 7, 21, 3_004),
        ("other", 0, 99, None),
    ]


def test_the_overview_is_the_sum_of_everything(
    client: httpx2.Client, add_row: Add, add_series: Add, now_ms: int
) -> None:
    for topic, records in (("a", 3), ("b", 4)):
        add_series(series.DEAD_LETTERS, records, dlq_topic=topic)
    add_row(schema.groups, fingerprint="f1")
    add_series(series.DELIVERY_TIMEOUT_BATCHES, 7, topic="t", last_ms=1_000)
    add_series(series.DELIVERY_TIMEOUT_RECORDS, 21, topic="t", last_ms=2_000)
    add_series(series.TASK_TIMEOUTS, 2)
    add_row(schema.abandoned, worker="w", task="0", seen=True, seen_total=2, seen_current=1, last_ms=now_ms)
    add_row(schema.connect_tasks, task="0", judged=True, stalled_since_ms=now_ms)
    add_row(schema.connect_tasks, task="1", judged=True)
    add_row(schema.batches, committed_at_ms=now_ms, lag_ms=240, duration_ms=131, records=12)
    body = client.get("/api/v1/overview").json()
    assert body["at"] == NOW
    lost = {"total": 0, "last_seen": None}
    dead = {"total": 7, "waiting": 7, "last_seen": NOW, "topics": 2, "groups": 1, "lost": lost}
    assert body["dead_letters"] == dead
    assert body["delivery_timeouts"] == {"batches": 7, "records": 21, "last_seen": "1970-01-01T00:00:02Z"}
    assert body["task_timeouts"] == {"total": 2, "last_seen": NOW}
    assert body["abandoned_tasks"] == {"current": 1, "total": 2, "last_seen": NOW}
    assert body["abandoned_connectors"] == {"current": 0, "total": 0, "last_seen": None}
    assert body["stalled_tasks"] == {"current": 1, "longest_since": NOW}
    assert body["pipeline"] == {
        "lag_ms": 240,
        "batch_duration_ms": 131,
        "batch_records": 12,
        "last_batch": NOW,
    }


def test_the_overview_says_which_sources_are_down_and_why(
    client: httpx2.Client, add_row: Add, now_ms: int
) -> None:
    add_row(schema.sources, name="fine", up=True, heartbeat_ms=now_ms)
    add_row(schema.sources, name="kafka", message="no broker", since_ms=5_000, heartbeat_ms=now_ms)
    add_row(schema.sources, name="silent", up=True, since_ms=5_000, heartbeat_ms=now_ms - 60_000)
    sources = client.get("/api/v1/overview").json()["sources"]
    assert sources["total"] == 3
    assert [(s["name"], s["message"], s["down_since"]) for s in sources["down"]] == [
        ("kafka", "no broker", "1970-01-01T00:00:05Z"),
        ("silent", "nothing heard for more than 15000 ms", "2027-01-15T07:59:00Z"),
    ]


def test_one_reading_sees_one_moment(store_file: Path, add_row: Add) -> None:
    add_row(schema.groups, fingerprint="f1")
    with Store(f"sqlite:///{store_file}").read() as connection:
        assert dead_letters.count_groups(connection) == 1
        add_row(schema.groups, fingerprint="f2")
        assert dead_letters.count_groups(connection) == 1


def test_a_file_that_is_replaced_or_goes_is_noticed_at_the_next_reading(tmp_path: Path) -> None:
    file, other = tmp_path / "store.db", tmp_path / "other.db"
    reader = Store(f"sqlite:///{file}")

    def sources() -> int:
        with reader.read() as connection:
            return len(connection.execute(schema.sources.select()).all())

    with written_by_streaming.Store(f"sqlite:///{file}"):
        states = {reader.state()}
        assert sources() == 0
    with written_by_streaming.Store(f"sqlite:///{other}") as store:
        store.note_source("s", "log", up=True, message="", now_ms=1)
    other.replace(file)
    assert sources() == 1
    assert reader.state() not in states
    file.unlink()
    for read in (sources, reader.state):
        with pytest.raises(StoreUnavailableError, match=ABSENT):
            read()


@pytest.mark.usefixtures("store")
def test_the_api_cannot_write(store_file: Path) -> None:
    with (
        pytest.raises(StoreUnavailableError, match="cannot be written"),
        Store(f"sqlite:///{store_file}").read() as connection,
    ):
        connection.execute(insert(schema.marks).values(source="s", epoch=0, offset=0, ordinal=0))


def test_an_answer_describes_itself(client: httpx2.Client) -> None:
    described = client.get("/openapi.json").json()
    assert set(ROUTES[:3]) <= set(described["paths"])
    told = described["paths"]["/api/v1/overview"]["get"]["responses"]
    assert told["503"] == {"$ref": "#/components/responses/Problem503"}
    assert list(described["components"]["responses"]["Problem503"]["content"]) == ["application/problem+json"]
    assert client.get("/").headers["location"] == "/console/"


@pytest.mark.parametrize("name", ["no/such/place.db", "x" * 300 + ".db"], ids=["no directory", "too long"])
def test_a_store_that_cannot_be_opened_is_absent_and_is_not_made(tmp_path: Path, name: str) -> None:
    with (
        pytest.raises(StoreUnavailableError, match=ABSENT),
        Store(f"sqlite:///{tmp_path / name}").read(),
    ):
        pass
    assert not [*tmp_path.iterdir()]


def test_a_file_of_any_name_is_the_one_that_streaming_writes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a b%41#ü.db'}"
    with written_by_streaming.Store(url), Store(url).read() as connection:
        assert dead_letters.count_groups(connection) == 0
