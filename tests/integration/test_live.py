"""A hundred who watch live events over real connections: all get every change, and memory stays flat."""

import os
import re
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx2
import psutil
import pytest
from sqlalchemy import update

from streaming.store import schema
from streaming.store.batch import Batch, SeriesDelta
from streaming.store.engine import connect
from streaming.store.series import TASK_TIMEOUTS
from streaming.store.store import Store
from tests import waiting

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
CLIENTS = 100
CHANGES = int(os.environ.get("DEADWATCH_LIVE_CHANGES", "40"))
WARM = 10
"""Changes before memory is looked at for the first time."""
GROWTH_BYTES = 12 << 20
DEADLINE_S = 120


@pytest.fixture
def url(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path / 'deadwatch.db'}"
    timeout = SeriesDelta(TASK_TIMEOUTS, TASK_TIMEOUTS.key({"task": "0_1"}), 1, 1_000, 1_000, "{}")
    with Store(address) as store:
        store.apply(
            Batch(query_id="q", batch_id=0, committed_at_ms=1, offsets={}, marks={}, series=(timeout,))
        )
    return address


@pytest.fixture
def api(url: str, tmp_path: Path) -> Iterator[tuple[psutil.Process, int]]:
    """The process and its port."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("API_")}
    settings = {
        "API_PORT": "0",
        "API_STORE_URL": url,
        "API_LIVE_INTERVAL_MS": "100",
        "API_LIVE_MAX_CLIENTS": str(CLIENTS),
    }
    log = tmp_path / "log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "api"], cwd=ROOT, env={**inherited, **settings}, stderr=stderr
        )
    try:
        until(lambda: re.search(r"listening on http://127\.0\.0\.1:\d+\n?", log.read_text()) is not None)
        yield psutil.Process(process.pid), int(log.read_text().partition("127.0.0.1:")[2].split()[0])
    finally:
        process.terminate()
        process.wait(30)


until = partial(waiting.until, within_s=DEADLINE_S)


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


def test_a_hundred_watch_and_memory_stays_flat(api: tuple[psutil.Process, int], url: str) -> None:
    process, port = api
    crowd = Crowd(port)
    store = connect(url)
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
    beyond = httpx2.get(f"http://127.0.0.1:{port}/api/v1/live")
    assert (beyond.status_code, beyond.json()["type"]) == (429, "urn:deadwatch:problem:live-busy")
    crowd.close()

    def room() -> bool:
        with httpx2.stream("GET", f"http://127.0.0.1:{port}/api/v1/live") as answer:
            return answer.status_code == 200

    until(room)
    assert httpx2.get(f"http://127.0.0.1:{port}/livez").status_code == 200
