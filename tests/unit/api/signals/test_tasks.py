"""Tasks of Connect and of Streams in metrics and answers: what is known, and nothing more."""

import re

import httpx2
import pytest

from deadwatch.store import schema
from deadwatch.store.write.task_timers import SILENT_MS
from tests.unit.api.conftest import Add

TASK = {"kafka_cluster": "c", "connect_cluster": "blue", "worker": "w:1", "connector": "sink"}
COUNTED = {
    "record_failures_total": "record_failures_total",
    "record_errors_total": "record_errors_total",
    "records_skipped_total": "records_skipped_total",
    "retries_total": "retries_total",
    "errors_logged_total": "errors_logged_total",
    "dlq_produce_requests_total": "deadletterqueue_produce_requests_total",
    "dlq_produce_failures_total": "deadletterqueue_produce_failures_total",
}
"""Columns, and how their metrics end; in the order of a scrape."""


def test_every_error_counter_has_its_metric_where_errors_were_counted(
    client: httpx2.Client, add_row: Add
) -> None:
    errors = {column: number for number, column in enumerate(COUNTED, 1)} | {"last_error_at_ms": 1_500}
    for task, counted in (("0", True), ("1", False)):
        add_row(schema.connect_tasks, **TASK, task=task, counted=counted, **errors)
    line = r'^deadwatch_connect_task_(.*){connector="sink",kafka_cluster="c",task="0",worker="w:1"} (.*)$'
    text = client.get("/metrics").text
    totals = [(name, f"{number}.0") for number, name in enumerate(COUNTED.values(), 1)]
    assert re.findall(line, text, re.MULTILINE) == [*totals, ("last_error_timestamp_seconds", "1.5")]
    assert 'task="1"' not in text


RUNS: dict[str, object] = {"task": "0", "judged": True}
STALLED = RUNS | {"stalled_since_ms": 5}
STALLS: dict[str, tuple[list[dict[str, object]], dict[str, str]]] = {
    "makes progress": ([RUNS], {"0": "0"}),
    "stalled": ([STALLED], {"0": "1"}),
    "not judged": ([{"task": "0"}], {}),
    "the first of two clusters": ([STALLED, RUNS | {"worker": "w:2"}], {"0": "1"}),
    "the second of two clusters": ([RUNS, STALLED | {"worker": "w:2"}], {"0": "1"}),
    "two tasks": ([RUNS, STALLED | {"task": "1"}], {"0": "0", "1": "1"}),
}


@pytest.mark.parametrize(("rows", "expected"), STALLS.values(), ids=STALLS)
def test_a_stalled_task_shows(
    client: httpx2.Client, add_row: Add, rows: list[dict[str, object]], expected: dict[str, str]
) -> None:
    for row in rows:
        add_row(schema.connect_tasks, **TASK | row)
    line = r'^deadwatch_connect_task_stalled{connector="sink",kafka_cluster="c",task="(.)"} (.).0$'
    assert dict(re.findall(line, client.get("/metrics").text, re.MULTILINE)) == expected


def test_the_answer_says_since_when_and_what_is_not_known(
    client: httpx2.Client, add_row: Add, now_ms: int
) -> None:
    add_row(schema.connect_tasks, **TASK, task="0", state="RUNNING")
    stall = {"judged": True, "stalled_since_ms": now_ms, "stalled_because": "records wait"}
    add_row(schema.connect_tasks, **TASK, **stall, task="1", counted=True, retries_total=4)
    stalled, unknown = client.get("/api/v1/connect/tasks").json()["items"]
    assert (stalled["task"], stalled["stalled"], stalled["stalled_because"]) == ("1", True, "records wait")
    assert stalled["stalled_since"] == "2027-01-15T08:00:00Z"
    assert (stalled["errors"]["retries"], stalled["errors"]["last_error"]) == (4, None)
    assert (unknown["stalled"], unknown["stalled_since"], unknown["errors"]) == (None, None, None)


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
    _add(add_row, now_ms, task="0_2", deadline_ms=now_ms - 1, since_ms=now_ms - 1_000)
    first, second, over = client.get("/api/v1/tasks").json()["timers"]
    assert (first["task"], first["call"], first["remaining_ms"], first["message"]) == (
        "0_1",
        "commit",
        700,
        "m",
    )
    assert (second["task"], second["call"], second["remaining_ms"]) == ("0_0", "", None)
    assert (over["task"], over["remaining_ms"]) == ("0_2", 0)
    assert (first["since"], first["last_heard"]) == ("2027-01-15T07:59:58Z", "2027-01-15T07:59:59Z")
    assert _numbers(client) == ['{application="wc",kafka_cluster="c"} 3.0']


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
