"""The service as it runs: its processes, each in the directory of its log."""

import contextlib
import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Self

import httpx2
import psutil

from benchmarks.row import BenchmarkError
from lab.ports import free_port

WITHIN_S: Final = 240.0
EVENTS_TOTAL: Final = "deadwatch_events_total{"
DEAD_LETTERS: Final = "SELECT sum(value) FROM series WHERE name = 'dead_letters'"
ROOT: Final = str(Path(__file__).parents[1])


def start(log: Path, environment: Mapping[str, str], *command: str) -> "subprocess.Popen[bytes]":
    """A module of the house with its arguments, as a process."""
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            env={**environment, "PYTHONPATH": ROOT},
            cwd=log.parent,
            stdout=output,
            stderr=output,
        )


@contextlib.contextmanager
def up(
    said: str, log: Path, environment: Mapping[str, str], *command: str
) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """A process that has said that it is up, and the group of what it ``said``, a regular expression.

    Raises:
        BenchmarkError: it did not say so in time.
    """
    process = start(log, environment, *command)
    try:
        deadline_s = time.monotonic() + WITHIN_S
        while not (found := re.search(said, log.read_text())):
            if process.poll() is not None or time.monotonic() > deadline_s:
                raise BenchmarkError(f"{' '.join(command)} did not come up: {log.read_text()[-2_000:]}")
            time.sleep(0.2)
        yield process, found[1]
    finally:
        process.terminate()
        process.wait()


class Service:
    """``python -m streaming`` and ``python -m api`` on one store, from entering to leaving."""

    def __init__(self, servers: str, topic: str, directory: Path) -> None:
        self._directory = directory
        self.store = directory / "store.db"
        self._reading: sqlite3.Connection | None = None
        self._events, self._events_at = dict[str, int](), -1
        self._dead_letters, self._dead_letters_at = 0, -1
        port = free_port()
        self._url = f"http://127.0.0.1:{port}/metrics"
        store_url = f"sqlite:///{self.store}"
        self._environment = {
            **os.environ,
            "STREAMING_KAFKA__BOOTSTRAP_SERVERS": servers,
            "STREAMING_EVENTS_TOPIC": topic,
            "STREAMING_STORE_URL": store_url,
            "STREAMING_CHECKPOINT": str(directory / "checkpoint"),
            "API_KAFKA__BOOTSTRAP_SERVERS": servers,
            "API_STORE_URL": store_url,
            "API_PORT": str(port),
        }

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self._processes = [
                stack.enter_context(start(self._directory / f"{stage}.log", self._environment, stage))
                for stage in ("streaming", "api")
            ]
            self._client = stack.enter_context(httpx2.Client(timeout=WITHIN_S))
            self._closing = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        running = [psutil.Process(process.pid) for process in self._processes if process.poll() is None]
        processes = [*running, *(child for process in running for child in process.children(recursive=True))]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, WITHIN_S)
        self._closing.close()

    def events(self) -> dict[str, int]:
        """What ``/metrics`` says of the events of every source; nothing while the service starts.

        It is asked only where a transaction was committed since it was last: a hundred times a second would
        cost the service a fifth of a core, which no peer is asked to bear.
        """
        if (version := self._committed()) != self._events_at:
            try:
                lines = self._client.get(self._url).text.splitlines()
            except httpx2.TransportError:
                return {}
            self._events, self._events_at = {}, version
            for line in lines:
                if line.startswith(EVENTS_TOTAL):
                    source = line.split('source="', 1)[1].split('"', 1)[0]
                    value = int(float(line.rsplit(" ", 1)[1]))
                    self._events[source] = self._events.get(source, 0) + value
        return self._events

    def dead_letters(self) -> int:
        """How many the store has counted; they are added up only where a transaction was committed since."""
        if (version := self._committed()) != self._dead_letters_at:
            with contextlib.suppress(sqlite3.OperationalError):  # its tables are not there yet
                counted = self._opened().execute(DEAD_LETTERS).fetchone()[0]
                self._dead_letters, self._dead_letters_at = int(counted or 0), version
        return self._dead_letters

    def _committed(self) -> int:
        """A number that each transaction of the store changes; -1 while there is no store."""
        with contextlib.suppress(sqlite3.OperationalError):
            return int(self._opened().execute("PRAGMA data_version").fetchone()[0])
        return -1

    def _opened(self) -> sqlite3.Connection:
        """One connection to the store, kept: it is what its versions are counted by."""
        if self._reading is None:
            store = f"{self.store.as_uri()}?mode=rw"
            connection = sqlite3.connect(store, uri=True, timeout=30, check_same_thread=False)
            self._reading = self._closing.enter_context(contextlib.closing(connection))
        return self._reading

    def memory(self) -> int:
        """Resident bytes of streaming, its JVM included."""
        driver = psutil.Process(self._processes[0].pid)
        return sum(map(_resident, (driver, *driver.children(recursive=True))))

    def wait_for_dead_letters(self, count: int, within_s: float) -> None:
        """Return when the store has counted so many.

        Raises:
            BenchmarkError: not within the time.
        """
        deadline_s = time.monotonic() + within_s
        while (counted := self.dead_letters()) < count:
            if time.monotonic() > deadline_s:
                log = (self._directory / "streaming.log").read_text(errors="replace")
                raise BenchmarkError(f"{counted} dead letters of {count} were counted: {log[-2_000:]}")
            time.sleep(0.05)


def _resident(process: psutil.Process) -> int:
    """Bytes; none of a child that has ended since it was seen."""
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
