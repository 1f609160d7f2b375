"""How many rows the tables of states hold. What is beyond gets no row, and a counter says so.

A state cannot be added up as ``other``: the totals that can are in ``counters`` and ``letters``.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, Table, func, select

from collector.contract.findings import MAX_FINDINGS
from streaming.store.engine import Values
from streaming.store.schema import (
    abandoned,
    collector_counts,
    connect_tasks,
    dead_letter_topics,
    findings,
    instances,
    marks,
    redrive_handled,
    redrive_written,
    share_groups,
    share_returns,
    sources,
    task_timers,
)

MAX_ROWS: Final[Mapping[str, int]] = {
    marks.name: 100_000,
    sources.name: 10_000,
    abandoned.name: 10_000,
    instances.name: 20_000,
    connect_tasks.name: 20_000,
    share_groups.name: 10_000,
    dead_letter_topics.name: 10_000,
    collector_counts.name: 10_000,
    findings.name: MAX_FINDINGS,
    task_timers.name: 10_000,
    redrive_written.name: 100_000,
    share_returns.name: 100_000,
    redrive_handled.name: 1_000_000,
}


class Caps:
    """The bounds during one batch; ``beyond`` is how many rows each table has refused."""

    def __init__(self, max_rows: Mapping[str, int] = MAX_ROWS) -> None:
        self._max_rows = max_rows
        self.beyond: dict[str, int] = {}

    def fitting(self, connection: Connection, table: Table, rows: Sequence[Values]) -> list[Values]:
        """The rows that the table has already, and new ones until it is full."""
        maximum = self._max_rows[table.name]
        stored = connection.scalar(select(func.count()).select_from(table)) if rows else 0
        if (stored or 0) + len(rows) <= maximum:
            return list(rows)
        names = [column.name for column in table.primary_key.columns]
        held = {tuple(row) for row in connection.execute(select(*table.primary_key.columns))}
        kept = []
        for row in rows:
            key = tuple(row[name] for name in names)
            if key in held or len(held) < maximum:
                held.add(key)
                kept.append(row)
        refused = len(rows) - len(kept)
        if refused:
            self.beyond[table.name] = self.beyond.get(table.name, 0) + refused
        return kept
