"""Connections to the store, a file of SQLite or a database of PostgreSQL.

A password is never shown.
"""

import sqlite3
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.exc import SQLAlchemyError

from deadwatch.store.address import DRIVERS, SQLITE, checked_url


def parse_url(text: str) -> URL:
    """The address, with the driver that we use.

    Raises ``ValueError``: it names no store that can be used; the error does not show the text.
    """
    url = make_url(checked_url(text))
    return url.set(drivername=DRIVERS[url.drivername])


def shown(url: URL) -> str:
    """The address for people: without user, password and options, which may hold a password, too."""
    return URL.create(
        url.drivername.split("+")[0], host=url.host, port=url.port, database=url.database
    ).render_as_string()


BUSY_TIMEOUT_MS = 5_000
CLOSE_TIMEOUT_MS = 1_000
READS = "deadwatch_reads"
"""The execution option of a connection whose transactions only read."""
PRAGMAS = (
    f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
)
POSTGRESQL: Mapping[str, Any] = {
    "application_name": "deadwatch",
    "connect_timeout": 5,  # seconds
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "options": "-c lock_timeout=10s -c statement_timeout=60s -c idle_in_transaction_session_timeout=30s"
    " -c timezone=UTC",
}
"""Arguments of libpq: a lost server and a frozen client are noticed, and nothing waits for ever.

In the middle of a pipeline none of these limits holds: see ``end_silent_sessions``.
"""
SILENT_S: Final = 30
"""How long a client may be silent in the middle of a transaction; ``POSTGRESQL`` has the same."""
LOCK_NOT_AVAILABLE: Final = "55P03"
READ_ONLY: Final = "25006"
_SILENT: Final = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    " AND application_name = 'deadwatch' AND usename = current_user AND datname = current_database()"
    " AND state = 'active' AND wait_event = 'ClientRead'"
    " AND query_start < clock_timestamp() - make_interval(secs => %s)"
)


def existing(path: Path, mode: str) -> URL:
    """The URL of an engine on a file of SQLite that exists: ``mode`` "ro" reads it, "rw" writes it, too."""
    return URL.create(SQLITE, database=f"file:{quote(str(path))}", query={"mode": mode, "uri": "true"})


def connect(text: str, *, create: bool = True) -> Engine:
    """An engine; on SQLite ``begin`` takes the write lock at once, so no transaction fails half-way.

    On PostgreSQL a batch locks the row of its lease first, so that writers follow one another. To read only,
    use ``reading``. Errors show no values, since those are other people's records. Without ``create`` a file
    that is not there, or not any more, is an error of the first transaction, and none is made.

    Raises:
        ValueError: the address names no store that can be used.
    """
    url = parse_url(text)
    if url.drivername != SQLITE:
        engine = create_engine(url, pool_pre_ping=True, hide_parameters=True, connect_args=POSTGRESQL)
        event.listen(engine, "connect", note_pooler)
        event.listen(engine, "handle_error", _on_error)
        return engine
    path = Path(url.database or "")
    if create:
        with suppress(OSError):  # the first transaction tells that the file cannot be opened
            path.parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url if create else existing(path, "rw"), hide_parameters=True)
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "close", _on_close)
    event.listen(engine, "begin", _on_begin)
    return engine


def note_pooler(connection: Any, _record: object) -> None:  # noqa: ANN401 -- of psycopg, which no file needs
    """Have nothing prepared on a connection to a pooler: each transaction may have another session there."""
    with connection.transaction(), connection.execute("SELECT pg_backend_pid()") as found:
        if found.fetchone() != (connection.info.backend_pid,):
            connection.prepare_threshold = None


def reading(engine: Engine) -> AbstractContextManager[Connection]:
    """A transaction that only reads one snapshot: it waits for no writer, and no writer waits for it."""
    if engine.dialect.name == SQLITE:
        return engine.execution_options(**{READS: True}).begin()
    return engine.execution_options(isolation_level="REPEATABLE READ").begin()


def end_silent_sessions(engine: Engine) -> None:
    """End sessions of ours on PostgreSQL whose client fell silent in a pipeline for ``SILENT_S``.

    ``executemany`` of psycopg is a pipeline. A client that is frozen there keeps its locks for ever: for the
    server its session is active, neither idle in a transaction nor in a statement.
    """
    with engine.connect() as connection:
        connection.exec_driver_sql(_SILENT, (SILENT_S,))


def unlimited(connection: Connection) -> None:
    """Let each statement of this transaction take its time, as where it goes through all of a table."""
    if connection.dialect.name != SQLITE:
        connection.execute(text("SET LOCAL statement_timeout = 0"))


def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None
    for pragma in PRAGMAS:
        connection.execute(pragma)


def _on_close(connection: sqlite3.Connection, _record: object) -> None:
    """Empty the write-ahead log: while others read, SQLite would keep it, even beside a file put in its
    place.
    """
    with suppress(sqlite3.Error):
        connection.execute(f"PRAGMA busy_timeout={CLOSE_TIMEOUT_MS}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _on_error(context: ExceptionContext) -> None:
    """Who waits for a lock in vain may wait for a client that is frozen; a server that only reads may have
    been the primary, or become it: whoever tries again connects anew.
    """
    state = getattr(context.original_exception, "sqlstate", "")
    context.is_disconnect = context.is_disconnect or state == READ_ONLY
    if context.engine is not None and state == LOCK_NOT_AVAILABLE:
        with suppress(SQLAlchemyError):
            end_silent_sessions(context.engine)


def _on_begin(connection: Connection) -> None:
    reads = connection.get_execution_options().get(READS)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
