"""The Streams WordCountDemo 4.3.1 with short deadlines, and what flows into it while the broker stalls.

When a task has timed out, Streams shuts its client down. The process is then replaced, so the next stall
finds a running application; both write to the same log.
"""

import threading
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException, Producer

from lab.jvm import Jvm, Properties, write_properties
from lab.processes import Process, Processes, read

INPUT: Final = "streams-plaintext-input"
OUTPUT: Final = "streams-wordcount-output"
_RUNNING: Final = "State transition from REBALANCING to RUNNING"
_DEAD: Final = "State transition from PENDING_ERROR to ERROR"
_UP_WITHIN_S: Final = 90
_DEAD_WITHIN_S: Final = 60
_FEED_EVERY_S: Final = 0.02


class Streams:
    """Start with ``launch`` when the topics exist; use it after ``wait``."""

    def __init__(self, java: Path, directory: Path, log: Path, bootstrap_servers: str) -> None:
        self._directory, self._log = directory, log
        self._bootstrap_servers = bootstrap_servers
        self._jvm = Jvm(java, "apps", 256, log)
        self._started = 0
        self._died = 0

    def launch(self, processes: Processes) -> None:
        """Start the application."""
        self._directory.mkdir(exist_ok=True)
        settings = streams_properties(self._bootstrap_servers, self._directory / "state")
        config = write_properties(self._directory / "streams.properties", settings)
        command = self._jvm.command("org.apache.kafka.streams.examples.wordcount.WordCountDemo", config)
        self._started = read(self._log).count(_RUNNING)
        self._process: Process = processes.start("streams", command, self._directory, self._log)

    def wait(self) -> None:
        """Return when its tasks run."""
        self._process.until(
            lambda: read(self._log).count(_RUNNING) > self._started, "its tasks did not start", _UP_WITHIN_S
        )

    def outlive(self, processes: Processes) -> None:
        """Wait until the client has given up, which ends what it has to say, and start another one."""
        self._process.until(
            lambda: read(self._log).count(_DEAD) > self._died, "no task has timed out", _DEAD_WITHIN_S
        )
        self._died += 1
        processes.end(self._process)
        self.launch(processes)


class Feeder:
    """Sends words to the application while the context is open; a stalled broker gets them later or never."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0, "log_level": 0})
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._feed, name="lab-feeder", daemon=True)

    def __enter__(self) -> None:
        """Begin."""
        self._thread.start()

    def __exit__(self, *exception: object) -> None:
        """Stop and forget what is not sent."""
        self._ended.set()
        self._thread.join()
        self._producer.purge()
        self._producer.poll(0)

    def _feed(self) -> None:
        number = 0
        while not self._ended.wait(_FEED_EVERY_S):
            number += 1
            try:
                self._producer.produce(INPUT, f"word{number % 7} hello{number % 3}".encode())
                self._producer.poll(0)
            except (BufferError, KafkaException):
                continue


def streams_properties(bootstrap_servers: str, state: Path) -> Properties:
    """The application's settings; with this linger a batch is open when the broker stalls, and expires."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "application.id": "wordcount",
        "state.dir": state,
        "task.timeout.ms": 3_000,
        "commit.interval.ms": 500,
        "request.timeout.ms": 1_500,
        "default.api.timeout.ms": 2_000,
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 2_000,
        "producer.linger.ms": 100,
        "producer.request.timeout.ms": 1_000,
        "producer.delivery.timeout.ms": 3_000,
        "producer.max.block.ms": 2_000,
    }
