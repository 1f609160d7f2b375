"""How a database comes to the version this program knows.

A file of SQLite belongs to one service: it is brought up to date when it is opened. A database of PostgreSQL
may serve several processes and has an operator: only an empty one is filled by itself, an older one waits for
``deadwatch store upgrade``. A step is one transaction: it is made as a whole or not at all.
"""

import logging
from typing import Final

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from streaming.store.schema import metadata
from streaming.store.versions import TABLE, Kind, State, configuration, known, require, state

LOCK: Final = 0x64656164
"""PostgreSQL's advisory lock: two processes that open an empty database do not fill it twice."""

logger = logging.getLogger(__name__)


def prepare(engine: Engine) -> None:
    """Make the database one that can be used, as far as that is ours to do.

    Raises:
        StoreError: it is foreign or newer, or an operator has to upgrade it.
    """
    with engine.begin() as connection:
        found = state(connection)
    by_itself = found.kind is Kind.EMPTY or (found.kind is Kind.OLDER and engine.dialect.name == "sqlite")
    if by_itself:
        upgrade(engine)
    else:
        require(found)


def upgrade(engine: Engine, to: str = "") -> State:
    """Bring an empty or older store to that version, the newest unless said; returns what it was.

    Raises:
        StoreError: it is foreign or newer.
    """
    logging.getLogger("alembic").setLevel(logging.WARNING)
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":  # a table that is made anew must not take its children with it
            _pragma(connection, "PRAGMA foreign_keys=OFF")
        try:
            with connection.begin():
                return _upgrade(connection, to or known()[0])
        finally:
            if engine.dialect.name == "sqlite":
                _pragma(connection, "PRAGMA foreign_keys=ON")


def _upgrade(connection: Connection, to: str) -> State:
    if connection.dialect.name != "sqlite":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
        connection.execute(text("SET LOCAL statement_timeout = 0"))
    found = state(connection)
    if found.kind is Kind.CURRENT:
        return found
    if found.kind is not Kind.EMPTY and found.kind is not Kind.OLDER:
        require(found)
    if found.kind is Kind.EMPTY and to == known()[0]:
        _make(connection)
    else:
        command.upgrade(configuration(connection), to)
    logger.info("the store has version %s now", to)
    return found


def _make(connection: Connection) -> None:
    """All tables at once: a test holds them equal to what the migrations make."""
    metadata.create_all(connection)
    context = MigrationContext.configure(connection, opts={"version_table": TABLE})
    context.stamp(ScriptDirectory.from_config(configuration()), "head")


def differences(connection: Connection) -> list[object]:
    """How the database differs from the tables this program knows; nothing when all is well."""
    context = MigrationContext.configure(connection, opts={"version_table": TABLE, "compare_type": True})
    return list(compare_metadata(context, metadata))


def _pragma(connection: Connection, pragma: str) -> None:
    cursor = connection.connection.cursor()
    try:
        cursor.execute(pragma)
    finally:
        cursor.close()
