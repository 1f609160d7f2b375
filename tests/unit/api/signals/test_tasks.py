"""Tasks of Connect and of Streams in metrics and answers: what is known, and nothing more."""

import re
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from api.metrics import catalog
from api.metrics.connect_samples import CONNECT_TASK_TOTALS, connect_task_samples, stalled_samples
from api.signals.tasks import ConnectTaskRow
from deadwatch.store import schema
from deadwatch.store.write.task_timers import SILENT_MS
from tests.unit.api.routes.conftest import Add

VALUES: tuple[Any, ...] = (
    *("c", "blue", "w:1", "sink", "0", "connect-tasks:blue", "RUNNING"),
    True,
    *range(1, 8),
    1_500,
    True,
    0,
    "",
    9,
)
RUNNING = ConnectTaskRow(*VALUES)
"""Its counters are 1 to 7."""
STALLED = replace(RUNNING, stalled_since_ms=5, stalled_because="x")
NOT_JUDGED = replace(RUNNING, judged=False)


def test_every_error_counter_has_its_metric_where_errors_were_counted() -> None:
    seen = {metric: (labels, value) for metric, labels, value, _ in connect_task_samples([NOT_JUDGED])}
    labels = ("c", "w:1", "sink", "0")
    totals = {
        metric: (labels, float(number)) for number, metric in enumerate(CONNECT_TASK_TOTALS.values(), 1)
    }
    assert seen == {**totals, catalog.CONNECT_LAST_ERROR: (labels, 1.5)}
    assert not [*connect_task_samples([replace(RUNNING, counted=False)])]


@pytest.mark.parametrize(
    ("name", "rows", "expected"),
    [
        ("makes progress", [RUNNING], {"0": 0}),
        ("stalled", [STALLED], {"0": 1}),
        ("not judged", [NOT_JUDGED], {}),
        ("one of two clusters", [replace(STALLED, worker="w:2"), RUNNING], {"0": 1}),
        ("two tasks", [RUNNING, replace(STALLED, task="1")], {"0": 0, "1": 1}),
    ],
)
def test_a_stalled_task_shows(name: str, rows: list[ConnectTaskRow], expected: dict[str, int]) -> None:
    for order in (rows, rows[::-1]):
        found = {labels: value for _, labels, value, _ in stalled_samples(order)}
        assert found == {("c", "sink", task): stalled for task, stalled in expected.items()}, name


def test_the_answer_says_since_when_and_what_is_not_known(
    client: httpx2.Client, add_row: Add, now_ms: int
) -> None:
    task = {"kafka_cluster": "c", "connect_cluster": "blue", "worker": "w:1", "connector": "sink"}
    add_row(schema.connect_tasks, **task, task="0", state="RUNNING")
    stall = {"judged": True, "stalled_since_ms": now_ms, "stalled_because": "records wait"}
    add_row(schema.connect_tasks, **task, **stall, task="1", counted=True, retries_total=4)
    stalled, unknown = client.get("/api/v1/connect/tasks").json()["items"]
    assert (stalled["task"], stalled["stalled"], stalled["stalled_because"]) == ("1", True, "records wait")
    assert stalled["stalled_since"] == "2027-01-15T08:00:00Z"
    assert (stalled["errors"]["retries"], stalled["errors"]["last_error"]) == (4, None)
    assert (unknown["stalled"], unknown["stalled_since"], unknown["errors"]) == (None, None, None)
    metrics = client.get("/metrics").text
    assert 'deadwatch_connect_task_stalled{connector="sink",kafka_cluster="c",task="1"} 1.0' in metrics
    assert "deadwatch_connect_task_retries_total{" in metrics


