"""A task of a real Connect that REST calls RUNNING although no thread runs it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from collector.sources.connect.workers import ConnectSource
from deadwatch.contract.events import THREADLESS, WorkerSnapshot
from lab import Lab
from lab.connect import json_sink
from lab.jvm import answers, call
from lab.topics import Topics
from tests.integration.collected import connect_settings, worker_source
from tests.waiting import until

SINK = "threadless"


class Task:
    """The state of the sink's only task: as REST says, and as the newest snapshot does."""

    def __init__(self, lab: Lab, source: ConnectSource) -> None:
        self._url, self._source, self.told = f"{lab.connect_url}/connectors/{SINK}", source, ""

    def by_rest(self) -> str:
        status = f"{self._url}/status"
        tasks = call(status)["tasks"] if answers(status) else ()
        return str(tasks[0]["state"]) if tasks else ""

    def by_collector(self) -> str:
        chunk = self._source.poll()
        for event in chunk.events if chunk else ():
            if isinstance(event, WorkerSnapshot):
                states = [one.state for one in event.instances if (one.connector, one.task) == (SINK, "0")]
                self.told = states[0] if states else self.told
        return self.told

    def until(self, state: str) -> None:
        until(lambda: self.by_collector() == state, lambda: self.told)


@pytest.fixture
def task(lab: Lab, tmp_path: Path) -> Iterator[Task]:
    """Of a sink that fails at its first record."""
    topics = Topics(lab.bootstrap_servers)
    topics.create(SINK, partitions=1)
    topics.produce(SINK, [b"no JSON"])
    sink = json_sink(tmp_path / "out") | {"topics": SINK, "errors.tolerance": "none"}
    call(f"{lab.connect_url}/connectors/{SINK}/config", sink, "PUT")
    with closing(worker_source(connect_settings(lab))) as source:
        yield Task(lab, source)
    call(f"{lab.connect_url}/connectors/{SINK}", method="DELETE")


def test_a_task_without_a_thread_is_told_until_it_runs_again(lab: Lab, task: Task, tmp_path: Path) -> None:
    until(lambda: task.by_rest() == "FAILED", task.by_rest)
    task.until("FAILED")
    lab.connect.lose_thread(SINK)
    task.until(THREADLESS)
    assert task.by_rest() == "RUNNING"
    tolerant = json_sink(tmp_path / "out") | {"topics": SINK}
    call(f"{lab.connect_url}/connectors/{SINK}/config", tolerant, "PUT")
    task.until("RUNNING")
