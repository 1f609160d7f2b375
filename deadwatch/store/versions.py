"""The version of a store, and whether this program can use it.

A file of SQLite belongs to one service and is upgraded when it is opened. A database of PostgreSQL may serve
several processes and has an operator: tables are made in an empty one, an older one waits for ``deadwatch
store upgrade``.
"""

import functools
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

from sqlalchemy import Connection, inspect

from deadwatch.store.errors import StoreError

MIGRATIONS: Final = Path(__file__).with_name("migrations")
TABLE: Final = "deadwatch_version"
UPGRADE: Final = "deadwatch store upgrade"


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


@functools.cache
def known() -> tuple[str, ...]:
    """Every version that this program knows, the newest first."""
    names = (module.name for module in iter_modules([str(MIGRATIONS / "versions")]))
    return tuple(sorted((name.removeprefix("v").partition("_")[0] for name in names), reverse=True))


def version(connection: Connection) -> str:
    """The version of a database; "" where there is none."""
    return recorded(connection) if inspect(connection).has_table(TABLE) else ""


def recorded(connection: Connection) -> str:
    """The version of a store; the table of versions exists."""
    return connection.exec_driver_sql(f"SELECT version_num FROM {TABLE}").scalar() or ""  # noqa: S608 -- a constant


def state(connection: Connection) -> State:
    """The state of a database."""
    tables = set(inspect(connection).get_table_names())
    if TABLE in tables:
        found = recorded(connection)
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
