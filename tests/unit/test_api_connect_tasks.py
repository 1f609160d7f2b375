"""Connect's tasks in metrics and answers: what is known, and nothing more."""

from collections.abc import Callable

import httpx2
import pytest

from api.connect_tasks import ConnectTaskRow
from api.metrics import catalog
from api.metrics.connect_tasks import ERRORS, figures
from streaming.store import schema

Add = Callable[..., None]


def row(
    *, task: str = "0", worker: str = "w:1", judged: bool = True, since_ms: int = 0, counted: bool = True
) -> ConnectTaskRow:
    return ConnectTaskRow(
        kafka_cluster="c",
        connect_cluster="blue",
        worker=worker,
        connector="sink",
        task=task,
        state="RUNNING",
        counted=counted,
        record_failures_total=1,
        record_errors_total=2,
        records_skipped_total=3,
        retries_total=4,
        errors_logged_total=5,
        dlq_produce_requests_total=6,
        dlq_produce_failures_total=7,
        last_error_at_ms=1_500,
        judged=judged,
        stalled_since_ms=since_ms,
        stalled_because="x" if since_ms else "",
        observed_at_ms=9,
    )


def test_every_error_counter_has_its_metric() -> None:
    seen = {metric: (labels, value) for metric, labels, value in figures([row(judged=False)])}
    labels = ("c", "w:1", "sink", "0")
    values = {metric: (labels, float(number)) for number, metric in enumerate(ERRORS.values(), start=1)}
    assert seen == {**values, catalog.CONNECT_LAST_ERROR: (labels, 1.5)}


@pytest.mark.parametrize(
    ("name", "rows", "expected"),
    [
        ("gets on", [row()], {("c", "sink", "0"): 0}),
        ("stalled", [row(since_ms=5)], {("c", "sink", "0"): 1}),
        ("not judged", [row(judged=False)], {}),
        ("one of two clusters", [row(worker="w:2", since_ms=5), row()], {("c", "sink", "0"): 1}),
        ("two tasks", [row(), row(task="1", since_ms=5)], {("c", "sink", "0"): 0, ("c", "sink", "1"): 1}),
    ],
)
def test_a_stalled_task_shows(
    name: str, rows: list[ConnectTaskRow], expected: dict[tuple[str, ...], int]
) -> None:
    for order in (rows, rows[::-1]):
        told = {
            labels: value
            for metric, labels, value in figures(order)
            if metric is catalog.CONNECT_TASK_STALLED
        }
        assert told == expected, name


def test_errors_that_were_never_told_have_no_samples() -> None:
    assert [metric for metric, *_ in figures([row(counted=False)])] == [catalog.CONNECT_TASK_STALLED]


def test_the_answer_says_since_when_and_what_is_not_known(
    client: httpx2.Client, add_row: Add, now_ms: int
) -> None:
    task = {"kafka_cluster": "c", "connect_cluster": "blue", "worker": "w:1", "connector": "sink"}
    add_row(schema.connect_tasks, **task, task="0", state="RUNNING")
    add_row(
        schema.connect_tasks,
        **task,
        task="1",
        state="RUNNING",
        judged=True,
        stalled_since_ms=now_ms,
        stalled_because="records wait",
        counted=True,
        retries_total=4,
    )
    stalled, unknown = client.get("/api/v1/connect/tasks").json()["items"]
    assert (stalled["task"], stalled["stalled"], stalled["stalled_because"]) == ("1", True, "records wait")
    assert stalled["stalled_since"] == "2027-01-15T08:00:00Z"
    assert (stalled["errors"]["retries"], stalled["errors"]["last_error"]) == (4, None)
    assert (unknown["stalled"], unknown["stalled_since"], unknown["errors"]) == (None, None, None)
    metrics = client.get("/metrics").text
    assert 'deadwatch_connect_task_stalled{connector="sink",kafka_cluster="c",task="1"} 1.0' in metrics
    assert "deadwatch_connect_task_retries_total{" in metrics
