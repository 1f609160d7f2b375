"""How fast the api answers with 100 000 groups and 10 000 series in the store while a stream writes.

The api is a process of its own on SQLite; batches of a thousand groups and series are applied beside it, one
after the other with a second between. A peer is the bound that the house has set itself: ``ours`` and
``peer`` are answers a second, for a latency those that one caller could get at the 95th percentile.
"""

import http.client
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Self

import psutil
from sqlalchemy import insert

from benchmarks.row import Row
from benchmarks.service import up
from deadwatch.runtime.clock import clock_ms
from deadwatch.store import schema
from deadwatch.store.batch import Batch, SeriesDelta
from deadwatch.store.engine import connect
from deadwatch.store.series import DEAD_LETTERS
from deadwatch.store.store import Store

GROUPS: Final = 100_000
SERIES: Final = 10_000
CALLERS: Final = 4
CALLS: Final = 40
LOAD_S: Final = 10.0
START_S: Final = 60
METRICS_MS: Final = 250.0
LIST_MS: Final = 50.0
REQUESTS_S: Final = 500.0
METRICS: Final = "/metrics"
TOPICS: Final = "/api/v1/dead-letters/topics"
OVERVIEW: Final = "/api/v1/overview"
CACHED: Final = frozenset({METRICS, TOPICS, OVERVIEW})
GROUPS_PATH: Final = "/api/v1/dead-letters/groups"
LISTS: Final = (
    GROUPS_PATH,
    f"{GROUPS_PATH}?order=records",
    f"{GROUPS_PATH}?order=newest",
    f"{GROUPS_PATH}?shelf=archived",
    f"{GROUPS_PATH}?filter=topic==%22dlq.orders-7%22",
    f"{GROUPS_PATH}?filter=message.endsWith(%22%20never%22)",
    TOPICS,
    OVERVIEW,
    "/api/v1/tasks",
    "/api/v1/findings",
    "/api/v1/redrives",
    "/api/v1/redrive-policies",
    "/api/v1/delivery-timeouts",
)
LOAD: Final = (
    f"{GROUPS_PATH}?limit=20",
    "/api/v1/findings",
    "/api/v1/abandoned",
    f"{GROUPS_PATH}/0000000000000001",
)
WATCHERS: Final = 100
WATCH_S: Final = 20.0
GROWN: Final = 1.1
"""What counts as flat: at most so much of the memory there was once all of them watched."""


def labels(number: int) -> dict[str, str]:
    return {
        "kafka_cluster": "default",
        "dlq_topic": f"dlq.orders-{number % 200}",
        "source_topic": f"orders-{number % 200}",
        "dialect": "connect",
        "connector": f"sink-{number % 500}",
        "error_class": f"org.apache.kafka.connect.errors.DataException{number}",
    }


def fill(url: str) -> None:
    now_ms = clock_ms()
    times = {"first_ms": now_ms - 60_000, "last_ms": now_ms}
    name = DEAD_LETTERS.name
    series = [
        {"name": name, "labels": DEAD_LETTERS.key(labels(number)), "value": number, "detail": "{}", **times}
        for number in range(SERIES)
    ]
    same = {"kafka_cluster": "default", "dialect": "connect", "error_class": "DataException", **times}
    texts = {"message_pattern": "failed at offset #", "message": "failed at offset 17", "consumer": "sink"}
    groups = [
        {
            "fingerprint": f"{number:016x}",
            "dlq_topic": f"dlq.orders-{number % 200}",
            "source_topic": f"orders-{number % 200}",
            "records": number,
            **same,
            **texts,
            "last_ms": now_ms - number,
        }
        for number in range(GROUPS)
    ]
    with connect(url).begin() as connection:
        connection.execute(insert(schema.series), series)
        connection.execute(insert(schema.groups), groups)


class Stream:
    """Applies batches, one after the other, until it is left."""

    def __init__(self, store: Store) -> None:
        self._store, self._done, self._committed = store, threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def next(self) -> None:
        """Return right after the next commit."""
        self._committed.clear()
        if not self._committed.wait(START_S):
            raise RuntimeError("nothing is committed any more")

    def _write(self) -> None:
        number = 0
        while not self._done.wait(1):
            self._store.apply(_batch(number))
            self._committed.set()
            number += 1


