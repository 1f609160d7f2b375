"""Lists of what was observed: tasks, abandoned instances, delivery timeouts, findings; in pages."""

import httpx2
import pytest
from sqlalchemy import Column, Engine, text, update

from deadwatch.store import schema, series
from tests.unit.api.answers import pages, problem
from tests.unit.api.conftest import Add

NOW = "2027-01-15T08:00:00Z"


def test_findings_come_newest_first_in_pages(client: httpx2.Client, add_row: Add) -> None:
    found = {"kafka_cluster": "c", "kind": "dlq_compacted", "message": "m", "change": "k=v"}
    for subject, first_ms in (("a", 1_000), ("b", 3_000), ("c", 3_000)):
        add_row(schema.findings, **found, subject=subject, first_ms=first_ms, observed_at_ms=4_000)
    first, second = pages(client, "/api/v1/findings", 2)
    assert [one["subject"] for one in (*first, *second)] == ["c", "b", "a"]
    times = {"first_seen": "1970-01-01T00:00:01Z", "last_seen": "1970-01-01T00:00:04Z"}
    assert second == [{**found, "subject": "a", **times}]
    body = client.get("/api/v1/overview").json()
    assert body["findings"] == {"current": 3, "newest_since": "1970-01-01T00:00:03Z"}


@pytest.mark.parametrize("limit", [2, 6])
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


@pytest.mark.parametrize("limit", [1, 2, 500])
def test_a_page_of_tasks_has_the_next_part_of_every_list(
    client: httpx2.Client, add_row: Add, add_series: Add, now_ms: int, limit: int
) -> None:
    for number in range(3):
        add_series(series.TASK_TIMEOUTS, 1, task=f"0_{number}", last_ms=number % 2)
        add_row(schema.instances, worker="w:1", connector=f"c{number}", state="FAILED" * (number == 2))
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
        "connect": ["c2", "c0", "c1"],
    }
    assert requests == -(-3 // limit)


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


def test_what_cannot_be_asked_now_has_no_state(client: httpx2.Client, add_row: Add, now_ms: int) -> None:
    sources = {"connect:up": (True, now_ms), "connect:down": (False, now_ms), "connect:silent": (True, 0)}
    for source, (up, heartbeat_ms) in sources.items():
        add_row(schema.sources, name=source, kind="connect", up=up, heartbeat_ms=heartbeat_ms)
        place = {"worker": "w:1", "connector": source, "task": "0", "source": source, "state": "RUNNING"}
        add_row(schema.instances, **place)
        add_row(schema.connect_tasks, **place)
    instances = client.get("/api/v1/tasks").json()["connect"]
    for items in (instances, client.get("/api/v1/connect/tasks").json()["items"]):
        assert {item["connector"]: item["state"] for item in items} == {
            "connect:up": "RUNNING",
            "connect:down": "",
            "connect:silent": "",
        }


def test_a_timeout_without_usable_facts_is_still_listed(client: httpx2.Client, add_row: Add) -> None:
    for task, detail in enumerate(("", "[]", '{"elapsed_ms":"soon","message":7}', '{"elapsed_ms":true}')):
        labels = series.TASK_TIMEOUTS.key({"task": str(task)})
        add_row(schema.series, name="task_timeouts", labels=labels, value=1, detail=detail)
    rows = client.get("/api/v1/tasks").json()["task_timeouts"]
    assert [(row["timeouts"], row["elapsed_ms"], row["message"]) for row in rows] == [(1, None, "")] * 4


@pytest.mark.parametrize("column", [schema.series.c.detail, schema.instances.c.trace], ids=str)
def test_a_row_that_the_driver_cannot_read_is_a_store_that_cannot_be_read(
    client: httpx2.Client, store: Engine, add_row: Add, add_series: Add, column: Column[str]
) -> None:
    add_series(series.TASK_TIMEOUTS, 2)
    add_row(schema.instances)
    with store.begin() as connection:
        connection.execute(update(column.table).values({column: text("CAST(x'ff' AS TEXT)")}))
    assert problem(client.get("/api/v1/tasks")) == "503 store-unavailable"


def test_what_is_abandoned_now_stands_first_with_what_log_and_threads_say(
    client: httpx2.Client, add_row: Add, now_ms: int
) -> None:
    worker = {"worker": "w:1", "seen": True}
    add_row(schema.instances, worker="w:1", connector="pipe", task="1")
    add_row(schema.abandoned, **worker, connector="over", task="0", seen_total=1, last_ms=now_ms)
    pipe = {"connector": "pipe", "task": "1", "logged_total": 3, "logged_current": 2, "last_ms": 5}
    add_row(schema.abandoned, **worker, **pipe, seen_total=3, seen_current=1)
    add_row(schema.abandoned, connector="tap", logged_total=1, logged_current=1, last_ms=now_ms)
    items = client.get("/api/v1/abandoned").json()["items"]
    names = ("connector", "kind", "task", "current", "total", "evidence", "log", "threads", "disagree")
    one, none = {"current": 1, "total": 1}, {"current": 0, "total": 0}
    seen = {"current": 1, "total": 3}
    assert [tuple(item[name] for name in names) for item in items] == [
        ("tap", "connector", None, 1, 1, "log", one, None, None),
        ("pipe", "task", "1", 1, 3, "threads", {"current": 2, "total": 3}, seen, True),
        ("over", "task", "0", 0, 1, "threads", none, {"current": 0, "total": 1}, True),
    ]


def test_what_a_worker_had_abandoned_has_ended_with_it(client: httpx2.Client, add_row: Add) -> None:
    """Of a worker that is gone, such as a pod, there is no instance left by REST and by its agent."""
    counts = {"logged_total": 1, "logged_current": 1, "seen_total": 1, "seen_current": 1}
    for worker, seen in (("gone:8083", True), ("there:8083", True), ("without-agent:8083", False)):
        add_row(schema.abandoned, worker=worker, connector="pipe", task="0", seen=seen, **counts)
    add_row(schema.instances, worker="there:8083", connector="pipe", task="0")
    items = client.get("/api/v1/abandoned").json()["items"]
    found = {item["worker"]: (item["current"], item["total"], item["disagree"]) for item in items}
    assert found == {
        "gone:8083": (0, 1, False),
        "there:8083": (1, 1, False),
        "without-agent:8083": (1, 1, None),
    }


def test_delivery_timeouts_join_batches_and_records(client: httpx2.Client, add_series: Add) -> None:
    labels = {"kafka_cluster": "c", "topic": "t", "client_id": "p", "client": "java"}
    add_series(series.DELIVERY_TIMEOUT_BATCHES, 7, detail={"elapsed_ms": 3_004}, **labels)
    add_series(series.DELIVERY_TIMEOUT_RECORDS, 21, **labels)
    add_series(series.DELIVERY_TIMEOUT_RECORDS, 99, last_ms=5, **{**labels, "topic": "other"})
    found = client.get("/api/v1/delivery-timeouts").json()["items"]
    assert [(i["topic"], i["batches"], i["records"], i["elapsed_ms"]) for i in found] == [
        ("t", 7, 21, 3_004),
        ("other", 0, 99, None),
    ]
