"""``python -m collector`` as a process of its own, and what it has published; each has a topic of its own."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.kafka_topics import messages

ENDS_WITHIN_S = 20
Event = dict[str, Any]


class Collector:
    """``settings`` are the collector's own, ``shared`` those beside them in the file."""

    def __init__(
        self, servers: str, directory: Path, topic: str, settings: Mapping[str, object], **shared: object
    ) -> None:
        self.topic, self.log = topic, directory / f"{topic}.stderr"
        self._servers, self._data = servers, directory / f"{topic}.data"
        self._config = directory / f"{topic}.yaml"
        own = {"name": topic, "data": str(self._data), "dlq_topics_poll_interval_ms": 0, **settings}
        kafka = {"bootstrap_servers": servers}
        self._config.write_text(
            yaml.safe_dump({"kafka": kafka, "events_topic": topic, **shared, "collector": own})
        )

    @contextmanager
    def running(self) -> Iterator["subprocess.Popen[bytes]"]:
        """The process; at the end it is asked to stop, and killed if it does not."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "collector", "--config", str(self._config)], stderr=log
            )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(ENDS_WITHIN_S)
            finally:
                process.kill()
                process.wait()

    def events(self) -> list[Event]:
        """Everything committed, in the order of each partition."""
        return events(self._servers, self.topic)

    def of_kind(self, *kinds: str) -> list[Event]:
        """The events of some kinds, each position of a source once."""
        return [event for event in counted_once(self.events()) if event["kind"] in kinds]

    def abandoned(self) -> list[int]:
        """The numbers of the tasks that its logs tell of, each position of a source once, in their order."""
        return [int(event["task"]) for event in self.of_kind("task_abandoned")]

    def saved(self, source: str) -> dict[str, Any]:
        """The last position of a source; empty before the first."""
        with closing(sqlite3.connect(self._data / "positions" / f"{self.topic}.sqlite")) as connection:
            rows = connection.execute("SELECT state FROM positions WHERE source = ?", (source,)).fetchall()
        found: dict[str, Any] = json.loads(rows[0][0]) if rows else {}
        return found


def events(bootstrap_servers: str, topic: str) -> list[Event]:
    """Everything committed, in the order of each partition."""
    return [_event(message.key(), message.value()) for message in messages(bootstrap_servers, topic)]


def counted_once(every: Iterable[Event]) -> Iterator[Event]:
    """What is left when a reader drops all that is at or below what it has seen of a source."""
    highest: dict[str, list[int]] = {}
    for event in every:
        if event["position"] > highest.get(event["source"], []):
            highest[event["source"]] = event["position"]
            yield event


def _event(key: bytes | None, value: bytes | None) -> Event:
    event: Event = json.loads(value or b"")
    assert key == event["source"].encode()
    return event
