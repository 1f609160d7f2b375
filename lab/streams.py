"""The Streams WordCountDemo 4.3.1 with short deadlines, and what flows into it while the broker stalls.

When a task has timed out, Streams shuts its client down. The process is then replaced, so the next stall
finds a running application; both write to the same log.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException, Producer

from lab.jvm import Jvm, Properties, write_properties
from lab.processes import LabError, Process, Processes, read

INPUT: Final = "streams-plaintext-input"
OUTPUT: Final = "streams-wordcount-output"
_RUNNING: Final = "State transition from REBALANCING to RUNNING"
_DEAD: Final = "State transition from PENDING_ERROR to ERROR"
_UP_WITHIN_S: Final = 90
_DEAD_WITHIN_S: Final = 60
_STARTS: Final = 3
_FEED_EVERY_S: Final = 0.02


class Streams:
    """The application; start it with ``launch`` when its topics exist and use it after ``wait``."""

    def __init__(self, java: Path, directory: Path, log: Path, bootstrap_servers: str) -> None:
        self._directory, self._log = directory, log
        self._bootstrap_servers = bootstrap_servers
        self._jvm = Jvm(java, "apps", 256, log)

    def launch(self, processes: Processes) -> None:
        """Start the application; its topics have to exist."""
        self._directory.mkdir(exist_ok=True)
        settings = streams_properties(self._bootstrap_servers, self._directory / "state")
        config = write_properties(self._directory / "streams.properties", settings)
        command = self._jvm.command("org.apache.kafka.streams.examples.wordcount.WordCountDemo", config)
        self._launched_at = len(read(self._log))
        self._process: Process = processes.start("streams", command, self._directory, self._log)

    def wait(self, processes: Processes) -> None:
        """Return when its tasks run; an application whose tasks time out before that is replaced."""
        for _ in range(_STARTS):
            self._wait_for((_RUNNING, _DEAD), "its tasks did not start", _UP_WITHIN_S)
            if self._has_logged(_RUNNING):
                return
            self._replace(processes)
        raise LabError(f"streams: its tasks timed out at {_STARTS} starts: see {self._log}")

    def restart_when_dead(self, processes: Processes) -> None:
        """Wait until the client has shut down, after which it logs nothing more, and start another one."""
        self._wait_for((_DEAD,), "no task has timed out", _DEAD_WITHIN_S)
        self._replace(processes)

    def _replace(self, processes: Processes) -> None:
        processes.end(self._process)
        self.launch(processes)

    def _wait_for(self, texts: Iterable[str], what: str, within_s: float) -> None:
        """Return when the application that was launched last has logged one of ``texts``."""
        self._process.until(lambda: any(map(self._has_logged, texts)), what, within_s)

    def _has_logged(self, text: str) -> bool:
        return text in read(self._log)[self._launched_at :]


@contextmanager
def feeding(bootstrap_servers: str) -> Iterator[None]:
    """A context in which words are sent to the application; a stalled broker gets them later or never."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0, "log_level": 0})
    ended = threading.Event()

    def feed() -> None:
        number = 0
        while not ended.wait(_FEED_EVERY_S):
            number += 1
            with suppress(BufferError, KafkaException):
                producer.produce(INPUT, f"word{number % 7} hello{number % 3}".encode())
                producer.poll(0)

    thread = threading.Thread(target=feed, name="lab-feeder", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        producer.purge()  # what has not been sent is dropped
        producer.poll(0)


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
