"""The read side of the store: consistent, read-only.

The file may not exist yet, disappear or be replaced: every reading says so by ``StoreUnavailableError`` until
there is a store again, and nobody has to be restarted. All queries of one reading see the same moment.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from api.errors import StoreUnavailableError, StoreVersionError
from api.store_file import Commits, follow
from streaming.store import versions
from streaming.store.engine import POSTGRESQL, connect
from streaming.store.file import path_of, reading
from streaming.store.trouble import line
from streaming.store.urls import parsed

BUSY_TIMEOUT_S = 2.0
RECYCLE_S = 300
"""A connection to a server is made anew after so long: another one may have its name since."""
ABSENT = "there is no store at store_url that can be opened yet: streaming makes it at its first start"
KNOWN = "has a version"
"""In the info of a connection."""


class Store:
    """A store of the schema version that this program knows; used by many threads."""

    def __init__(self, url: str) -> None:
        path = path_of(url)
        self._engine = _of_server(parsed(url)) if path is None else _of_file(path)
        self._commits = None if path is None else Commits(self._engine, path)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent reading; errors of the database leave it as ``StoreUnavailableError``.

        Raises:
            StoreUnavailableError: the store is missing, locked or damaged.
            StoreVersionError: its schema is of another version.
        """
        with reported(), self._engine.connect() as connection:
            if self._engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN")  # else sqlite3 gives every query a moment of its own
            _check_version(connection)
            yield connection

    def state(self) -> Hashable:
        """What another value than before says that something was committed in between; raises as ``read``.

        Costs next to nothing; who asks for it first and reads then has read nothing older than it.
        """
        if self._commits is not None:
            with reported():
                return self._commits.state()
        with reported(), self._engine.connect() as connection:
            return connection.exec_driver_sql("SELECT pg_current_snapshot()::text").scalar()

    def close(self) -> None:
        """Let go of its connections."""
        if self._commits is not None:
            self._commits.close()
        self._engine.dispose()


class Writer:
    """The write side, for what the api itself keeps: tokens and the audit. Used by many threads."""

    def __init__(self, url: str, store: Store) -> None:
        self._url, self._store = url, store

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction; raises as ``Store.read``."""
        with self._store.read():
            pass  # says what a writer cannot: that there is no store yet, or one of another version
        with reported(), self._engine.begin() as connection:
            yield connection

    def close(self) -> None:
        """Let go of its connections, if there are any; making some would make a store's directory."""
        if "_engine" in self.__dict__:
            self._engine.dispose()

    @cached_property
    def _engine(self) -> Engine:
        return writing_engine(self._url)


def writing_engine(url: str) -> Engine:
    """For what the api writes; a file that takes the place of the store's takes what is written then."""
    engine, path = connect(url), path_of(url)
    if path is not None:
        follow(engine, path)
    return engine


@contextmanager
def reported() -> Iterator[None]:
    """Errors of the database become the api's own; the text tells no statement and no value."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        absent = getattr(cause, "sqlite_errorname", "") == "SQLITE_CANTOPEN"
        raise StoreUnavailableError(ABSENT if absent else line(error)) from error


def _of_server(url: URL) -> Engine:
    options = f"{POSTGRESQL['options']} -c default_transaction_read_only=on"
    return create_engine(
        url,
        hide_parameters=True,
        isolation_level="REPEATABLE READ",
        connect_args={**POSTGRESQL, "options": options},
        max_overflow=-1,
        pool_pre_ping=True,
        pool_recycle=RECYCLE_S,
    )


def _of_file(path: Path) -> Engine:
    engine = create_engine(
        reading(path),
        hide_parameters=True,
        connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
        max_overflow=-1,
    )
    follow(engine, path)
    return engine


def _version(connection: Connection) -> str:
    """To ask first whether there is one takes longer than most readings."""
    version = versions.recorded if connection.info.pop(KNOWN, False) else versions.version
    found = version(connection)
    connection.info[KNOWN] = bool(found)
    return found


def _check_version(connection: Connection) -> None:
    found, known = _version(connection), versions.known()[0]
    if not found:
        raise StoreUnavailableError("the store has no version yet: streaming makes it at its first start")
    if found != known:
        raise StoreVersionError(found, known)
