"""One Connect worker 4.3.1 and the two ways in which its connectors fail.

* A file source on a named pipe that nobody writes blocks in ``open()``. Asked to stop, it does not, and the
  worker abandons it after 5 s. Opening the pipe for writing frees every thread that waits there, the live
  task's too.
* A file sink with a JSON converter sends what is not JSON to its dead letter queue.

A worker survives a stalled broker: its session is longer than any stall. After one, the controller may have
fenced the broker; a worker that finds no coordinator for ``heartbeat.interval.ms`` then stops all its tasks,
and would abandon the one that waits.
"""

import json
import os
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from lab.broker import Ports
from lab.jvm import CONNECT_LAYOUT, Jvm, Properties, answers, call, write_properties
from lab.processes import LabError, Process, Processes, read, until

FILESINK_TOPIC: Final = "filesink"
FILESINK_DLQ: Final = "dlq.filesink"
FLUSH_INTERVAL_MS: Final = 1_000
"""The worker's ``offset.flush.interval.ms``: how often its sinks commit."""
_UP_WITHIN_S: Final = 90
_ACT_WITHIN_S: Final = 60
_STOPS_WITHIN_S: Final = 30
_RESTARTS: Final = 4
_THREADS: Final = {
    "type": "exec",
    "mbean": "java.lang:type=Threading",
    "operation": "dumpAllThreads(boolean,boolean,int)",
    "arguments": [False, False, 0],
}


class Connect:
    """The worker; start it with ``launch`` and use it after ``wait``."""

    def __init__(self, java: Path, directory: Path, log: Path, ports: Ports, group: str = "connect") -> None:
        self.url = f"http://127.0.0.1:{ports.connect}"
        self.jolokia_url = f"http://127.0.0.1:{ports.connect_jolokia}/jolokia/"
        self._java, self._directory, self._log, self._ports, self._group = java, directory, log, ports, group
        self._jvm = Jvm(java, "apps", 256, log, CONNECT_LAYOUT, ports.connect_jolokia)

    def another(self, group: str) -> "Connect":
        """A worker of a cluster of its own on the same broker, to be launched."""
        ports = replace(Ports.choose(), broker=self._ports.broker)
        log = self._log.with_name(f"{group}.log")
        return Connect(self._java, self._directory.with_name(group), log, ports, group)

    def launch(self, processes: Processes) -> None:
        """Start the worker; it waits for the broker by itself."""
        self._directory.mkdir(exist_ok=True)
        properties = worker_properties(self._ports, self._group)
        config = write_properties(self._directory / "worker.properties", properties)
        command = self._jvm.command("org.apache.kafka.connect.cli.ConnectDistributed", config)
        self._process: Process = processes.start("connect", command, self._directory, self._log)

    def wait(self) -> None:
        """Return when the worker takes requests (until then every path answers 404)."""
        url = f"{self.url}/connectors"
        self._process.until(lambda: answers(url), "its REST server did not start", _UP_WITHIN_S)
        self._process.until(lambda: answers(self.jolokia_url), "its Jolokia agent is silent", _UP_WITHIN_S)

    def abandon_task(self, name: str) -> None:
        """Make the worker abandon the task of connector ``name`` once more."""
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
        """Remove connector ``name``; its task, which waits for the pipe, is abandoned."""
        abandoned = self.abandonments(name)
        call(f"{self.url}/connectors/{name}", method="DELETE")
        done = f"the task of {name} was not abandoned"
        until(lambda: self.abandonments(name) > abandoned, done, _ACT_WITHIN_S)

    def restart(self, processes: Processes) -> None:
        """Stop the worker as an operator does, and start it again; tasks that do not stop are abandoned.

        It is killed where it does not end, as an operator would: its shutdown hook and Jetty's may wait for
        each other for ever (seen once, after "Stopping REST server").
        """
        self._process.popen.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.popen.wait(_STOPS_WITHIN_S)
        processes.end(self._process)
        self.launch(processes)
        self.wait()

    def abandonments(self, name: str) -> int:
        """How often the worker has abandoned the task of connector ``name``, by its log."""
        return read(self._log).count(f"Graceful stop of task {name}-0 failed.")

    def task_threads(self, name: str) -> int:
        """How many threads run the task of connector ``name``: one, and one for each that was abandoned."""
        threads = call(self.jolokia_url, _THREADS)["value"]
        return sum(thread["threadName"] == f"task-thread-{name}-0" for thread in threads)

    def lose_thread(self, name: str) -> None:
        """Let REST call the FAILED task of connector ``name`` RUNNING: no thread runs it.

        A status record says so, as one does that a worker wrote before its thread was lost.
        """
        status = f"{self.url}/connectors/{name}/status"
        task = call(status)["tasks"][0]
        if task["state"] != "FAILED":
            raise LabError(f"task {name}-0 is {task['state']}: only one that has FAILED has no thread")
        record = {"state": "RUNNING", "worker_id": task["worker_id"], "generation": 1}
        producer = Producer({"bootstrap.servers": f"127.0.0.1:{self._ports.broker}", "log_level": 0})
        producer.produce(f"{self._group}-status", json.dumps(record).encode(), f"status-task-{name}-0")
        producer.flush(_ACT_WITHIN_S)
        until(lambda: self._is_running(name), f"REST does not call {name}-0 RUNNING", _ACT_WITHIN_S)

    def deploy_file_sink(self, name: str) -> None:
        """Start the sink that fails on what is not JSON, unless it is there."""
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


def worker_properties(ports: Ports, group: str) -> Properties:
    """The settings of a worker of the cluster ``group``, which names its topics too."""
    return {
        "bootstrap.servers": f"127.0.0.1:{ports.broker}",
        "group.id": group,
        "listeners": f"http://127.0.0.1:{ports.connect}",
        "plugin.discovery": "service_load",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        **{f"{topic}.storage.topic": f"{group}-{topic}" for topic in ("config", "offset", "status")},
        **{f"{topic}.storage.replication.factor": 1 for topic in ("config", "offset", "status")},
        "offset.flush.interval.ms": FLUSH_INTERVAL_MS,
        "offset.storage.partitions": 1,
        "status.storage.partitions": 1,
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "session.timeout.ms": 60_000,
        "heartbeat.interval.ms": 20_000,
        "rebalance.timeout.ms": 90_000,
    }


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