def _batch(number: int) -> Batch:
    now_ms = clock_ms()
    deltas = tuple(
        SeriesDelta(DEAD_LETTERS, DEAD_LETTERS.key(labels(one)), 1, now_ms, now_ms, "{}")
        for one in range(number % 9 * 1_000, number % 9 * 1_000 + 1_000)
    )
    return Batch(
        query_id="bench", batch_id=number, committed_at_ms=now_ms, offsets={}, marks={}, series=deltas
    )


@contextmanager
def served() -> Iterator[tuple[Store, int, psutil.Process]]:
    """A store with groups and series, the port of an api on it, and the api's process."""
    with tempfile.TemporaryDirectory(prefix="deadwatch-bench-") as name:
        url, log = f"sqlite:///{name}/deadwatch.db", Path(name) / "api.log"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("API_")}
        environment = {**inherited, "API_PORT": "0", "API_STORE_URL": url}
        with Store(url, max_groups=2 * GROUPS, max_series=2 * SERIES) as store:
            fill(url)
            with up(r"listening on http://127\.0\.0\.1:(\d+)", log, environment, "api") as (process, port):
                yield store, int(port), psutil.Process(process.pid)


class Caller:
    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_S)

    def took_ms(self, path: str) -> float:
        begin_s = time.perf_counter()
        self._connection.request("GET", path)
        answer = self._connection.getresponse()
        answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(f"{path}: status {answer.status}")
        return (time.perf_counter() - begin_s) * 1_000


def p95_ms(port: int, path: str, before: Callable[[], object]) -> float:
    """The 95th percentile of one caller, after the first answer; ``before`` each call, that is done."""
    caller = Caller(port)
    caller.took_ms(path)

    def once_ms() -> float:
        before()
        return caller.took_ms(path)

    return statistics.quantiles((once_ms() for _ in range(CALLS)), n=20)[-1]


def answers_per_second(port: int) -> float:
    """Of several callers at once, each with one request under way."""
    until_s = time.perf_counter() + LOAD_S

    def call(_: int) -> int:
        caller, number = Caller(port), 0
        while time.perf_counter() < until_s:
            caller.took_ms(LOAD[number % len(LOAD)])
            number += 1
        return number

    with ThreadPoolExecutor(CALLERS) as pool:
        return sum(pool.map(call, range(CALLERS))) / LOAD_S


def watched_bytes(port: int, process: psutil.Process) -> tuple[int, int]:
    """Resident memory once all watch and have seen the store change, and after they have watched on."""
    with ExitStack() as stack:
        watchers = [Watcher(port) for _ in range(WATCHERS)]
        for watcher in watchers:
            stack.callback(watcher.close)
        _watch_on(watchers)
        before = process.memory_info().rss
        _watch_on(watchers)
        return before, process.memory_info().rss


def _watch_on(watchers: Sequence["Watcher"]) -> None:
    until_s = time.perf_counter() + WATCH_S
    while time.perf_counter() < until_s:
        for watcher in watchers:
            watcher.event()


class Watcher:
    """A connection on which the api reports changes."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_S)
        self._connection.request("GET", "/api/v1/live")
        self._answer = self._connection.getresponse()

    def event(self) -> None:
        while self._answer.readline() not in {b"\n", b"\r\n"}:
            pass

    def close(self) -> None:
        self._connection.close()


def latency(port: int, path: str, bound_ms: float, stream: Stream) -> Row:
    """A latency beside its bound; an answer that is cached between commits is asked for after each."""
    before = stream.next if path in CACHED else int
    work = f"api: {path}, p95 under {bound_ms:.0f} ms"
    return Row.more(work, 1_000 / p95_ms(port, path, before), 1_000 / bound_ms)


def rows() -> Iterator[Row]:
    with served() as (store, port, process), Stream(store) as stream:
        yield latency(port, METRICS, METRICS_MS, stream)
        for path in LISTS:
            yield latency(port, path, LIST_MS, stream)
        work = f"api: lists and details, {CALLERS} callers, answers/s"
        yield Row.more(work, answers_per_second(port), REQUESTS_S)
        before, after = watched_bytes(port, process)
        work = f"api: memory under {WATCHERS} live clients, times {GROWN} what it was"
        yield Row.more(work, GROWN * before / after, 1)
