"""A real sink that stops in the middle of its records, and tasks that only look like it."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from collector.settings import ConnectSettings
from collector.sources.connect.stalled import Clue
from deadwatch.contract.events import ConnectTask, ConnectTasksSnapshot
from deadwatch.runtime.clock import clock_ms
from lab import Lab
from lab.connect import FLUSH_INTERVAL_MS
from lab.jvm import call
from lab.topics import Topics
from tests.integration.collected import REQUEST_MS, snapshot, tasks_source
from tests.integration.test_redrive_service import deploy
from tests.kafka_topics import producing
from tests.waiting import until

SINK = TOPIC = "stalling"
STALLED_AFTER_MS = 2_000
IDLE_FOR_MS = 3 * (STALLED_AFTER_MS + FLUSH_INTERVAL_MS)
WITHIN_S = 60
PIPE_BYTES = 65_536


class Tasks:
    """What a source tells of the lab's tasks, poll by poll."""

    def __init__(self, lab: Lab, *, agent: bool) -> None:
        settings = ConnectSettings(
            url=lab.connect_url,
            jolokia_url=lab.connect_jolokia_url if agent else "",
            request_timeout_ms=REQUEST_MS,
            stalled_after_ms=STALLED_AFTER_MS,
            offset_flush_interval_ms=FLUSH_INTERVAL_MS,
        )
        self._source = tasks_source(lab, settings)

    def close(self) -> None:
        self._source.close()

    def all(self) -> dict[str, ConnectTask]:
        """The only task of each connector."""
        tasks = snapshot(self._source, ConnectTasksSnapshot).connect_tasks
        return {task.connector: task for task in tasks}

    def until(self, condition: Callable[[ConnectTask], object]) -> ConnectTask:
        seen: list[ConnectTask] = []

        def holds() -> object:
            seen[:] = [task for name, task in self.all().items() if name == SINK]
            return seen and condition(seen[0])

        until(holds, lambda: seen, WITHIN_S)
        return seen[0]

    def none_is_stalled(self) -> None:
        assert {
            name: task.stalled_because for name, task in self.all().items() if task.stalled_since_ms
        } == {}


class Reader:
    """Takes what the sink writes into a pipe, unless it is told to rest."""

    def __init__(self, pipe: Path) -> None:
        os.mkfifo(pipe)
        self._descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.taken = 0
        """Bytes."""
        self._reads, self._over = threading.Event(), threading.Event()
        self._reads.set()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def rest(self) -> None:
        self._reads.clear()

    def go_on(self) -> None:
        self._reads.set()

    def close(self) -> None:
        self._over.set()
        self._reads.set()
        self._thread.join()
        os.close(self._descriptor)

    def _run(self) -> None:
        while not self._over.wait(0.01):
            self._reads.wait()
            with suppress(BlockingIOError):
                self.taken += len(os.read(self._descriptor, PIPE_BYTES))


@contextmanager
def piped(lab: Lab, pipe: Path, name: str) -> Iterator[Reader]:
    """A sink of the topic of its name that writes into a pipe, and whoever reads there."""
    Topics(lab.bootstrap_servers).create(name, partitions=1)
    reader, sink = Reader(pipe), f"{lab.connect_url}/connectors/{name}"
    to_file = "org.apache.kafka.connect.file.FileStreamSinkConnector"
    try:
        deploy(sink, {"connector.class": to_file, "file": str(pipe), "topics": name, "tasks.max": "1"})
        yield reader
    finally:
        reader.go_on()
        call(sink, method="DELETE")
        reader.close()


@pytest.fixture
def reader(lab: Lab, tmp_path: Path) -> Iterator[Reader]:
    with piped(lab, tmp_path / "pipe", TOPIC) as found:
        yield found


def produce(lab: Lab, records: int, size: int = 1, *, transaction: bool = False) -> None:
    """Write records; the marker of a transaction takes an offset that is never committed."""
    with producing(lab.bootstrap_servers, **({"transactional_id": TOPIC} if transaction else {})) as producer:
        if transaction:
            producer.init_transactions()
            producer.begin_transaction()
        for _ in range(records):
            producer.produce(TOPIC, b"x" * size)
        if transaction:
            producer.commit_transaction()


def test_a_sink_is_stalled_from_when_it_stops_until_it_goes_on(lab: Lab, reader: Reader) -> None:
    lab.abandon_task()  # its live task blocks in poll(): a source that waits for its file
    with closing(Tasks(lab, agent=True)) as tasks, closing(Tasks(lab, agent=False)) as by_offsets:
        produce(lab, 3, transaction=True)
        tasks.until(lambda task: task.records == 3)
        end_ms = clock_ms() + IDLE_FOR_MS
        while clock_ms() < end_ms:
            tasks.none_is_stalled()
            by_offsets.none_is_stalled()
            time.sleep(0.2)
        assert tasks.all()["pipe"].judged
        assert not by_offsets.all()["pipe"].judged

        reader.rest()
        before_ms = clock_ms()
        produce(lab, 2_000, 1_000)
        stalled = tasks.until(lambda task: task.stalled_since_ms)
        assert (stalled.state, stalled.stalled_because) == ("RUNNING", Clue.UNREAD)
        assert before_ms <= stalled.stalled_since_ms <= clock_ms() - STALLED_AFTER_MS
        stalled = by_offsets.until(lambda task: task.stalled_since_ms)
        assert stalled.stalled_because == Clue.UNCOMMITTED

        reader.go_on()
        tasks.until(lambda task: task.records == 2_003 and not task.stalled_since_ms)
        by_offsets.until(lambda task: not task.stalled_since_ms)
        until(lambda: reader.taken == 3 * 2 + 2_000 * 1_001, lambda: f"{reader.taken} bytes came through")

        reader.rest()
        produce(lab, 100, 1_000)  # a batch that the sink takes whole, and more than the pipe holds
        stalled = tasks.until(lambda task: task.stalled_since_ms)
        assert stalled.stalled_because == Clue.UNFINISHED
        reader.go_on()
        tasks.until(lambda task: not task.stalled_since_ms)
    lab.release_task()
