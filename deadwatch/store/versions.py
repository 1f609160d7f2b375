"""The version of a store, whether this program can use it, and the upgrade to the version of this program.

A file of SQLite belongs to one service and is upgraded when it is opened. A database of PostgreSQL may serve
several processes and has an operator: tables are made in an empty one, an older one waits for ``deadwatch
store upgrade``. An upgrade is one transaction.
"""

import functools
import logging
from contextlib import closing
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text

from deadwatch.store.engine import reading
from deadwatch.store.errors import StoreError
from deadwatch.store.schema import metadata

MIGRATIONS: Final = Path(__file__).with_name("migrations")
TABLE: Final = "deadwatch_version"
UPGRADE: Final = "deadwatch store upgrade"
LOCK: Final = 0x64656164
"""PostgreSQL's advisory lock: two processes that open an empty database do not both make its tables."""

logger = logging.getLogger(__name__)


class Kind(Enum):
    """How the version of a database relates to this program."""

    EMPTY = auto()
    OLDER = auto()
    CURRENT = auto()
    NEWER = auto()
    FOREIGN = auto()


@dataclass(frozen=True, slots=True)
class State:
    """The kind of a database, and its version, "" where there is none."""

    kind: Kind
    version: str = ""


def configuration(connection: Connection | None = None) -> Config:
    """Alembic's configuration, made without a file."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("file_template", "v%%(rev)s_%%(slug)s")
    config.attributes["connection"] = connection
    return config


@functools.cache
def known() -> tuple[str, ...]:
    """Every version that this program knows, the newest first."""
    script = ScriptDirectory.from_config(configuration())
    return tuple(revision.revision for revision in script.walk_revisions())


def version(connection: Connection) -> str:
    """The version of a database; "" where there is none."""
    if not inspect(connection).has_table(TABLE):
        return ""
    return recorded(connection)


def recorded(connection: Connection) -> str:
    """The version of a store; the table of versions exists."""
    return connection.exec_driver_sql(f"SELECT version_num FROM {TABLE}").scalar() or ""  # noqa: S608 -- a constant


def state(connection: Connection) -> State:
    """The state of a database."""
    tables = set(inspect(connection).get_table_names())
    if TABLE in tables:
        found = version(connection)
        if found == known()[0]:
            return State(Kind.CURRENT, found)
        return State(Kind.OLDER if found in known() else Kind.NEWER, found)
    return State(Kind.FOREIGN if tables else Kind.EMPTY)


def require(found: State) -> None:
    """Refuse a database that this program cannot use as it is.

    Raises ``StoreError``: the text says what to do.
    """
    match found.kind:
        case Kind.OLDER:
            raise StoreError(
                f"the store has version {found.version}, this program knows {known()[0]}: stop what writes "
                f"it and run `{UPGRADE}`"
            )
        case Kind.NEWER:
            raise StoreError(
                f"the store has version {found.version}, this program knows {known()[0]}: install a newer one"
            )
        case Kind.FOREIGN:
            raise StoreError("the database holds tables that are not ours: give the store one of its own")


def prepare(engine: Engine) -> None:
    """Make the tables of an empty store, upgrade those of a file.

    Raises ``StoreError``: the database is foreign or newer, or an operator has to upgrade it.
    """
    with reading(engine) as connection:
        found = state(connection)
    automatic = found.kind is Kind.EMPTY or (found.kind is Kind.OLDER and engine.dialect.name == "sqlite")
    if automatic:
        upgrade(engine)
    else:
        require(found)


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
