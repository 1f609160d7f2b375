"""Errors of the database: whether they pass, one line for people, and waiting until they have passed.

A line says what to do and shows no statement, no value and no secret.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from random import Random
from typing import Final, TypeVar

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from deadwatch.contract.backoff import Backoff

RESTORE: Final = "deadwatch store restore"
REMEDY: Final = (
    f"stop Deadwatch and run `{RESTORE}`: it keeps what people wrote, as far as it can be read; the rest is"
    " counted from Kafka"
)
"""What to do about a file that is damaged."""

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
    """Whether the same call can succeed later with nothing changed here; on a new connection, for one."""
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    return lost or isinstance(error, (OperationalError, InterfaceError, PoolTimeoutError))


UNREADABLE: Final = (SQLAlchemyError, UnicodeDecodeError)
"""What reading raises; the latter where SQLite's own words for damage quote what is no text any more."""


def is_damage(error: Exception) -> bool:
    """Whether the error says that the file is damaged."""
    return isinstance(error, UnicodeDecodeError) or getattr(
        getattr(error, "orig", None), "sqlite_errorname", ""
    ).startswith(DAMAGE)


def line(error: Exception) -> str:
    """The error of SQLAlchemy or of the driver in one line, with what to do about it where that is known."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    name = str(getattr(cause, "sqlite_errorname", ""))
    known = next((text for code, text in SQLITE.items() if name.startswith(code)), None)
    known = known or POSTGRESQL.get(str(getattr(cause, "sqlstate", "")))
    first = next((text for text in str(cause).splitlines() if text.strip()), type(error).__name__)
    return f"the store does not work, {known}" if known else f"the store does not work: {first}"


T = TypeVar("T")

log = logging.getLogger(__name__)


def retry_while_away(
    call: Callable[[], T],
    who: str,
    backoff: Backoff,
    ended: threading.Event,
    rng: Random,
    *,
    beat: Callable[[], None],
) -> T:
    """The result of ``call``, repeated with backoff (KIP-580) for as long as the store is away.

    One line is logged when the error begins or changes, another when it ends. ``beat`` is called before every
    attempt: the process lives.

    Raises:
        SQLAlchemyError: the error does not pass by itself, or ``ended`` is set.
    """
    failures, reported = 0, ""
    while True:
        beat()
        try:
            result = call()
        except SQLAlchemyError as error:
            if ended.is_set() or not is_passing(error):
                raise
            if line(error) != reported:
                reported = line(error)
                log.error("%s; %s waits for it", reported, who)  # noqa: TRY400 -- one line tells it all
            failures += 1
            ended.wait(backoff.delay_ms(failures, rng) / 1_000)
        else:
            if failures:
                log.info("the store works again, after %d attempts", failures)
            return result
