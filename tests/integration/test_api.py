"""``python -m api`` as a process of its own, beside the store that streaming writes."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from streaming.store.batch import Batch, SeriesDelta
from streaming.store.series import TASK_TIMEOUTS
from streaming.store.store import Store

ROOT = Path(__file__).parents[2]
DEADLINE_S = 20
STOP_S = 5

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def start(tmp_path: Path, port: int) -> Iterator[Start]:
    """Start the api; whatever still runs at the end of the test is killed."""
    processes: list[subprocess.Popen[str]] = []

    def begin(**settings: str) -> subprocess.Popen[str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("API_")}
        own = {"API_PORT": str(port), "API_STORE_URL": f"sqlite:///{tmp_path / 'deadwatch.db'}", **settings}
        process = subprocess.Popen(
            [sys.executable, "-m", "api"],
            cwd=ROOT,
            env={**inherited, **own},
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


def answered(
    process: subprocess.Popen[str], url: str, accepted: Callable[[httpx2.Response], bool]
) -> httpx2.Response:
    """The first answer that is accepted; the test fails when the process ends or time is over before."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            answer = httpx2.get(url)
        except httpx2.TransportError:
            continue
        if accepted(answer):
            return answer
    pytest.fail(f"{url}: no such answer; the process: {process.poll()}")


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


def test_it_waits_for_the_store_follows_it_and_ends_when_asked(
    start: Start, tmp_path: Path, port: int
) -> None:
    url = f"http://127.0.0.1:{port}"
    process = start()
    not_ready = answered(process, f"{url}/readyz", lambda answer: answer.status_code == 503)
    assert not_ready.json()["missing"]
    assert "\ndeadwatch_store_up 0.0\n" in httpx2.get(f"{url}/metrics").text
    with Store(f"sqlite:///{tmp_path / 'deadwatch.db'}") as store:
        ready = answered(process, f"{url}/readyz", lambda answer: answer.status_code == 200)
        assert "server" not in ready.headers
        for batch_id in range(3):
            store.apply(one_timeout(batch_id))
            scrape = httpx2.get(f"{url}/metrics").text
            counted = f'{{application="wordcount",kafka_cluster="c",task="0_1"}} {float(batch_id + 1)}\n'
            assert f"\ndeadwatch_task_timeouts_total{counted}" in scrape
    (told,) = httpx2.get(f"{url}/api/v1/tasks").json()["task_timeouts"]
    assert (told["timeouts"], told["elapsed_ms"], told["message"]) == (3, 4_006, "Task 0_1 …")
    asked_at = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=STOP_S)
    assert (process.returncode, time.monotonic() - asked_at < STOP_S) == (0, True)
    assert f"listening on {url}" in log
    assert "Traceback" not in log


def test_a_port_in_use_is_one_line_that_says_what_to_do(start: Start, port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        process = start()
        _, log = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2
    (line,) = log.splitlines()
    assert line.startswith(f"api: cannot listen on 127.0.0.1:{port}: ")
    assert line.endswith("(variable API_PORT)")


def test_a_public_address_is_one_line_that_says_what_to_do(start: Start) -> None:
    process = start(API_HOST="0.0.0.0")  # noqa: S104 - refused
    _, log = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2
    (line,) = log.splitlines()
    assert line.startswith(
        "api settings: host 0.0.0.0 is reached from other machines, which needs authentication: "
    )
