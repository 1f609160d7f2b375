"""The file of a SQLite store, as a process sees it that is connected to it: nothing but SQLite opens it.

A file that is closed takes every lock of its process with it, those of SQLite's connections too
(https://sqlite.org/howtocorrupt.html, 2.2). So a commit is told by ``PRAGMA data_version``, and whether the
file is another one by its inode: to ask for that opens nothing.
"""

import itertools
import threading
from collections.abc import Hashable
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry

INDEX: Final = "-shm"
FILES: Final = "files"
"""In the info of a connection: which files were there when it was opened."""


def follow(engine: Engine, path: Path) -> None:
    """Connections that are kept belong to the files that were there when they were opened: see to that."""

    def note(_dialect: object, entry: ConnectionPoolEntry, *_: object) -> None:
        entry.info[FILES] = _files(path)  # before they are opened: at worst it is done twice

    def check(_connection: object, entry: ConnectionPoolEntry, _proxy: object) -> None:
        if entry.info[FILES] != _files(path):
            raise InvalidatePoolError

    event.listen(engine, "do_connect", note)
    event.listen(engine, "checkout", check)


class Commits:
    """Tells whether something was committed to the file, by one kept connection; used by many threads.

    ``engine`` reads the file and follows it. What SQLite says is relative to a connection, so a value names
    its connection too.
    """

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine, self._path = engine, path
        self._one_at_a_time = threading.Lock()
        self._numbers = itertools.count()
        self._kept: tuple[int, Connection] | None = None

    def state(self) -> Hashable:
        """Another value than before: something was committed. Raises ``SQLAlchemyError``."""
        with self._one_at_a_time:
            try:
                number, connection = self._connected()
                return number, connection.exec_driver_sql("PRAGMA data_version").scalar()
            except BaseException:
                self._let_go()
                raise

    def close(self) -> None:
        """Let go of the connection."""
        with self._one_at_a_time:
            self._let_go()

    def _connected(self) -> tuple[int, Connection]:
        if self._kept is not None and self._kept[1].info[FILES] != _files(self._path):
            self._let_go()
        if self._kept is None:
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            self._kept = next(self._numbers), connection
        return self._kept

    def _let_go(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            kept[1].close()


def _files(path: Path) -> Hashable:
    """The store, and the index of its log. A file that is open keeps its inode."""
    return _inode(path), _inode(path.with_name(path.name + INDEX))


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
