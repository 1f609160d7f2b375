"""What keeps a database from working, in one line that says what to do; no statement, no value, no secret."""

from collections.abc import Mapping
from typing import Final

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

RESTORE: Final = "deadwatch store restore"
REMEDY: Final = (
    f"stop Deadwatch and run `{RESTORE}`: it keeps what people wrote, as far as it can be read; the rest is"
    " counted from Kafka"
)
"""Of a file that is damaged."""

SQLITE: Final[Mapping[str, str]] = {
    "SQLITE_FULL": "its disk is full: make room there",
    "SQLITE_BUSY": "its file is locked by another process",
    "SQLITE_READONLY": "its file cannot be written: give this user the right to write it and its directory",
    "SQLITE_CANTOPEN": "its file cannot be opened: look at the directory's existence and rights",
    "SQLITE_IOERR": "its file cannot be read or written: look at the disk",
    "SQLITE_CORRUPT": f"its file is damaged: {REMEDY}",
    "SQLITE_NOTADB": f"its file is no database. Unless store_url names a wrong file, it is damaged: {REMEDY}",
}
DAMAGE: Final = (
    "SQLITE_CORRUPT",
    "SQLITE_NOTADB",
    "SQLITE_IOERR_READ",
    "SQLITE_IOERR_SHORT_READ",
    "SQLITE_IOERR_CORRUPTFS",
)
POSTGRESQL: Final[Mapping[str, str]] = {
    "53100": "its disk is full: make room on the server",
    "53300": "it has no connection left: raise max_connections",
    "55P03": "it waits for a lock that another session holds",
    "25006": "it is read-only: name the primary server in store_url",
}


def is_passing(error: SQLAlchemyError) -> bool:
    """Whether the same call can succeed later with nothing changed here."""
    return isinstance(error, (OperationalError, InterfaceError, PoolTimeoutError))


def is_damage(error: SQLAlchemyError) -> bool:
    """Whether what was read of a file is not what was written to it."""
    return getattr(getattr(error, "orig", None), "sqlite_errorname", "").startswith(DAMAGE)


def line(error: SQLAlchemyError) -> str:
    """The trouble in one line."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    name = str(getattr(cause, "sqlite_errorname", ""))
    known = next((text for code, text in SQLITE.items() if name.startswith(code)), None)
    known = known or POSTGRESQL.get(str(getattr(cause, "sqlstate", "")))
    first = next((text for text in str(cause).splitlines() if text.strip()), type(error).__name__)
    return f"the store does not work, {known}" if known else f"the store does not work: {first}"
