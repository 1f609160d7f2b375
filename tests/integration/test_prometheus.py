"""A real Prometheus scrapes the api: its checker is silent, and it finds every metric of the catalogue."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import insert

from api.metrics import catalog
from streaming.store import schema, series
from streaming.store.engine import connect
from streaming.store.store import Store
from tests.waiting import until

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
DEADLINE_S = 120
TRACED = {
    "trace_id": "0af7651916cd43dd8448eb211c80319c",
    "span_id": "b7ad6b7169203331",
    "traced_ms": time.time_ns() // 1_000_000,
}


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    if shutil.which("prometheus") is None or shutil.which("promtool") is None:
        pytest.skip("Prometheus is not installed: apt-get install prometheus")


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The api on a store that has a row of every series."""
    store = f"sqlite:///{tmp_path / 'deadwatch.db'}"
    with Store(store):
        pass
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
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("API_")}
    with process(
        [sys.executable, "-m", "api"],
        {**inherited, "API_PORT": "0", "API_STORE_URL": store},
        tmp_path / "api.log",
        r"listening on (http://\S+)",
    ) as address:
        yield address


@contextmanager
def process(command: list[str], env: dict[str, str], log: Path, says: str) -> Iterator[str]:
    """What the process says of where it listens; it ends with the context."""
    with log.open("w") as output:
        running = subprocess.Popen(command, cwd=ROOT, env=env, stdout=output, stderr=output)
    try:
        yield waited(lambda: re.search(says, log.read_text()), running, log)[1]
    finally:
        running.terminate()
        running.wait(30)


def waited(
    condition: Callable[[], re.Match[str] | None], running: "subprocess.Popen[bytes]", log: Path
) -> re.Match[str]:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline and running.poll() is None:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    pytest.fail(f"it did not begin: {log.read_text()}")


@pytest.fixture
def prometheus(url: str, tmp_path: Path) -> Iterator[str]:
    """A Prometheus that scrapes it every second."""
    config = {
        "global": {"scrape_interval": "1s"},
        "scrape_configs": [
            {"job_name": "deadwatch", "static_configs": [{"targets": [url.removeprefix("http://")]}]}
        ],
    }
    file = tmp_path / "prometheus.yml"
    file.write_text(json.dumps(config))  # JSON is YAML
    command = [
        "prometheus",
        f"--config.file={file}",
        f"--storage.tsdb.path={tmp_path / 'tsdb'}",
        "--web.listen-address=127.0.0.1:0",
        "--log.level=info",
        "--enable-feature=exemplar-storage",
    ]
    log = tmp_path / "prometheus.log"
    with process(
        command, dict(os.environ), log, r"Listening on\"?.*?address=(127\.0\.0\.1:[1-9]\d*)"
    ) as address:
        yield f"http://{address}"


def test_promtool_has_nothing_to_say(url: str) -> None:
    """Of the text format; the other one it does not read, Prometheus itself does."""
    scrape = httpx2.get(f"{url}/metrics").content
    command = [str(shutil.which("promtool")), "check", "metrics"]
    checked = subprocess.run(command, input=scrape, capture_output=True, check=False)
    assert (checked.returncode, checked.stdout.decode(), checked.stderr.decode()) == (0, "", "")


def test_prometheus_knows_every_metric_by_name(prometheus: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not (known := metadata(prometheus)) and time.monotonic() < deadline:
        time.sleep(0.2)
    for metric in catalog.ALL:
        names = {metric.name, metric.family}
        found = [one for name in names for one in known.get(name, ())]
        assert metric.help in [one["help"] for one in found], metric.name
    for metric in catalog.ALL:
        if metric.series is not None:
            (one,) = query(prometheus, metric.name)
            assert one["value"][1] == "3"
            assert {name: one["metric"][name] for name in metric.labels} == dict.fromkeys(
                metric.labels, 'a "b" \\ c'
            )
    assert [one["value"][1] for one in query(prometheus, "up")] == ["1"]
    assert [one["value"][1] for one in query(prometheus, catalog.STORE_UP.name)] == ["1"]


def test_prometheus_keeps_the_trace_of_a_dead_letter(prometheus: str) -> None:
    asked = {"query": "deadwatch_dead_letter_queue_records_total", "start": "0", "end": str(time.time() + 60)}

    def found() -> list[Any]:
        told: list[Any] = httpx2.get(f"{prometheus}/api/v1/query_exemplars", params=asked).json()["data"]
        return told

    until(found, "an exemplar")
    (exemplar,) = found()[0]["exemplars"]
    assert exemplar["labels"] == {name: TRACED[name] for name in ("trace_id", "span_id")}


def metadata(prometheus: str) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = httpx2.get(f"{prometheus}/api/v1/metadata").json()["data"]
    return found


def query(prometheus: str, expression: str) -> list[Any]:
    answer = httpx2.get(f"{prometheus}/api/v1/query", params={"query": expression}).json()
    found: list[Any] = answer["data"]["result"]
    return found
