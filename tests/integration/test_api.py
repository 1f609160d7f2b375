"""``python -m api`` as a process of its own: beside a store, watched by a hundred, scraped by Prometheus."""

import json
import os
import re
import selectors
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psutil
import pytest
from sqlalchemy import insert, update

from api.metrics import catalog
from deadwatch.store import schema, series
from deadwatch.store.batch import Batch, SeriesDelta
from deadwatch.store.engine import connect
from deadwatch.store.series import TASK_TIMEOUTS
from deadwatch.store.store import Store
from tests import http, monitoring
from tests.api_process import Serving, serving, started
from tests.command_line import ended
from tests.monitoring import Prometheus
from tests.waiting import until

WITHIN_S = 60


def one_timeout(batch_id: int) -> Batch:
    timeout = SeriesDelta(
        series=TASK_TIMEOUTS,
        labels=TASK_TIMEOUTS.key({"kafka_cluster": "c", "application": "wordcount", "task": "0_1"}),
        value=1,
        first_ms=1_000,
        last_ms=1_000,
        detail='{"elapsed_ms":4006,"message":"Task 0_1 …"}',
    )
    return Batch(
        query_id="q", batch_id=batch_id, committed_at_ms=1_000, offsets={}, marks={}, series=(timeout,)
    )


def test_it_waits_for_the_store_follows_it_and_ends_when_asked(tmp_path: Path) -> None:
    store_url = f"sqlite:///{tmp_path / 'deadwatch.db'}"
    with serving(tmp_path, store_url=store_url) as api:

        def asked(path: str) -> httpx2.Response:
            return http.get(api.url + path)

        not_ready = asked("/readyz")
        assert (not_ready.status_code, bool(not_ready.json()["missing"])) == (503, True)
        assert "\ndeadwatch_store_up 0.0\n" in asked("/metrics").text
        with Store(store_url) as store:
            until(lambda: asked("/readyz").status_code == 200)
            assert "server" not in asked("/readyz").headers
            for batch_id in range(3):
                store.apply(one_timeout(batch_id))
                counted = f'{{application="wordcount",kafka_cluster="c",task="0_1"}} {float(batch_id + 1)}\n'
                assert f"\ndeadwatch_task_timeouts_total{counted}" in asked("/metrics").text
        (told,) = asked("/api/v1/tasks").json()["task_timeouts"]
        assert (told["timeouts"], told["elapsed_ms"], told["message"]) == (3, 4_006, "Task 0_1 …")
        api.process.send_signal(signal.SIGTERM)
        assert api.process.wait(WITHIN_S) == 0
        assert "Traceback" not in api.log.read_text()


def test_a_port_in_use_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = started(log, store_url=f"sqlite:///{tmp_path / 'deadwatch.db'}", port=str(port))
        try:
            assert process.wait(WITHIN_S) == 2
        finally:
            process.kill()
            process.wait()
    (line,) = log.read_text().splitlines()
    assert line.startswith(f"api: cannot listen on 127.0.0.1:{port}: ")
    assert line.endswith("(variable API_PORT)")


CLIENTS = 100
CHANGES = int(os.environ.get("DEADWATCH_LIVE_CHANGES", "40"))
WARM = 10
"""Changes before memory is looked at for the first time."""
GROWTH_BYTES = 12 << 20
DEADLINE_S = 120


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path / 'deadwatch.db'}"
    with Store(address) as store:
        store.apply(one_timeout(0))
    return address


