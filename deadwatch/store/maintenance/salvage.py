"""Copying what Kafka does not have from a damaged file into a new one of the same version.

Rows are read by their rowids, and those that cannot be read are skipped: a damaged page loses its own rows
and, if it is an inner page, those below it. SQL names the columns of the file, since both files may be of an
older version than this program.
"""

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, inspect, update
from sqlalchemy.exc import IntegrityError

from deadwatch.store.maintenance.file import uri
from deadwatch.store.schema import group_notes, groups
from deadwatch.store.write.replacement import KEPT

FIRST: Final = 0
"""Below the first rowid: SQLite counts from 1 unless told otherwise."""
LAST: Final = (1 << 63) - 1
KINDS: Final[Mapping[str, type]] = {"TEXT": str, "BLOB": bytes}
"""Python types of values by the type of their column; all others are numbers."""

UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError)
"""What reading raises, as of ``store.trouble``, without SQLAlchemy."""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Salvaged:
    """How many rows of a table were salvaged, and whether these are all."""

    table: str
    rows: int
    whole: bool

    def __str__(self) -> str:
        return f"{self.table} {self.rows}" + ("" if self.whole else " (not all of it can be read)")


def take(damaged: Path, new: Engine, *, counted: bool) -> list[Salvaged]:
    """Replace the rows of the new store by every row that can be read; ``counted``: the new store has counts.

    A table of which not all can be read keeps its other rows. A store of an older version lacks some tables.
    """
    with _opened(damaged) as source, new.begin() as target:
        _take_groups(source, target)
        tables = inspect(target).get_table_names()
        taken = [_taken(source, target, table.name) for table in KEPT if table.name in tables]
        if not counted:  # a group has fewer records than when it was archived: it must not stay hidden
            target.execute(update(group_notes).values(archived_records=0))
    return taken


class Table:
    """The rows of one table; after the last one ``whole`` says whether all could be read."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection, self._name = connection, name
        self.whole = True

    def columns(self, new: Connection) -> Mapping[str, str]:
        """Names and types of the columns; empty unless their names are those of the new store."""
        found: dict[str, str] = {}
        with suppress(*UNREADABLE):
            rows = self._connection.execute(f"PRAGMA table_info({self._name})")
            found = {name: kind for _, name, kind, *_ in rows}
        known = {name for _, name, *_ in new.exec_driver_sql(f"PRAGMA table_info({self._name})")}
        self.whole = found.keys() == known
        return found if self.whole else {}

    def rows(self, columns: Collection[str]) -> Iterator[Row]:
        """Every row that can be read; none without columns."""
        selected = ", ".join(["rowid", *(f'"{name}"' for name in columns)])
        query = f"SELECT {selected} FROM {self._name} WHERE rowid >= ? ORDER BY rowid"  # noqa: S608 -- names of a schema
        start = FIRST if columns else None
        while start is not None:
            try:
                for number, *row in self._connection.execute(query, (start,)):
                    yield tuple(row)
                    start = max(start, number + 1)
            except UNREADABLE:
                self.whole = False
                start = self._readable_after(query, start)
            else:
                return

    def _readable_after(self, query: str, unreadable: int) -> int | None:
        """The lowest rowid from which a query succeeds, found by doubling and bisection; None if there is
        none.
        """
        step, low = 1, unreadable
        while not _reads(self._connection, query, min(unreadable + step, LAST)):
            low = unreadable + step
            step *= 2
            if low >= LAST:
                return None
        high = min(unreadable + step, LAST)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _reads(self._connection, query, middle) else (middle, high)
        return high


def _take_groups(source: sqlite3.Connection, target: Connection) -> None:
    """Copy the groups that have a note, with a count of 0."""
    noted = {row[0] for row in Table(source, group_notes.name).rows([group_notes.c.fingerprint.name])}
    table = Table(source, groups.name)
    columns = table.columns(target)
    for row in table.rows(columns):
        values = {**dict(zip(columns, row, strict=False)), groups.c.records.name: 0}
        if values.get(groups.c.fingerprint.name) in noted:
            target.exec_driver_sql(_inserting("IGNORE", groups.name, columns), tuple(values.values()))


def _taken(source: sqlite3.Connection, target: Connection, table: str) -> Salvaged:
    with target.begin_nested() as attempt:
        target.exec_driver_sql(f"DELETE FROM {table}")  # noqa: S608 -- a name of the schema
        taken = _copied(source, target, table)
        if taken.whole:
            return taken
        attempt.rollback()
    return _copied(source, target, table)


def _copied(source: sqlite3.Connection, target: Connection, name: str) -> Salvaged:
    table = Table(source, name)
    columns = table.columns(target)
    inserting = _inserting("REPLACE", name, columns)
    rows = refused = 0
    for row in table.rows(columns):
        try:
            _require_kinds(row, columns)
            target.exec_driver_sql(inserting, row)
            rows += 1
        except (IntegrityError, TypeError):  # what it refers to is lost, or it is not what it was
            refused += 1
    return Salvaged(name, rows, table.whole and not refused)


def _require_kinds(row: Row, columns: Mapping[str, str]) -> None:
    """Raise ``TypeError`` for a value of another type than its column: its page belonged to another table."""
    for value, kind in zip(row, columns.values(), strict=True):
        if not isinstance(value, KINDS.get(kind, int)):
            raise TypeError(kind)


def _inserting(conflict: str, table: str, columns: Collection[str]) -> str:
    names, places = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
    return f"INSERT OR {conflict} INTO {table} ({names}) VALUES ({places})"  # noqa: S608 -- names of the schema


def _opened(path: Path) -> closing[sqlite3.Connection]:
    """The damaged file; without its write-ahead log where the log is what cannot be read."""
    with closing(sqlite3.connect(uri(path), uri=True)) as connection:
        logged = _reads(connection, "SELECT name FROM sqlite_schema")
    return closing(sqlite3.connect(uri(path, logged=logged), uri=True))


def _reads(connection: sqlite3.Connection, query: str, *parameters: int) -> bool:
    """Whether the first row can be read, or there is none."""
    try:
        connection.execute(query, parameters).fetchone()
    except UNREADABLE:
        return False
    return True
