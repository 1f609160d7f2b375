"""The read side of the store: consistent and read-only; and the engine that the api writes with.

The file may not exist yet, disappear or be replaced: every reading reports this by ``StoreUnavailableError``
until there is a store again, and nobody has to be restarted. All queries of one reading see the same moment.

Of a SQLite store nothing but SQLite opens the file: a file that is closed takes every lock of its process
with it, those of SQLite's connections too (https://sqlite.org/howtocorrupt.html, 2.2). So a commit is
detected by ``PRAGMA data_version``, and whether the file was replaced by its inode: asking for that opens
nothing.
"""

import itertools
import os
import socket
import sqlite3
import threading
from collections import namedtuple
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, ColumnElement, Connection, Engine, Table, create_engine, event, select
from sqlalchemy.exc import DBAPIError, DisconnectionError, InvalidatePoolError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from api.errors import StoreUnavailableError, StoreVersionError
from deadwatch.store import versions
from deadwatch.store.engine import POSTGRESQL, connect, existing, note_pooler, parse_url
from deadwatch.store.maintenance.file import path_of
from deadwatch.store.trouble import line

BUSY_TIMEOUT_S = 2.0
READING_S = 10
WRITING_S = 60
"""How long a server may take for a reading, and for a transaction that writes, as it may for a statement."""
RECYCLE_S = 300
"""A connection to a server is replaced after so long: another server may have taken over its name."""
StoredRow = Any
"""A row of a table as a named tuple, whose columns are read twenty times as fast as a ``Row``'s."""
ABSENT = "there is no store at store_url that can be opened yet: streaming makes it at its first start"
KNOWN = "has a version"
"""Key in the info of a connection: whether a version was found on it before."""


class Store:
    """A store of the schema version that this program knows; used by many threads."""

    def __init__(self, url: str) -> None:
        path = path_of(url)
        self._engine = _of_server(parse_url(url)) if path is None else _of_file(path)
        self._commits = None if path is None else CommitCounter(self._engine, path)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent reading; errors of the database leave it as ``StoreUnavailableError``.

        Raises ``StoreUnavailableError``: the store is missing, locked or damaged; ``StoreVersionError``: its
        schema is of another version.
        """
        with database_errors(), self._engine.connect() as connection:
            if self._engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN")  # else sqlite3 gives every query a moment of its own
            _check_version(connection)
            yield connection

    def check(self) -> None:
        """Raise what ``read`` raises: a writer cannot see that the store is missing or of another version."""
        with self.read():
            pass

    def state(self) -> Hashable:
        """A value that differs from an earlier one if something was committed in between; raises as ``read``.

        It costs next to nothing. A caller that takes it before a reading has read nothing older than it.
        """
        with database_errors():
            if self._commits is not None:
                return self._commits.state()
            with self._engine.connect() as connection:
                return connection.exec_driver_sql("SELECT pg_current_snapshot()::text").scalar()

    def close(self) -> None:
        """Close its connections."""
        if self._commits is not None:
            self._commits.close()
        self._engine.dispose()


class Writer:
    """The write side, for all that the api writes. Used by many threads; its engine is the only one.

    Where the store's file is replaced, later writes go to the new file. It makes no file: one that was
    removed between two steps of a change is not there, rather than empty.
    """

    def __init__(self, url: str, store: Store) -> None:
        self._store = store
        self.engine, path = connect(url, create=False), path_of(url)
        if path is None:
            _limit_waits(self.engine, WRITING_S)
        else:
            follow(self.engine, path)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction; raises as ``Store.read``."""
        self._store.check()
        with database_errors(), self.engine.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close its connections."""
        self.engine.dispose()


def every_row(connection: Connection, table: Table, *which: ColumnElement[bool]) -> list[StoredRow]:
    """The rows of a table of ``deadwatch.store.schema`` for which all of ``which`` is true.

    Values are taken as the driver returns them, as of a series: a flag of SQLite is 0 or 1.
    """
    made = _row_type(table)._make
    with closing(connection.execute(select(table).where(*which))) as result:
        return [made(row) for row in result.cursor.fetchall()]


@cache
def _row_type(table: Table) -> Any:  # noqa: ANN401 -- a named tuple of the table's columns
    return namedtuple(table.name, table.columns.keys())  # noqa: PYI024 -- its columns are said by the schema


@contextmanager
def database_errors() -> Iterator[None]:
    """Translate errors of the database into the api's own; their text shows no statement and no value."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:  # the driver's own: who takes its rows meets them
        cause = error.orig if isinstance(error, DBAPIError) else error
        absent = getattr(cause, "sqlite_errorname", "") == "SQLITE_CANTOPEN"
        raise StoreUnavailableError(ABSENT if absent else line(error)) from error