class Crowd:
    """Connections that watch; ``seen`` is the newest count of timeouts of each."""

    def __init__(self, port: int) -> None:
        self._selector = selectors.DefaultSelector()
        self.seen = [0] * CLIENTS
        self._tails = [b""] * CLIENTS
        self._sockets = []
        for number in range(CLIENTS):
            connection = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
            connection.sendall(b"GET /api/v1/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            self._selector.register(connection, selectors.EVENT_READ, number)
            self._sockets.append(connection)

    def read(self) -> None:
        for key, _ in self._selector.select(0.05):
            number, connection = key.data, self._sockets[key.data]
            text = self._tails[number] + connection.recv(1 << 16)
            for found in re.finditer(rb'"task_timeouts":\{"total":(\d+)', text):
                self.seen[number] = int(found[1])
            self._tails[number] = text[-64:]

    def close(self) -> None:
        for connection in self._sockets:
            connection.close()


def test_a_hundred_watch_and_memory_stays_flat(store_url: str, tmp_path: Path) -> None:
    settings = {"live_interval_ms": "100", "live_max_clients": str(2 * CLIENTS)}
    with serving(tmp_path, store_url=store_url, **settings) as api:
        watched_by_a_hundred(api, store_url)


def watched_by_a_hundred(api: Serving, store_url: str) -> None:
    process, port = psutil.Process(api.process.pid), urlsplit(api.url).port or 0
    crowd = Crowd(port)
    store = connect(store_url)
    before = 0
    for change in range(2, CHANGES + 2):
        with store.begin() as connection:
            connection.execute(update(schema.series).values(value=change))

        def everybody_knows(value: int = change) -> bool:
            crowd.read()
            return min(crowd.seen) == value

        until(everybody_knows)
        if change == WARM:
            before = process.memory_info().rss
    assert process.memory_info().rss - before < GROWTH_BYTES
    beyond = http.get(f"{api.url}/api/v1/live")
    assert (beyond.status_code, beyond.json()["type"]) == (429, "urn:deadwatch:problem:live-busy")
    crowd.close()

    def room() -> bool:
        with httpx2.stream("GET", f"{api.url}/api/v1/live") as answer:
            return answer.status_code == 200

    until(room)
    assert http.get(f"{api.url}/livez").status_code == 200


TRACED = {
    "trace_id": "0af7651916cd43dd8448eb211c80319c",
    "span_id": "b7ad6b7169203331",
    "traced_ms": time.time_ns() // 1_000_000,
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The api on a store that has a row of every series."""
    if missing := monitoring.missing():
        pytest.skip(f"not installed: {', '.join(missing)}")
    directory = tmp_path_factory.mktemp("api")
    store = f"sqlite:///{directory / 'deadwatch.db'}"
    Store(store).open().close()
    told = {"value": 3, "first_ms": 1_000, "last_ms": 2_000, "detail": "{}"}
    rows = [
        {"name": one.series.name, "labels": one.series.key(dict.fromkeys(one.labels, 'a "b" \\ c')), **told}
        for one in catalog.ALL
        if one.series is not None
    ]
    for row in rows:
        if row["name"] == series.DEAD_LETTERS.name:
            row["detail"] = json.dumps(TRACED)
    with connect(store).begin() as connection:
        connection.execute(insert(schema.series), rows)
    with serving(directory, store_url=store) as api:
        yield api.url


@pytest.fixture(scope="module")
def prometheus(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """It scrapes the api every second."""
    with monitoring.scraping(tmp_path_factory.mktemp("prometheus"), url.removeprefix("http://")) as running:
        yield running


def test_promtool_has_nothing_to_say(url: str) -> None:
    """Of the text format; the other one it does not read, Prometheus itself does."""
    scrape = http.get(f"{url}/metrics").text
    checked = ended(str(shutil.which("promtool")), "check", "metrics", input=scrape)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_prometheus_knows_every_metric_by_name(prometheus: Prometheus) -> None:
    read: list[Any] = []

    def has_read() -> bool:
        read[:] = prometheus.query("up == 1")
        return bool(read)

    until(has_read, "it has read nothing", DEADLINE_S)  # later than metadata
    at_s = float(read[0]["value"][0])  # a later scrape may find a busy machine
    known: dict[str, list[dict[str, str]]] = http.get(f"{prometheus.url}/api/v1/metadata").json()["data"]
    for metric in catalog.ALL:
        names = {metric.name, metric.family}
        found = [one for name in names for one in known.get(name, ())]
        assert metric.help in [one["help"] for one in found], metric.name
    for metric in catalog.ALL:
        if metric.series is not None:
            (one,) = prometheus.query(metric.name, at_s)
            assert one["value"][1] == "3"
            assert {name: one["metric"][name] for name in metric.labels} == dict.fromkeys(
                metric.labels, 'a "b" \\ c'
            )
    assert [one["value"][1] for one in prometheus.query("up", at_s)] == ["1"]
    assert [one["value"][1] for one in prometheus.query(catalog.STORE_UP.name, at_s)] == ["1"]


def test_prometheus_keeps_the_trace_of_a_dead_letter(prometheus: Prometheus) -> None:
    def found() -> Any:  # noqa: ANN401 -- JSON
        metric, end_s = "deadwatch_dead_letter_queue_records_total", time.time() + 60
        return prometheus.tell("query_exemplars", query=metric, start=0, end=end_s)

    until(found, "an exemplar")
    (exemplar,) = found()[0]["exemplars"]
    assert exemplar["labels"] == {name: TRACED[name] for name in ("trace_id", "span_id")}
