"""Timers that run now: the list of them, and the number of each application."""

from collections.abc import Callable

import httpx2

from streaming.store import schema
from streaming.store.task_timers import SILENT_MS

Add = Callable[..., None]


def _add(add_row: Add, now_ms: int, **values: object) -> None:
    known = {
        "kafka_cluster": "c",
        "application": "wc",
        "streams_client": "wc-1",
        "said_by": "wc-1-StreamThread-1",
    }
    times = {"since_ms": now_ms - 2_000, "heard_ms": now_ms - 1_000}
    add_row(schema.task_timers, **{**known, **times, "running": True, **values})


def _numbers(client: httpx2.Client) -> list[str]:
    lines = client.get("/metrics").text.splitlines()
    return [
        line.removeprefix("deadwatch_task_timers")
        for line in lines
        if line.startswith("deadwatch_task_timers{")
    ]


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
