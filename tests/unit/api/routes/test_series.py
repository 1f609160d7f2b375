"""``GET /api/v1/series``: counters over time, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from sqlalchemy import Engine

from deadwatch.store.batch import Batch, delta
from deadwatch.store.series import TASK_TIMEOUTS
from deadwatch.store.store import Store

METRIC = "deadwatch_task_timeouts_total"
Get = Callable[..., httpx2.Response]


@pytest.fixture
def get(client: httpx2.Client, store: Engine, now_ms: int) -> Get:
    """Asks for the timeouts of two tasks: three a minute ago, one now."""
    empty = Batch(query_id="q", batch_id=0, committed_at_ms=now_ms, offsets={}, marks={})
    deltas = [
        delta(
            TASK_TIMEOUTS,
            {"kafka_cluster": "c", "application": "app", "task": task},
            value,
            first_ms=at_ms,
            last_ms=at_ms,
        )
        for task, value, at_ms in (("0_0", 3, now_ms - 60_000), ("0_1", 1, now_ms))
    ]
    with Store(str(store.url)) as written:
        written.apply(replace(empty, series=tuple(deltas)))
    return lambda **query: client.get("/api/v1/series", params={"metric": METRIC, **query})


def test_a_counter_over_the_last_hour(get: Get) -> None:
    body = get(by="task").json()
    assert (body["from"], body["to"], body["step_ms"]) == (
        "2027-01-15T07:00:00Z",
        "2027-01-15T08:00:00Z",
        10_000,
    )
    assert body["lines"] == [
        {"labels": {"task": "0_0"}, "total": 3, "points": [{"at": "2027-01-15T07:59:00Z", "value": 3}]}
    ]


def test_labels_time_and_step_can_be_chosen(get: Get) -> None:
    query = {"from": "2027-01-15T07:00:00Z", "to": "2027-01-15T09:00:00+00:00", "step": "1h"}
    body = get(**query, label=["application=app", "kafka_cluster=c", "application=app"]).json()
    points = [{"at": "2027-01-15T07:00:00Z", "value": 3}, {"at": "2027-01-15T08:00:00Z", "value": 1}]
    assert body["lines"] == [{"labels": {}, "total": 4, "points": points}]
    assert get(**query, label="task=none").json()["lines"] == []


OLD = {"from": "2027-01-10T00:00:00Z", "to": "2027-01-10T01:00:00Z"}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown metric": ({"metric": "deadwatch_bananas"}, "metric: must be one of deadwatch_"),
    "a gauge": ({"metric": "deadwatch_store_up"}, "metric: must be one of"),
    "an unknown label": ({"label": "topik=a"}, "'topik' is no label of deadwatch_task_timeouts_total: kafka"),
    "a label without a value": ({"label": "task"}, "label: must be NAME=VALUE"),
    "a label with two values": ({"label": ["task=0_1", "task=0_2"]}, "label: 'task' cannot have two values"),
    "an unknown label to tell apart": ({"by": "topik"}, "by: 'topik' is no label"),
    "a begin without a zone": ({"from": "2027-01-15T07:00:00"}, "from: must have a time zone"),
    "an end without a zone": ({"to": "2027-01-15T07:00:00"}, "to: must have a time zone"),
    "an unknown step": ({"step": "7s"}, "step: Input should be '10s'"),
    "a step that is too narrow": ({**OLD, "step": "10s"}, "step: must be at least 1m"),
    "too many steps": ({"from": "2026-02-01T00:00:00Z", "step": "1h"}, "more than 2200 steps"),
    "a time that ends before it begins": ({"from": "2027-01-16T00:00:00Z"}, "from: must be before 'to'"),
    "no time": ({"to": "yesterday"}, "to: a time is written as 2026-11-21T12:00:00Z"),
    "an unknown parameter": ({"metrik": "x"}, "metrik: no field or parameter has this name"),
}


def test_a_query_that_cannot_be_answered_is_refused_with_the_way_out(get: Get) -> None:
    for name, (query, reason) in REFUSED.items():
        answer = get(**query)
        assert answer.status_code == 422, name
        assert reason in answer.json()["detail"]
