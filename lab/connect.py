"""One Connect worker 4.3.1 and the two ways in which its connectors fail.

* A file source on a named pipe that nobody writes blocks in ``open()``. Asked to stop, it does not, and the
  worker abandons it after 5 s. Opening the pipe for writing frees every thread that waits there, the live
  task's too.
* A file sink with a JSON converter sends what is not JSON to its dead letter queue.

A worker survives a stalled broker: its session is longer than any stall.
"""

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Final

from lab import jolokia
from lab.connect_worker import worker_properties
from lab.errors import LabError
from lab.http import answers, call
from lab.jvm import CONNECT_LAYOUT, Jvm, write_properties
from lab.ports import Ports
from lab.processes import Process, Processes, read
from lab.waiting import until

FILESINK_TOPIC: Final = "filesink"
FILESINK_DLQ: Final = "dlq.filesink"
_UP_WITHIN_S: Final = 90
_ACT_WITHIN_S: Final = 60
_RESTARTS: Final = 4


class Connect:
    """Start with ``launch``; use it after ``wait``."""

    def __init__(self, java: Path, directory: Path, log: Path, ports: Ports, group: str = "connect") -> None:
        self.url = f"http://127.0.0.1:{ports.connect}"
        self.jolokia_url = f"http://127.0.0.1:{ports.connect_jolokia}/jolokia/"
        self._java, self._directory, self._log, self._ports = java, directory, log, ports
        self._group = group
        self._jvm = Jvm(java, "apps", 256, log, CONNECT_LAYOUT, ports.connect_jolokia)

    def another(self, group: str) -> "Connect":
        """A worker of a cluster of its own on the same broker, to be launched."""
        ports = replace(Ports.choose(), broker=self._ports.broker)
        log = self._log.with_name(f"{group}.log")
        return Connect(self._java, self._directory.with_name(group), log, ports, group)

    def launch(self, processes: Processes) -> None:
        """Start the worker; it waits for the broker by itself."""
        self._directory.mkdir(exist_ok=True)
        config = write_properties(
            self._directory / "worker.properties", worker_properties(self._ports, self._group)
        )
        command = self._jvm.command("org.apache.kafka.connect.cli.ConnectDistributed", config)
        self._process: Process = processes.start("connect", command, self._directory, self._log)

    def wait(self) -> None:
        """Return when it takes requests (until then every path answers 404)."""
        url = f"{self.url}/connectors"
        self._process.until(lambda: answers(url), "its REST server did not start", _UP_WITHIN_S)
        self._process.until(lambda: answers(self.jolokia_url), "its Jolokia agent is silent", _UP_WITHIN_S)

    def abandon_task(self, name: str) -> None:
        """Make the worker give up on the task of connector ``name``, once."""
        pipe = self._directory / name
        if not pipe.exists():
            os.mkfifo(pipe)
            self._deploy(name, pipe_source(pipe))
        abandoned = self.abandonments(name)
        for _ in range(_RESTARTS):  # a task that is not yet in open(), or was freed, stops gracefully
            self._restart(name)
            if self.abandonments(name) > abandoned:
                return
        raise LabError(f"task {name}-0 stopped gracefully {_RESTARTS} times: see {self._log}")

    def release_tasks(self, name: str) -> None:
        """Free every thread that waits for the pipe of connector ``name``; return when one task is left."""
        pipe = os.open(self._directory / name, os.O_WRONLY | os.O_NONBLOCK)
        os.write(pipe, b"released\n")
        os.close(pipe)
        until(lambda: self.task_threads(name) <= 1, f"an orphan of {name}-0 still runs", _ACT_WITHIN_S)

    def end(self, processes: Processes) -> None:
        """End the worker at once."""
        processes.end(self._process)

    def delete(self, name: str) -> None:
        """Remove connector ``name``; its task, which waits for the pipe, is given up on."""
        abandoned = self.abandonments(name)
        call(f"{self.url}/connectors/{name}", method="DELETE")
        done = f"the task of {name} was not given up"
        until(lambda: self.abandonments(name) > abandoned, done, _ACT_WITHIN_S)

    def restart(self, processes: Processes) -> None:
        """Stop the worker as an operator does, and start it again; tasks that do not stop are given up on."""
        self._process.signal(signal.SIGTERM)
        self._process.wait()
        processes.end(self._process)
        self.launch(processes)
        self.wait()

    def abandonments(self, name: str) -> int:
        """How often the worker's log says that it gave up on the task of connector ``name``."""
        return read(self._log).count(f"Graceful stop of task {name}-0 failed.")

    def all_abandonments(self) -> int:
        """How often it says so of any task."""
        return read(self._log).count("Graceful stop of task ")

    def task_threads(self, name: str) -> int:
        """The threads that run the task of connector ``name``: one, and one for each that was abandoned."""
        return jolokia.threads_named(self.jolokia_url, f"task-thread-{name}-0")

    def deploy_file_sink(self, name: str) -> None:
        """Start the sink that fails on what is not JSON; nothing happens when it is there."""
        if name not in call(f"{self.url}/connectors"):
            self._deploy(name, json_sink(self._directory / f"{name}.txt"))

    def _deploy(self, name: str, config: dict[str, str]) -> None:
        call(f"{self.url}/connectors/{name}/config", config, "PUT")
        until(lambda: self._is_running(name), f"connector {name} did not start", _ACT_WITHIN_S)

    def _is_running(self, name: str) -> bool:
        status = f"{self.url}/connectors/{name}/status"
        return answers(status) and [task["state"] for task in call(status)["tasks"]] == ["RUNNING"]

    def _restart(self, name: str) -> None:
        done = f"Task '{name}-0' restart successful"
        before = read(self._log).count(done)
        call(f"{self.url}/connectors/{name}/restart?includeTasks=true", {}, "POST")
        until(lambda: read(self._log).count(done) > before, f"{name} did not restart", _ACT_WITHIN_S)


def pipe_source(pipe: Path) -> dict[str, str]:
    """A connector whose task waits in ``open()``."""
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "file": str(pipe),
        "topic": "piped",
        "tasks.max": "1",
    }


def json_sink(file: Path) -> dict[str, str]:
    """A connector that takes JSON; what is not JSON goes to its dead letter queue with context headers."""
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "file": str(file),
        "topics": FILESINK_TOPIC,
        "tasks.max": "1",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.log.enable": "true",
        "errors.deadletterqueue.topic.name": FILESINK_DLQ,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
