"""A SQLite store as a file: read without changing it, held while nobody uses it, put aside.

Nothing but SQLite opens it in a process that is connected to it: who closes a file takes all locks of the
process with it. ``vacant`` is for commands that have let go of their connections.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy import Engine, NullPool, create_engine, event
from sqlalchemy.engine import URL

from streaming.store.errors import StoreError
from streaming.store.urls import SQLITE, parsed

ADDRESS: Final = "sqlite:///"
BESIDE: Final = ("-wal", "-shm")
"""What SQLite keeps beside the file while it is used, or was until a crash."""
OPERATIONS: Final = 10_000
"""Of SQLite's machine, after which somebody who reads looks whether to stop."""
LOCKS: Final = 0x4000_0000
LOCKS_BYTES: Final = 512
"""Where SQLite locks a file (https://sqlite.org/fileformat2.html, 1.5): with a write-ahead log, everybody who
is connected holds a lock for reading there.
"""


def path_of(text: str) -> Path | None:
    """The file of a store by its address; None where it is on a server."""
    url = parsed(text)
    return Path(url.database or "") if url.drivername == SQLITE else None


def uri(path: Path, *, logged: bool = True) -> str:
    """Of what is there, to be read and never made; without its log when that is not to be trusted."""
    return f"file:{quote(str(path))}?mode=ro{'' if logged else '&immutable=1'}"


def reading(path: Path) -> URL:
    """As ``uri``, for an engine."""
    return URL.create(SQLITE, database=f"file:{quote(str(path))}", query={"mode": "ro", "uri": "true"})


def read_only(path: Path, stopped: Callable[[], bool] | None = None) -> Engine:
    """Connections that read the file, never make one and are not kept; what they do ends when ``stopped``."""
    engine = create_engine(reading(path), hide_parameters=True, poolclass=NullPool)
    if stopped is not None:
        event.listen(engine, "connect", lambda one, _: one.set_progress_handler(stopped, OPERATIONS))
    return engine


@contextmanager
def vacant(path: Path) -> Iterator[None]:
    """Nobody uses the store, nor begins to meanwhile.

    Raises:
        StoreError: somebody does.
    """
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
    """Keep the store under another name, with what is beside it; where it is then."""
    names = (path.with_name(f"{path.name}.aside-{number}") for number in range(1, 1_000_000))
    aside = next(name for name in names if not name.exists())
    for ending in (*BESIDE, ""):
        one = path.with_name(path.name + ending)
        if one.exists():
            one.rename(aside.with_name(aside.name + ending))
    return aside
