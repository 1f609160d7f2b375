"""Connections to the store, SQLite or PostgreSQL, and the one upsert both speak."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Engine, Table, case, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.sql import ColumnElement

BUSY_TIMEOUT_MS = 5_000
PRAGMAS = (
    f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA foreign_keys=ON",
)

Insert = sqlite.Insert | postgresql.Insert
Values = Mapping[str, Any]


def connect(url: str) -> Engine:
    """An engine whose transactions are whole: on SQLite they take the write lock when they begin."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return create_engine(parsed)
    _make_directory(parsed)
    engine = create_engine(parsed)
    event.listen(engine, "connect", _on_connect)
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


def lesser(old: Column[int], new: ColumnElement[int]) -> ColumnElement[int]:
    """The lesser of two columns; the databases have different functions for it."""
    return case((new < old, new), else_=old)


def greater(old: Column[int], new: ColumnElement[int]) -> ColumnElement[int]:
    """The greater of two columns."""
    return case((new > old, new), else_=old)


def chunks(keys: Iterable[str], size: int = 500) -> Iterable[list[str]]:
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


def _on_begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
