"""Connections to the store, SQLite or PostgreSQL, and the one upsert both speak."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Table,
    bindparam,
    case,
    create_engine,
    event,
    func,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.sql import ColumnElement

from streaming.store.storable import MAX_INTEGER
from streaming.store.urls import SQLITE, parsed

BUSY_TIMEOUT_MS = 5_000
CLOSE_TIMEOUT_MS = 1_000
PRAGMAS = (
    f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
)
POSTGRESQL: Mapping[str, Any] = {
    "application_name": "deadwatch",
    "connect_timeout": 5,  # seconds
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "options": "-c lock_timeout=10s -c statement_timeout=60s -c idle_in_transaction_session_timeout=30s"
    " -c timezone=UTC",
}
"""A server that is gone is noticed, and a client that is frozen; nothing waits for ever."""

Insert = sqlite.Insert | postgresql.Insert
Values = Mapping[str, Any]
T = TypeVar("T")


def connect(text: str) -> Engine:
    """An engine whose transactions are whole: on SQLite they take the write lock when they begin.

    On PostgreSQL a batch locks the row of its lease first, so that writers follow one another. Errors show no
    values: they are other people's records.

    Raises:
        ValueError: the address names no store.
    """
    url = parsed(text)
    if url.drivername != SQLITE:
        return create_engine(url, pool_pre_ping=True, hide_parameters=True, connect_args=POSTGRESQL)
    _make_directory(url)
    engine = create_engine(url, hide_parameters=True)
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "close", _on_close)
    event.listen(engine, "begin", _on_begin)
    return engine


def insert(connection: Connection, table: Table) -> Insert:
    """An INSERT that knows ON CONFLICT in the dialect of ``connection``."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def upsert(connection: Connection, table: Table, rows: Sequence[Values]) -> None:
    """Insert the rows or replace those with the same primary key, one after the other."""
    if rows:
        statement = insert(connection, table)
        changes = {
            column.name: statement.excluded[column.name] for column in table.c if not column.primary_key
        }
        keys = list(table.primary_key.columns)
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changes), list(rows))


def many(connection: Connection, statement: Insert, rows: Sequence[Values]) -> None:
    """Execute ``statement`` for rows of different keys; on PostgreSQL as one, with an array a column."""
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        connection.execute(statement, list(rows))
        return
    columns = [statement.table.c[name] for name in rows[0]]
    arrays = [bindparam(column.name, type_=postgresql.ARRAY(column.type)) for column in columns]
    source = func.unnest(*arrays).table_valued(*(column.name for column in columns)).render_derived()
    inserted = statement.from_select(columns, select(*(source.c[column.name] for column in columns)))
    connection.execute(inserted, {column.name: [row[column.name] for row in rows] for column in columns})


def lesser(old: Column[int], new: ColumnElement[int]) -> ColumnElement[int]:
    """The lesser of two columns; the databases have different functions for it."""
    return case((new < old, new), else_=old)


def greater(old: Column[int], new: ColumnElement[int]) -> ColumnElement[int]:
    """The greater of two columns."""
    return case((new > old, new), else_=old)


def saturated(old: Column[int], new: ColumnElement[int]) -> ColumnElement[int]:
    """The sum of two columns that are not negative, at most what a column holds."""
    return case((old > MAX_INTEGER - new, MAX_INTEGER), else_=old + new)


def among(connection: Connection, column: Column[str], keys: Sequence[str]) -> ColumnElement[bool]:
    """Whether a column is one of the keys; for PostgreSQL one array, whose plan needs no statistics."""
    if connection.dialect.name == "sqlite":
        return column.in_(keys)
    array = bindparam("keys", list(keys), type_=postgresql.ARRAY(column.type), unique=True)
    return column.in_(select(func.unnest(array).column_valued("key")))


def chunks(keys: Iterable[T], size: int = 500) -> Iterable[list[T]]:
    """``keys`` in lists that fit a statement's parameters."""
    every = list(keys)
    return (every[start : start + size] for start in range(0, len(every), size))


def _make_directory(url: URL) -> None:
    if url.database and url.database != ":memory:":
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)


def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None
    for pragma in PRAGMAS:
        connection.execute(pragma)


def _on_close(connection: sqlite3.Connection, _record: object) -> None:
    """Leave nothing in the log: while others only read, SQLite would keep it, for the next file too."""
    with suppress(sqlite3.Error):
        connection.execute(f"PRAGMA busy_timeout={CLOSE_TIMEOUT_MS}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _on_begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
