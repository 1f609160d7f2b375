"""Which version a database has, and whether this program can use it."""

import functools
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final

from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from streaming.store.errors import StoreError

MIGRATIONS: Final = Path(__file__).with_name("migrations")
TABLE: Final = "deadwatch_version"
UPGRADE: Final = "deadwatch store upgrade"


class Kind(Enum):
    """What a database is to this program."""

    EMPTY = auto()
    OLDER = auto()
    CURRENT = auto()
    NEWER = auto()
    FOREIGN = auto()


@dataclass(frozen=True, slots=True)
class State:
    """What was found; ``version`` is "" where there is none."""

    kind: Kind
    version: str = ""


def configuration(connection: Connection | None = None) -> Config:
    """Alembic's, without a file."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("file_template", "v%%(rev)s_%%(slug)s")
    config.attributes["connection"] = connection
    return config


@functools.cache
def known() -> tuple[str, ...]:
    """Every version this program knows, the newest first."""
    script = ScriptDirectory.from_config(configuration())
    return tuple(revision.revision for revision in script.walk_revisions())


def version(connection: Connection) -> str:
    """The version of a store; "" where there is none."""
    if not inspect(connection).has_table(TABLE):
        return ""
    return recorded(connection)


def recorded(connection: Connection) -> str:
    """The version of a store that has one."""
    return connection.exec_driver_sql(f"SELECT version_num FROM {TABLE}").scalar() or ""  # noqa: S608 -- a constant


def state(connection: Connection) -> State:
    """What the database is."""
    tables = set(inspect(connection).get_table_names())
    if TABLE in tables:
        found = version(connection)
        if found == known()[0]:
            return State(Kind.CURRENT, found)
        return State(Kind.OLDER if found in known() else Kind.NEWER, found)
    return State(Kind.FOREIGN if tables else Kind.EMPTY)


def require(found: State) -> None:
    """Refuse what cannot be used as it is.

    Raises:
        StoreError: says what to do.
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
