"""Whether a store is whole: a file contradicts itself nowhere, a server can read its tables to their ends."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from streaming.store import versions
from streaming.store.errors import DamagedError, StoreError
from streaming.store.schema import metadata
from streaming.store.trouble import is_damage, line
from streaming.store.versions import State

MOST: Final = 5
"""Problems that are told."""
MAX_CHARS: Final = 200
HEADING: Final = "*** in database main ***"


def whole(engine: Engine) -> State:
    """What a store is that is whole; reads all of it.

    Raises:
        DamagedError: it is not whole; the text says where.
        StoreError: it cannot be read; the text says why.
    """
    try:
        with engine.connect() as connection:
            found = list(_problems(connection))
            if not found:
                return versions.state(connection)
    except SQLAlchemyError as error:
        if is_damage(error):
            raise DamagedError("not all of it can be read") from error
        raise StoreError(line(error)) from error
    raise DamagedError("; ".join(found[:MOST]))


def problems_of(connection: Connection, table: str) -> Iterator[str]:
    """What is wrong with one table of a file: quicker, since indexes are not held against it."""
    yield from _contradictions(connection, f"PRAGMA quick_check({table})")


def _problems(connection: Connection) -> Iterator[str]:
    if connection.dialect.name != "sqlite":
        _read_all(connection)
        return
    yield from _contradictions(connection, f"PRAGMA integrity_check({MOST})")
    for table, _, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"{table} refers to a row of {parent} that is not there"


def _contradictions(connection: Connection, pragma: str) -> Iterator[str]:
    for said in connection.exec_driver_sql(pragma).scalars():
        if said != "ok":
            yield " ".join(str(said).removeprefix(HEADING).split())[:MAX_CHARS]


def _read_all(connection: Connection) -> None:
    """A server looks after its own files: what it cannot read it refuses."""
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    if versions.version(connection):
        for table in metadata.sorted_tables:
            connection.execute(text(f"SELECT sum(length(t::text)) FROM {table.name} t"))  # noqa: S608 -- our own name
