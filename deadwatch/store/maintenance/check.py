"""Integrity of a store: a file has no contradictions, a server can read its tables to their ends."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, Engine, inspect, text

from deadwatch.store import versions
from deadwatch.store.engine import unlimited
from deadwatch.store.errors import DamagedError, StoreError
from deadwatch.store.schema import metadata
from deadwatch.store.trouble import UNREADABLE, is_damage, line
from deadwatch.store.versions import State

MOST: Final = 5
"""The problems that an error lists."""
MAX_CHARS: Final = 200
HEADING: Final = "*** in database main ***"


def whole(engine: Engine) -> State:
    """Read all of a store; returns its state if it is whole.

    Raises:
        DamagedError: it is not whole; the text says where.
        StoreError: it cannot be read; the text says why.
    """
    try:
        with engine.connect() as connection:
            found = list(_problems(connection))
            if not found:
                return versions.state(connection)
    except UNREADABLE as error:
        if is_damage(error):
            raise DamagedError("not all of it can be read") from error
        raise StoreError(line(error)) from error
    raise DamagedError("; ".join(found[:MOST]))


def _problems(connection: Connection) -> Iterator[str]:
    if connection.dialect.name != "sqlite":  # a server checks its own files: reading fails on a damaged page
        unlimited(connection)
        tables = inspect(connection).get_table_names() if versions.version(connection) else ()
        for name in metadata.tables.keys() & tables:  # an older store lacks some
            connection.execute(text(f"SELECT sum(length(t::text)) FROM {name} t"))  # noqa: S608 -- our own name
        return
    yield from contradictions(connection, f"PRAGMA integrity_check({MOST})")
    for table, _, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"{table} refers to a row of {parent} that is not there"


def contradictions(connection: Connection, pragma: str) -> Iterator[str]:
    """What a check of SQLite finds; ``quick_check(TABLE)`` does not compare indexes with their table."""
    for problem in connection.exec_driver_sql(pragma).scalars():
        if problem != "ok":
            yield " ".join(str(problem).removeprefix(HEADING).split())[:MAX_CHARS]
