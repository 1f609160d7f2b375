"""Statements that both databases understand: rows that are added or merged, and rows of many keys."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, TypeVar

from sqlalchemy import (
    Column,
    Connection,
    Row,
    Table,
    bindparam,
    case,
    delete,
    func,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from deadwatch.store.address import SQLITE
from deadwatch.store.storable import MAX_INTEGER

Insert = sqlite.Insert | postgresql.Insert
Values = Mapping[str, Any]
New = ReadOnlyColumnCollection[str, Any]
"""The columns of a row that is added, where its key has a row already."""
Changes = Callable[[New], Values]
Where = Callable[[New], ColumnElement[bool]]
STATEMENTS: Final = 128
"""How many statements are remembered: SQLAlchemy takes as long to put one together as to execute it."""
T = TypeVar("T")


def insert(connection: Connection, table: Table) -> Insert:
    """An INSERT with ON CONFLICT, in the dialect of ``connection``."""
    return _insert(connection.dialect.name, table)


def _insert(dialect: str, table: Table) -> Insert:
    return sqlite.insert(table) if dialect == SQLITE else postgresql.insert(table)


def merging(connection: Connection, table: Table, changes: Changes, where: Where | None = None) -> Insert:
    """An INSERT that changes the row with the same primary key, if it is there and ``where`` holds.

    It is remembered by the functions themselves: they are those of a module, and take values as parameters.
    """
    return _merging(connection.dialect.name, table, changes, where)


@lru_cache(STATEMENTS)
def _merging(dialect: str, table: Table, changes: Changes, where: Where | None) -> Insert:
    statement = _insert(dialect, table)
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns), set_=changes(new), where=where and where(new)
    )


def upsert(connection: Connection, table: Table, rows: Sequence[Values]) -> None:
    """Insert the rows or replace those with the same primary key, one after the other."""
    if rows:
        connection.execute(merging(connection, table, _all_of(table)), list(rows))


@cache
def _all_of(table: Table) -> Changes:
    names = [column.name for column in table.c if not column.primary_key]
    return lambda new: {name: new[name] for name in names}


def many(connection: Connection, statement: Insert, rows: Sequence[Values]) -> None:
    """Execute ``statement`` for rows of different keys; on PostgreSQL as one, with an array per column."""
    if not rows:
        return
    if connection.dialect.name == SQLITE:
        connection.execute(statement, list(rows))
        return
    columns = [statement.table.c[name] for name in rows[0]]
    arrays = [bindparam(column.name, type_=postgresql.ARRAY(column.type)) for column in columns]
    source = func.unnest(*arrays).table_valued(*(column.name for column in columns)).render_derived()
    inserted = statement.from_select(columns, select(*(source.c[column.name] for column in columns)))
    connection.execute(inserted, {column.name: [row[column.name] for row in rows] for column in columns})


def add_up(connection: Connection, column: Column[int], rows: Sequence[Values]) -> None:
    """Insert rows of different keys, or add their ``column`` to the rows with the same primary key."""
    many(connection, merging(connection, column.table, _sum_of(column)), rows)


@cache
def _sum_of(column: Column[int]) -> Changes:
    return lambda new: {column.name: saturated(column, new[column.name])}


def delete_keys(connection: Connection, table: Table, keys: Iterable[Sequence[Any]]) -> None:
    """Delete the rows with these primary keys."""
    columns = table.primary_key.columns
    names = [f"key_{column.name}" for column in columns]
    rows = [dict(zip(names, key, strict=True)) for key in keys]
    if rows:
        where = (column == bindparam(name) for column, name in zip(columns, names, strict=True))
        connection.execute(delete(table).where(*where), rows)


def least(old: Column[int], new: ColumnElement[int]) -> ColumnElement[int]:
    """The least of two columns; the two databases name the function differently."""
    return case((new < old, new), else_=old)


def greatest(old: Column[int], new: ColumnElement[int]) -> ColumnElement[int]:
    """The greatest of two columns."""
    return case((new > old, new), else_=old)


def saturated(old: Column[int], new: ColumnElement[int]) -> ColumnElement[int]:
    """The sum of two columns that are not negative, at most ``MAX_INTEGER``."""
    return case((old > MAX_INTEGER - new, MAX_INTEGER), else_=old + new)


def among(connection: Connection, column: Column[T], keys: Sequence[T]) -> ColumnElement[bool]:
    """Whether a column is one of the keys; on PostgreSQL as one array, whose plan needs no statistics."""
    if connection.dialect.name == SQLITE:
        return column.in_(keys)
    array = bindparam("keys", list(keys), type_=postgresql.ARRAY(column.type), unique=True)
    return column.in_(select(func.unnest(array).column_valued("key")))


def stored(
    connection: Connection, column: Column[str], keys: Iterable[str], *where: ColumnElement[bool]
) -> set[str]:
    """Those of the keys that a column has, in the rows for which ``where`` holds."""
    return {
        key
        for chunk in chunks(keys)
        for key in connection.scalars(select(column).where(*where, among(connection, column, chunk)))
    }


def rows_with(
    connection: Connection, column: Column[Any], keys: Iterable[object], *where: ColumnElement[bool]
) -> Iterator[Row[Any]]:
    """The rows of a table in which ``column`` is one of the keys and ``where`` holds."""
    for chunk in chunks(keys):
        yield from connection.execute(select(column.table).where(*where, among(connection, column, chunk)))


def count(connection: Connection, table: Table, *where: ColumnElement[bool]) -> int:
    """How many rows of a table there are."""
    return connection.scalar(select(func.count()).select_from(table).where(*where)) or 0


def chunks(keys: Iterable[T]) -> Iterable[list[T]]:
    """``keys`` in lists that are short enough for the parameters of one statement."""
    every, size = list(keys), 500
    return (every[start : start + size] for start in range(0, len(every), size))