def test_nobody_knows_whether_a_task_is_stalled_whose_connect_is_away(
    client: httpx2.Client, add_row: Add, now_ms: int
) -> None:
    stall = {"judged": True, "stalled_since_ms": now_ms, "stalled_because": "records wait"}
    for name, up in (("connect-tasks:here", True), ("connect-tasks:away", False)):
        add_row(schema.sources, name=name, kind="connect", up=up, heartbeat_ms=now_ms)
        add_row(schema.connect_tasks, connector=name, task="0", source=name, state="RUNNING", **stall)
    here, away = client.get("/api/v1/connect/tasks").json()["items"]
    assert (here["stalled"], here["stalled_because"]) == (True, "records wait")
    assert (away["stalled"], away["stalled_since"], away["stalled_because"]) == (None, None, "")
    assert client.get("/api/v1/overview").json()["stalled_tasks"]["current"] == 1
    shown = re.findall(r"^deadwatch_connect_task_stalled{(.*)$", client.get("/metrics").text, re.MULTILINE)
    assert shown == ['connector="connect-tasks:here",kafka_cluster="",task="0"} 1.0']


def _add(add_row: Add, now_ms: int, **values: object) -> None:
    client = {"streams_client": "wc-1", "said_by": "wc-1-StreamThread-1"}
    known = {"kafka_cluster": "c", "application": "wc", **client}
    times = {"since_ms": now_ms - 2_000, "heard_ms": now_ms - 1_000}
    add_row(schema.task_timers, **{**known, **times, "running": True, **values})


def _numbers(client: httpx2.Client) -> list[str]:
    return re.findall(r"^deadwatch_task_timers({.*)$", client.get("/metrics").text, re.MULTILINE)


def test_a_timer_tells_its_call_and_what_is_left(client: httpx2.Client, add_row: Add, now_ms: int) -> None:
    _add(add_row, now_ms, task="0_1", call="commit", deadline_ms=now_ms + 700, message="m")
    _add(add_row, now_ms, task="0_0", call="", deadline_ms=0, since_ms=now_ms - 1_500)
    first, second = client.get("/api/v1/tasks").json()["timers"]
    assert (first["task"], first["call"], first["remaining_ms"], first["message"]) == (
        "0_1",
        "commit",
        700,
        "m",
    )
    assert (second["task"], second["call"], second["remaining_ms"]) == ("0_0", "", None)
    assert (first["since"], first["last_heard"]) == ("2027-01-15T07:59:58Z", "2027-01-15T07:59:59Z")
    assert _numbers(client) == ['{application="wc",kafka_cluster="c"} 2.0']


def test_a_deadline_that_is_over_leaves_nothing(client: httpx2.Client, add_row: Add, now_ms: int) -> None:
    _add(add_row, now_ms, task="0_1", deadline_ms=now_ms - 1)
    assert client.get("/api/v1/tasks").json()["timers"][0]["remaining_ms"] == 0


def test_what_ended_or_fell_silent_does_not_run_and_its_application_shows_none(
    client: httpx2.Client, add_row: Add, now_ms: int
) -> None:
    _add(add_row, now_ms, task="0_0", running=False)
    _add(add_row, now_ms, task="0_1", heard_ms=now_ms - SILENT_MS - 1)
    assert _numbers(client) == ['{application="wc",kafka_cluster="c"} 0.0']
    assert client.get("/api/v1/tasks").json()["timers"] == []
    _add(add_row, now_ms, task="0_2", heard_ms=now_ms - SILENT_MS)
    assert _numbers(client) == ['{application="wc",kafka_cluster="c"} 1.0']


def test_a_thread_without_task_counts_unless_it_named_one(
    client: httpx2.Client, add_row: Add, now_ms: int
) -> None:
    _add(add_row, now_ms, thread="wc-1-StreamThread-1", call="init")
    assert [timer["task"] for timer in client.get("/api/v1/tasks").json()["timers"]] == [None]
    _add(add_row, now_ms, task="0_1", call="committed_offsets")
    _add(add_row, now_ms, thread="wc-1-StreamThread-2", said_by="wc-1-StreamThread-2", call="init")
    assert _numbers(client) == ['{application="wc",kafka_cluster="c"} 2.0']
