"""The overview adds up what every signal has."""

import httpx2

from deadwatch.store import schema, series
from tests.unit.api.conftest import Add

NOW = "2027-01-15T08:00:00Z"


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
    add_row(schema.instances, worker="w", task="0")
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


def test_what_has_failed_counts_while_its_cluster_can_be_asked(
    client: httpx2.Client, add_row: Add, now_ms: int
) -> None:
    add_row(schema.sources, name="connect:down", kind="connect", heartbeat_ms=now_ms)
    for connector, source in (("a", "connect:up"), ("b", "connect:down")):
        place = {"worker": "w:1", "connector": connector, "state": "FAILED", "source": source}
        add_row(schema.instances, **place, task="", state_since_ms=now_ms - 2)
        add_row(schema.instances, **place, task="0", state_since_ms=now_ms)
    add_row(schema.instances, worker="w:1", connector="c", task="0", state="RUNNING")
    add_row(schema.instances, worker="w:1", connector="c", task="1", state="RUNNING_WITHOUT_THREAD")
    failed = client.get("/api/v1/overview").json()["failed"]
    assert failed == {"tasks": 2, "connectors": 1, "latest_since": NOW}


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
