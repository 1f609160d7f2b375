"""Our query on a backlog, again and again in one warm JVM, each time on a new store and checkpoint."""

import contextlib
import itertools
import re
import sqlite3
import threading
import time
from pathlib import Path
from random import Random
from typing import Final, NamedTuple, Self

from benchmarks.row import require
from benchmarks.traffic import Totals
from deadwatch.runtime.clock import clock_ms
from deadwatch.store.heartbeat import Heartbeat
from deadwatch.store.store import Store
from streaming import session
from streaming.job import Job
from streaming.settings import StreamingSettings

WITHIN_S: Final = 900.0
POLL_S: Final = 0.1
NO_HEARTBEAT_MS: Final = 3_600_000


class Counted(NamedTuple):
    """Records per second until the last commit: since the first batch began, and since the query started."""

    rate: float
    whole: float


class Ours:
    """The session of Spark, from entering to leaving."""

    def __init__(self, servers: str, topic: str, directory: Path) -> None:
        self._servers, self._topic, self._directory = servers, topic, directory
        self._numbers = itertools.count()

    def __enter__(self) -> Self:
        settings = self._settings(self._directory)
        self.spark = session.start(settings)
        with Store(settings.store_url) as store:
            self._job(settings, store, threading.Event()).warm_up(self.spark)
        return self

    def __exit__(self, *_: object) -> None:
        self.spark.stop()

    def heap(self) -> int:
        """Bytes that the JVM holds after a collection."""
        java = self.spark.sparkContext._jvm.java.lang  # type: ignore[union-attr]  # noqa: SLF001 -- py4j
        java.System.gc()
        runtime = java.Runtime.getRuntime()
        return int(runtime.totalMemory() - runtime.freeMemory())

    def run(self, truth: Totals, topic: str | None = None, *, dlq_topic: str = "") -> Counted:
        """How fast the records of the first name in ``truth`` are counted.

        ``topic`` is read for events in place of the one at hand, ``dlq_topic`` for dead letters.

        Raises:
            BenchmarkError: the totals are not the truth, or not in time.
        """
        settings = self._settings(self._directory / str(next(self._numbers)))
        queues = (re.escape(dlq_topic),) if dlq_topic else settings.dlq_topics
        settings = settings.model_copy(update={"events_topic": topic or self._topic, "dlq_topics": queues})
        started_ms = clock_ms()
        stop, (name, records) = threading.Event(), next(iter(truth.items()))
        watch = _Watch(settings, name, records, stop)
        with Store(settings.store_url) as store:
            watch.start()
            self._job(settings, store, stop).run(self.spark, Random())
            watch.join()
        require({name: watch.totals.get(name, 0) for name in truth}, truth)
        return Counted(
            rate=records / (watch.complete_ms - watch.began_ms) * 1_000,
            whole=records / (watch.complete_ms - started_ms) * 1_000,
        )

    def _settings(self, directory: Path) -> StreamingSettings:
        return StreamingSettings.model_validate(
            {
                "kafka": {"bootstrap_servers": self._servers},
                "events_topic": self._topic,
                "store_url": f"sqlite:///{directory / 'store.db'}",
                "checkpoint": directory / "checkpoint",
            }
        )

    @staticmethod
    def _job(settings: StreamingSettings, store: Store, stop: threading.Event) -> Job:
        heartbeat = Heartbeat(store, NO_HEARTBEAT_MS, clock_ms)
        heartbeat.close()
        return Job(settings, store, heartbeat, stop, clock_ms)


class _Watch(threading.Thread):
    """Reads the store until it has everything, then stops the query."""

    def __init__(self, settings: StreamingSettings, name: str, records: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._file = settings.store_url.removeprefix("sqlite:///")
        self._name, self._records, self._stop_query = name, records, stop
        self.began_ms = self.complete_ms = 0
        self.totals: Totals = {}

    def run(self) -> None:
        deadline_s = time.monotonic() + WITHIN_S
        while not self._complete() and time.monotonic() < deadline_s:
            time.sleep(POLL_S)
        self.complete_ms = clock_ms()
        self._stop_query.set()

    def _complete(self) -> bool:
        with contextlib.closing(sqlite3.connect(self._file, timeout=10)) as connection:
            rows = connection.execute("SELECT committed_at_ms - duration_ms FROM batches").fetchall()
            self.began_ms = self.began_ms or (rows[0][0] if rows else 0)
            self.totals = dict(connection.execute("SELECT name, sum(value) FROM series GROUP BY name"))
        return self.totals.get(self._name, 0) >= self._records
