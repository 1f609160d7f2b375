"""The timers of Streams tasks that run now, and how many each application has.

A thread that named no task counts as one, unless a timer of a task that it named runs: that is the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, select

from streaming.store import schema
from streaming.store.task_timers import SILENT_MS


@dataclass(frozen=True, slots=True)
class TimerRow:
    """A row of the store; ``task`` is empty for a thread of which no more is known."""

    kafka_cluster: str
    streams_client: str
    task: str
    thread: str
    application: str
    said_by: str
    call: str
    since_ms: int
    heard_ms: int
    deadline_ms: int
    running: bool
    message: str

    def runs(self, now_ms: int) -> bool:
        """Whether it was neither ended nor left untold for so long that it must have been cleared."""
        return self.running and now_ms - self.heard_ms <= SILENT_MS


def timer_rows(connection: Connection) -> list[TimerRow]:
    """Every timer that is remembered."""
    return [TimerRow(**row) for row in connection.execute(select(schema.task_timers)).mappings()]


def running(rows: Iterable[TimerRow], now_ms: int) -> list[TimerRow]:
    """Those that run, the oldest first."""
    run = [row for row in rows if row.runs(now_ms)]
    named = {(row.kafka_cluster, row.said_by) for row in run if row.task}
    shown = [row for row in run if row.task or (row.kafka_cluster, row.said_by) not in named]
    return sorted(shown, key=lambda row: (row.since_ms, row.streams_client, row.task))


def counts(rows: Iterable[TimerRow], now_ms: int) -> dict[tuple[str, str], int]:
    """How many run, by cluster and application; 0 for an application whose timers have all ended."""
    known = list(rows)
    numbers = dict.fromkeys(sorted((row.kafka_cluster, row.application) for row in known), 0)
    for row in running(known, now_ms):
        numbers[row.kafka_cluster, row.application] += 1
    return numbers
