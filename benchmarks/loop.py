"""The state of a loop that counts events into SQLite, for whoever reads them; standard library only.

It does what streaming does and no more: an event at or below its source's position is a copy, counters grow
by labels with their first and last time, and a chunk's counts, positions and offsets are one transaction.
"""

import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

COMMIT_EVERY: Final = 100_000
DELIVERY: Final = ("kafka_cluster", "topic", "client_id", "client")
SERIES: Final = {
    "task_timeout": (("task_timeouts", ("kafka_cluster", "application", "task")),),
    "delivery_timeout": (("delivery_timeout_batches", DELIVERY), ("delivery_timeout_records", DELIVERY)),
    "client_timeout": (("client_timeouts", ("kafka_cluster", "client_id", "timeout")),),
}
TABLES: Final = """
CREATE TABLE series(name, labels, value, first_ms, last_ms, PRIMARY KEY (name, labels));
CREATE TABLE marks(source PRIMARY KEY, epoch, offset, ordinal);
CREATE TABLE offsets(partition PRIMARY KEY, next_offset);
"""
ADD: Final = """
INSERT INTO series VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value,
first_ms = min(first_ms, excluded.first_ms), last_ms = max(last_ms, excluded.last_ms)
"""

Records = Sequence[tuple[Any, Any, Any]]
"""(partition, offset, value), none of them ever None."""


def opened(file: Path) -> sqlite3.Connection:
    """A store that is new."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(TABLES)
    return connection


def closed(connection: sqlite3.Connection) -> dict[str, int]:
    """The totals of a store by name, as committed."""
    rows = connection.execute("SELECT name, sum(value) FROM series GROUP BY name").fetchall()
    connection.close()
    return dict(rows)


class Loop:
    """The state of the loop: what the chunk under way adds, and how far every source and partition is."""

    def __init__(self, file: Path, parse: Callable[[bytes], Any]) -> None:
        self._parse = parse
        self._connection = opened(file)
        self._totals: dict[tuple[str, ...], list[int]] = {}
        self._marks: dict[str, list[int]] = {}
        self._offsets: dict[int, int] = {}

    def add(self, records: Records) -> None:
        """Count the records."""
        parse, marks, offsets, add = self._parse, self._marks, self._offsets, self._grow
        for partition, offset, value in records:
            offsets[partition] = offset + 1
            event = parse(value)
            source, position = event["source"], event["position"]
            if source in marks and position <= marks[source]:
                continue
            marks[source] = position
            kind, happened_ms = event["kind"], event["happened_at_ms"]
            add(("events", source, kind), 1, happened_ms)
            for name, labels in SERIES[kind]:
                grows = event["records"] if name == "delivery_timeout_records" else 1
                add((name, *(event[label] for label in labels)), grows, happened_ms)

    def _grow(self, key: tuple[str, ...], value: int, happened_ms: int) -> None:
        total = self._totals.get(key)
        if total is None:
            self._totals[key] = [value, happened_ms, happened_ms]
        else:
            total[0] += value
            if happened_ms < total[1]:
                total[1] = happened_ms
            elif happened_ms > total[2]:
                total[2] = happened_ms

    def commit(self) -> None:
        """One transaction for everything since the last."""
        execute = self._connection.executemany
        self._connection.execute("BEGIN")
        execute(ADD, [(name, json.dumps(labels), *total) for (name, *labels), total in self._totals.items()])
        execute(
            "INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?)",
            [(key, *at) for key, at in self._marks.items()],
        )
        execute("INSERT OR REPLACE INTO offsets VALUES (?, ?)", list(self._offsets.items()))
        self._connection.execute("COMMIT")
        self._totals.clear()

    def close(self) -> dict[str, int]:
        return closed(self._connection)
