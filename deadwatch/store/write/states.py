"""Tables of states that are followed through events: read, advanced event by event, written where changed.

States cannot be added up: beyond the bound of their table they get no row, and a counter says how many.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, Final, TypeVar

from sqlalchemy import Column, Connection, Table, select

from deadwatch.contract.events.findings import MAX_FINDINGS
from deadwatch.store import schema
from deadwatch.store.statements import Values, count, rows_with, upsert
from deadwatch.store.storable import storable_values

E = TypeVar("E")

MAX_ROWS: Final[Mapping[str, int]] = {
    schema.marks.name: 100_000,
    schema.sources.name: 10_000,
    schema.abandoned.name: 10_000,
    schema.instances.name: 20_000,
    schema.connect_tasks.name: 20_000,
    schema.share_groups.name: 10_000,
    schema.dead_letter_topics.name: 10_000,
    schema.collector_counts.name: 10_000,
    schema.findings.name: MAX_FINDINGS,
    schema.task_timers.name: 10_000,
    schema.redrive_written.name: 100_000,
    schema.share_returns.name: 100_000,
    schema.redrive_handled.name: 1_000_000,
}

States = Mapping[tuple[Any, ...], Values]
"""Rows of a table by their primary keys; a new one needs the other columns alone."""


class RowLimits:
    """The bounds of tables during one batch; ``beyond`` counts the rows that each table has refused."""

    def __init__(self, max_rows: Mapping[str, int]) -> None:
        self._max_rows = max_rows
        self.beyond: dict[str, int] = {}

    def upsert(self, connection: Connection, table: Table, rows: Sequence[Values]) -> None:
        """Insert or replace the rows that fit, one after the other."""
        upsert(connection, table, self.fitting(connection, table, rows))

    def fitting(
        self,
        connection: Connection,
        table: Table,
        rows: Sequence[Values],
        make_room: Callable[[Connection], None] = lambda _: None,
    ) -> list[Values]:
        """The rows that have a row in the table already, and new ones until it is full.

        ``make_room`` is called before any is refused.
        """
        maximum = self._max_rows[table.name]
        if not rows or count(connection, table) + len(rows) <= maximum:
            return list(rows)
        make_room(connection)
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

    def follow(
        self,
        connection: Connection,
        by: Column[str],
        values: Iterable[str],
        events: Iterable[E],
        following: Callable[[States, E], States],
    ) -> None:
        """Apply the events in their order to the rows whose column ``by`` has one of these values."""
        names = by.table.primary_key.columns.keys()
        stored = [row._asdict() for row in rows_with(connection, by, set(values))]
        before: States = {tuple(row[name] for name in names): row for row in stored}
        after = reduce(following, events, before)
        rows = {key: {**row, **dict(zip(names, key, strict=True))} for key, row in after.items()}
        changed = [storable_values(row) for key, row in rows.items() if before.get(key) != row]
        self.upsert(connection, by.table, changed)
