"""What orchestrators and agents ask: whether the process lives, what it lacks, and Kafka's proposed beans."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from api.store import ABSENT
from deadwatch.store import schema
from deadwatch.store.trouble import REMEDY
from tests.caller import Caller
from tests.operators import AT
from tests.unit.api.conftest import Add


def test_ready_as_soon_as_there_is_a_store(
    client: httpx2.Client, store_file: Path, request: pytest.FixtureRequest
) -> None:
    assert client.get("/livez").json() == {"alive": True}
    before = client.get("/readyz")
    assert (before.status_code, before.json()["ready"]) == (503, False)
    assert before.json()["missing"] == [ABSENT]
    assert client.head("/readyz").status_code == 503
    assert not store_file.exists()
    request.getfixturevalue("store")
    assert (client.get("/readyz").status_code, client.get("/readyz").json()) == (
        200,
        {"ready": True, "missing": [], "warnings": []},
    )


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "path", ["/", "/livez", "/metrics", "/console/", "/console/no", "/api/v1/me", "/api/v1/redrives/0/cancel"]
)
def test_a_probe_that_sends_head_gets_the_answer_of_get_without_its_body(app: FastAPI, path: str) -> None:
    client = Caller(app, AT, headers={"X-Request-Id": "probe"})
    client.get(path)  # a new browser gets a cookie
    whole, head = client.get(path), client.head(path)
    assert (head.status_code, head.headers, head.content) == (whole.status_code, whole.headers, b"")


DAMAGED = f"the store is damaged (page 8): {REMEDY}"
SOURCES = [
    ("streaming", "no checkpoint", False, 0, "streaming counts nothing now: no checkpoint"),
    ("streaming", "not counted: dlq.a", True, 0, "streaming: not counted: dlq.a"),
    ("streaming", "", True, 60_000, "streaming counts nothing now: it is silent"),
    ("streaming", "", True, 0, ""),
    ("store", DAMAGED, False, 0, DAMAGED),
]


def test_a_stream_that_does_not_count_all_and_a_store_that_is_damaged_are_warnings(
    client: httpx2.Client, add_row: Add, now_ms: int
) -> None:
    for number, (kind, message, up, silent_ms, _) in enumerate(SOURCES):
        source = {"name": f"{kind}-{number}", "kind": kind, "up": up, "message": message}
        add_row(schema.sources, **source, heartbeat_ms=now_ms - silent_ms)
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert sorted(answer.json()["warnings"]) == sorted(warning for *_, warning in SOURCES if warning)


def test_a_file_that_is_no_store_any_more_is_said_with_what_fixes_it(
    client: httpx2.Client, store_file: Path
) -> None:
    store_file.write_bytes(b"no database at all" * 100)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["missing"][0].endswith(REMEDY)


WORKER = "kafka.connect:type=connect-worker-metrics"
METER = "kafka.server:type=ShareGroupMetrics"


@pytest.fixture
def _abandoned(add_row: Add) -> None:
    logged = {"logged_total": 3, "logged_current": 2}
    for worker in ("w1:1", "w2:1"):
        add_row(schema.abandoned, worker=worker, connector="pi,pe/1", task="0", **logged)
    add_row(schema.abandoned, worker="w1:1", connector="sink", **logged)
    for broker in ("1", "2"):
        counts = {"records_total": 5, "produce_requests_total": 4, "failed_produce_requests_total": 1}
        add_row(schema.share_groups, consumergroup="g1", broker=broker, **counts)


def read(client: httpx2.Client, path: str) -> Any:  # noqa: ANN401 -- JSON
    answer = client.get(f"/jolokia/read/{path}")
    assert answer.status_code == 200
    return answer.json()


@pytest.mark.usefixtures("_abandoned")
def test_the_worker_s_bean_adds_up(client: httpx2.Client) -> None:
    assert read(client, WORKER) == {
        "request": {"mbean": WORKER, "type": "read"},
        "value": {
            "abandoned-connectors-current": 2,
            "abandoned-connectors-total": 3,
            "abandoned-tasks-current": 4,
            "abandoned-tasks-total": 6,
        },
        "status": 200,
        "timestamp": 1_800_000_000,
    }
    assert read(client, f"{WORKER}/abandoned-tasks-total")["value"] == 6


@pytest.mark.usefixtures("_abandoned")
def test_a_pattern_gives_every_bean_that_fits(client: httpx2.Client) -> None:
    name = 'kafka.connect:type=abandoned-task-metrics,connector="pi,pe/1",task=0'
    assert read(client, "kafka.connect:type=abandoned-task-metrics,*")["value"] == {
        name: {"current": 4, "total": 6}
    }
    assert read(client, name.replace("/", "!/"))["value"] == {"current": 4, "total": 6}
    assert set(read(client, f"{METER},*/Count")["value"]) == {
        f"{METER},name={name},group=g1"
        for name in (
            "DeadLetterQueueRecordCount",
            "DeadLetterQueueTotalProduceRequestsPerSec",
            "DeadLetterQueueFailedProduceRequestsPerSec",
        )
    }
    connector = "kafka.connect:type=abandoned-connector-metrics,connector=sink"
    assert read(client, "*:*")["value"].keys() == {
        *(WORKER, name, connector),
        *read(client, f"{METER},*")["value"],
    }
    exact = read(client, f"{METER},group=g1,name=DeadLetterQueueRecordCount")
    assert exact["value"] == {"Count": 10}


@pytest.mark.usefixtures("_abandoned")
@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("kafka.connect:type=none", 404, "InstanceNotFoundException"),
        (f"{WORKER}/nothing", 404, "AttributeNotFoundException"),
        ("kafka.connect", 400, "MalformedObjectNameException"),
        ("../../etc/passwd", 400, "MalformedObjectNameException"),
    ],
)
def test_what_is_not_there_is_an_answer_as_jolokia_gives_it(
    client: httpx2.Client, path: str, status: int, kind: str
) -> None:
    found = client.get(f"/jolokia/read/{path.replace('..', '%2e%2e')}").json()
    assert (found["status"], found["error_type"], "value" in found) == (
        status,
        f"javax.management.{kind}",
        False,
    )
