"""A database server that is there and does not answer: who waits for it is released after a limit.

A server that is stopped, or whose machine is out of memory, keeps its connections: no time-out of its own, of
libpq or of TCP ends such a wait.
"""

import os
import socket
import threading
from contextlib import suppress
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection


def limit_waits(engine: Engine, limit_s: float) -> None:
    """Close a connection that is in use for longer than ``limit_s`` seconds: its user gets an error.

    A connection is also asked whether it still works before it is used (as by ``pool_pre_ping``, which no
    limit could cover).
    """
    in_use: dict[ConnectionPoolEntry, _Limited] = {}

    def begin(connection: Any, entry: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:  # noqa: ANN401 -- of psycopg
        limited = _Limited(connection.pgconn.socket, limit_s)
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            limited.end()
            raise DisconnectionError(str(error)) from error
        in_use[entry] = limited

    def end(_connection: object, entry: ConnectionPoolEntry) -> None:
        if entry in in_use:
            in_use.pop(entry).end()

    event.listen(engine, "checkout", begin)
    event.listen(engine, "checkin", end)


class _Limited:
    """A connection in use; its socket has a number of our own, which nobody else gets when it is closed."""

    def __init__(self, number: int, limit_s: float) -> None:
        self._socket = socket.socket(fileno=os.dup(number))
        self._timer = threading.Timer(limit_s, self._close)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """The connection is no longer in use."""
        self._timer.cancel()
        self._socket.close()

    def _close(self) -> None:
        with suppress(OSError):  # it has just ended
            self._socket.shutdown(socket.SHUT_RDWR)