def _of_server(url: URL) -> Engine:
    options = f"{POSTGRESQL['options']} -c default_transaction_read_only=on"
    engine = create_engine(
        url,
        hide_parameters=True,
        isolation_level="REPEATABLE READ",
        connect_args={**POSTGRESQL, "options": options},
        max_overflow=-1,
        pool_recycle=RECYCLE_S,
    )
    event.listen(engine, "connect", note_pooler)
    _limit_waits(engine, READING_S)
    return engine


def _of_file(path: Path) -> Engine:
    engine = create_engine(
        existing(path, "ro"),
        hide_parameters=True,
        connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
        max_overflow=-1,
    )
    follow(engine, path)
    return engine


def _check_version(connection: Connection) -> None:
    """That there is a version at all is asked once a connection: it takes longer than most readings."""
    version = versions.recorded if connection.info.pop(KNOWN, False) else versions.version
    found, known = version(connection), versions.known()[0]
    connection.info[KNOWN] = bool(found)
    if not found:
        raise StoreUnavailableError("the store has no version yet: streaming makes it at its first start")
    if found != known:
        both = f"the store has version {found}, this program knows {known}"
        raise StoreVersionError(f"{both}: run streaming and api of the same version")


def _limit_waits(engine: Engine, limit_s: float) -> None:
    """Close a connection that is in use for longer than ``limit_s`` seconds: its user gets an error.

    A server that is stopped, or whose machine is out of memory, keeps its connections: no time-out of its
    own, of libpq or of TCP ends the wait for it. A connection is also asked whether it still works before it
    is used (as by ``pool_pre_ping``, which no limit could cover).
    """
    in_use: dict[ConnectionPoolEntry, Callable[[], None]] = {}

    def begin(connection: Any, entry: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:  # noqa: ANN401 -- of psycopg
        in_use[entry] = _limited(connection.pgconn.socket, limit_s)
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            end(connection, entry)
            raise DisconnectionError(str(error)) from error

    def end(_connection: object, entry: ConnectionPoolEntry) -> None:
        if entry in in_use:
            in_use.pop(entry)()

    event.listen(engine, "checkout", begin)
    event.listen(engine, "checkin", end)


def _limited(number: int, limit_s: float) -> Callable[[], None]:
    """Limit the use of a socket, by a number of it that nobody else gets; what is returned ends the use."""
    ours = socket.socket(fileno=os.dup(number))

    def close() -> None:
        with suppress(OSError):  # it has just ended
            ours.shutdown(socket.SHUT_RDWR)

    def end() -> None:
        timer.cancel()
        ours.close()

    timer = threading.Timer(limit_s, close)
    timer.daemon = True
    timer.start()
    return end


FILES: Final = "files"
"""Key in the info of a connection: which files existed when it was opened."""
NEW: Final = "is new"
"""Key in the info of a connection that nobody has used yet."""


def follow(engine: Engine, path: Path) -> None:
    """Drop pooled connections that were opened on files which have been replaced since.

    One that was opened for its first user is new enough, whatever happens to the files meanwhile: the index
    comes and goes with connections of others, and the pool replaces a connection twice at most for a user.
    """

    def note(_dialect: object, entry: ConnectionPoolEntry, *_: object) -> None:
        entry.info.update({FILES: _files(path), NEW: True})  # before they are opened: at worst replaced twice

    def check(_connection: object, entry: ConnectionPoolEntry, _proxy: object) -> None:
        if not entry.info.pop(NEW, False) and entry.info[FILES] != _files(path):
            raise InvalidatePoolError

    event.listen(engine, "do_connect", note)
    event.listen(engine, "checkout", check)


class CommitCounter:
    """Detects commits to the file, by one connection that stays open; used by many threads.

    ``engine`` reads the file and follows its replacement. SQLite's number is relative to a connection, so a
    state names its connection too.
    """

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine, self._path = engine, path
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._open: tuple[int, Connection] | None = None

    def state(self) -> Hashable:
        """Differs from an earlier state if something was committed. Raises ``SQLAlchemyError``."""
        with self._lock:
            try:
                number, connection = self._connected()
                return number, connection.exec_driver_sql("PRAGMA data_version").scalar()
            except BaseException:
                self._disconnect()
                raise

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._disconnect()

    def _connected(self) -> tuple[int, Connection]:
        if self._open is not None and self._open[1].info[FILES] != _files(self._path):
            self._disconnect()
        if self._open is None:
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            self._open = next(self._numbers), connection
        return self._open

    def _disconnect(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened[1].close()


def _files(path: Path) -> Hashable:
    """Inodes of the store and of its log's index. No other file gets the inode of a file that is open."""
    return _inode(path), _inode(path.with_name(f"{path.name}-shm"))


def _inode(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None
