"""Kafka's proposed beans, told as by a Jolokia agent."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from api.metrics import catalog
from streaming.store import schema

Add = Callable[..., None]
WORKER = "kafka.connect:type=connect-worker-metrics"
METER = "kafka.server:type=ShareGroupMetrics"


@pytest.fixture(autouse=True)
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
    assert len(read(client, "*:*")["value"]) == 6
    exact = read(client, f"{METER},group=g1,name=DeadLetterQueueRecordCount")
    assert exact["value"] == {"Count": 10}


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
    told = client.get(f"/jolokia/read/{path.replace('..', '%2e%2e')}").json()
    assert (told["status"], told["error_type"], "value" in told) == (
        status,
        f"javax.management.{kind}",
        False,
    )


def test_every_bean_of_the_catalogue_is_there(client: httpx2.Client) -> None:
    known = read(client, "*:*")["value"]
    named = {name for metric in catalog.ALL for name in metric.seeds_name if name.startswith("kafka.")}
    for text in named - {name for name in named if "task-error-metrics" in name}:  # Kafka ships that one
        bean, _, attribute = text.partition(" ")
        assert any(one.startswith(bean) and attribute in {"", *values} for one, values in known.items()), text
