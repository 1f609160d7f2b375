"""What keeps a database from working, in one line that says what to do; no statement, no value, no secret."""

from collections.abc import Mapping
from typing import Final

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

SQLITE: Final[Mapping[str, str]] = {
    "SQLITE_FULL": "its disk is full: make room there",
    "SQLITE_BUSY": "its file is locked by another process",
    "SQLITE_READONLY": "its file cannot be written: give this user the right to write it and its directory",
    "SQLITE_CANTOPEN": "its file cannot be opened: look at the directory's existence and rights",
    "SQLITE_IOERR": "its file cannot be read or written: look at the disk",
    "SQLITE_CORRUPT": "its file is damaged: restore a backup, or move it away: Kafka is counted anew",
    "SQLITE_NOTADB": "its file is no database: give another store_url",
}
POSTGRESQL: Final[Mapping[str, str]] = {
    "53100": "its disk is full: make room on the server",
    "53300": "it has no connection left: raise max_connections",
    "55P03": "it waits for a lock that another session holds",
    "25006": "it is read-only: name the primary server in store_url",
}


def is_passing(error: SQLAlchemyError) -> bool:
    """Whether the same call can succeed later with nothing changed here."""
    return isinstance(error, (OperationalError, InterfaceError, PoolTimeoutError))


def line(error: SQLAlchemyError) -> str:
    """The trouble in one line."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    name = str(getattr(cause, "sqlite_errorname", ""))
    known = next((text for code, text in SQLITE.items() if name.startswith(code)), None)
    known = known or POSTGRESQL.get(str(getattr(cause, "sqlstate", "")))
    first = next((text for text in str(cause).splitlines() if text.strip()), type(error).__name__)
    return f"the store does not work, {known}" if known else f"the store does not work: {first}"
