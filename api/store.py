"""The read side of the store: consistent, read-only, opened anew for every reading.

The file may not exist yet, disappear or be replaced: every reading says so by ``StoreUnavailableError`` until
there is a store again, and nobody has to be restarted. All queries of one reading see the same moment.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from api.errors import StoreUnavailableError, StoreVersionError
from streaming.store import versions
from streaming.store.engine import POSTGRESQL, connect
from streaming.store.trouble import line
from streaming.store.urls import SQLITE, parsed

BUSY_TIMEOUT_S = 2.0
ABSENT = "there is no store at store_url that can be opened yet: streaming makes it at its first start"


class Store:
    """A store of the schema version that this program knows."""

    def __init__(self, url: str) -> None:
        self._engine = _engine(parsed(url))

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
        return connect(self._url)


@contextmanager
def reported() -> Iterator[None]:
    """Errors of the database become the api's own; the text tells no statement and no value."""
    try:
        yield
    except OperationalError as error:
        if getattr(error.orig, "sqlite_errorname", "") == "SQLITE_CANTOPEN":
            raise StoreUnavailableError(ABSENT) from error
        raise StoreUnavailableError(line(error)) from error
    except SQLAlchemyError as error:
        raise StoreUnavailableError(f"the store is damaged or no store: {_cause(error)}") from error


def _engine(url: URL) -> Engine:
    if url.drivername != SQLITE:
        options = f"{POSTGRESQL['options']} -c default_transaction_read_only=on"
        return create_engine(
            url,
            poolclass=NullPool,
            hide_parameters=True,
            isolation_level="REPEATABLE READ",
            connect_args={**POSTGRESQL, "options": options},
        )
    file = f"file:{quote(url.database or '')}"
    read_only = URL.create(SQLITE, database=file, query={"mode": "ro", "uri": "true"})
    return create_engine(
        read_only, poolclass=NullPool, hide_parameters=True, connect_args={"timeout": BUSY_TIMEOUT_S}
    )


def _check_version(connection: Connection) -> None:
    found, known = versions.version(connection), versions.known()[0]
    if not found:
        raise StoreUnavailableError("the store has no version yet: streaming makes it at its first start")
    if found != known:
        raise StoreVersionError(found, known)


def _cause(error: SQLAlchemyError) -> object:
    return getattr(error, "orig", None) or type(error).__name__
