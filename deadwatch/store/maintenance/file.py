"""A SQLite store as a file: read-only connections, a lock while nobody uses it, moving it aside.

A process with a connection to the store must not open the file by itself: closing a file drops all locks that
the process has on it (POSIX). ``locked`` is for commands that have closed their connections.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy import Engine, NullPool, create_engine, event

from deadwatch.store.address import SQLITE
from deadwatch.store.engine import existing, parse_url
from deadwatch.store.errors import StoreError

ADDRESS: Final = "sqlite:///"
BESIDE: Final = ("-wal", "-shm")
"""Files that SQLite keeps beside the store while it is used, and after a crash."""
OPERATIONS: Final = 10_000
"""Instructions of SQLite's virtual machine between two checks whether to stop."""
LOCKS: Final = 0x4000_0000
LOCKS_BYTES: Final = 512
"""Where SQLite locks a file (https://sqlite.org/fileformat2.html, 1.5): with a write-ahead log, every
connection holds a shared lock there.
"""


def path_of(text: str) -> Path | None:
    """The file of a store by its address; None for a store on a server."""
    url = parse_url(text)
    return Path(url.database or "") if url.drivername == SQLITE else None


def uri(path: Path, *, logged: bool = True) -> str:
    """SQLite's URI to read an existing file; not ``logged``: without its write-ahead log."""
    return f"file:{quote(str(path))}?mode=ro{'' if logged else '&immutable=1'}"


def read_only(path: Path, stopped: Callable[[], bool] | None = None) -> Engine:
    """An engine that reads an existing file and keeps no connections; queries end when ``stopped``."""
    engine = create_engine(existing(path, "ro"), hide_parameters=True, poolclass=NullPool)
    if stopped is not None:
        event.listen(
            engine, "connect", lambda connection, _: connection.set_progress_handler(stopped, OPERATIONS)
        )
    return engine


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a store that nobody uses. Raises ``StoreError``: a process uses it."""
    if not path.exists():
        yield
        return
    with path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, LOCKS_BYTES, LOCKS)
        except OSError:
            raise StoreError(
                f"{path} is in use: stop what works with it (streaming, redrive, api) first"
            ) from None
        yield


def put_aside(path: Path) -> Path:
    """Rename the store and the files beside it; returns its new path."""
    names = (path.with_name(f"{path.name}.aside-{number}") for number in range(1, 1_000_000))
    aside = next(name for name in names if not name.exists())
    for ending in (*BESIDE, ""):
        file = path.with_name(path.name + ending)
        if file.exists():
            file.rename(aside.with_name(aside.name + ending))
    return aside
