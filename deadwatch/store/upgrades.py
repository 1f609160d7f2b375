"""The upgrade of a store to the version of this program, by Alembic; an upgrade is one transaction."""

import logging
from contextlib import closing
from typing import Final

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from deadwatch.store.engine import unlimited
from deadwatch.store.schema import metadata
from deadwatch.store.versions import MIGRATIONS, TABLE, Kind, State, known, require, state

LOCK: Final = 0x64656164
"""PostgreSQL's advisory lock: two processes that open an empty database do not both make its tables."""

log = logging.getLogger(__name__)


def configuration(connection: Connection | None = None) -> Config:
    """Alembic's configuration, made without a file."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("file_template", "v%%(rev)s_%%(slug)s")
    config.attributes["connection"] = connection
    return config


def upgrade(engine: Engine, to: str = "") -> State:
    """Upgrade an empty or older store to version ``to`` (the newest by default); returns its former state.

    Raises ``StoreError``: the store is foreign or newer.
    """
    logging.getLogger("alembic").setLevel(logging.WARNING)
    with engine.connect() as connection:
        # a table that is copied to be changed must not delete the rows that refer to it
        _set_foreign_keys(connection, "OFF")
        try:
            with connection.begin():
                return _upgrade(connection, to or known()[0])
        finally:
            _set_foreign_keys(connection, "ON")


def _upgrade(connection: Connection, to: str) -> State:
    if connection.dialect.name != "sqlite":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
    unlimited(connection)
    found = state(connection)
    if found.kind is Kind.CURRENT:
        return found
    if found.kind is not Kind.EMPTY and found.kind is not Kind.OLDER:
        require(found)
    if found.kind is Kind.EMPTY and to == known()[0]:
        _make(connection)
    else:
        command.upgrade(configuration(connection), to)
    log.info("the store has version %s now", to)
    return found


def _make(connection: Connection) -> None:
    """Make all tables at once; a test compares them with what the migrations make."""
    metadata.create_all(connection)
    context = MigrationContext.configure(connection, opts={"version_table": TABLE})
    context.stamp(ScriptDirectory.from_config(configuration()), "head")


def differences(connection: Connection) -> list[object]:
    """How the database differs from the tables of this program, as Alembic reports it."""
    context = MigrationContext.configure(connection, opts={"version_table": TABLE, "compare_type": True})
    return list(compare_metadata(context, metadata))


def _set_foreign_keys(connection: Connection, switch: str) -> None:
    """Only SQLite needs it, outside of a transaction."""
    if connection.dialect.name == "sqlite":
        with closing(connection.connection.cursor()) as cursor:
            cursor.execute(f"PRAGMA foreign_keys={switch}")
