"""The read side of the store: consistent, read-only, opened anew for every reading.

The file may not exist yet, disappear or be replaced: every reading says so by ``StoreUnavailableError`` until
there is a store again, and nobody has to be restarted. All queries of one reading see the same moment.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, make_url, select
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from api.errors import ApiError, StoreUnavailableError, StoreVersionError
from streaming.store import schema

BUSY_TIMEOUT_S = 2.0
ABSENT = "there is no store at store_url that can be opened yet: streaming makes it at its first start"


class Store:
    """A store of the schema version that this program knows."""

    def __init__(self, url: str) -> None:
        self._engine = _engine(make_url(url).database or "")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent reading; errors of the database leave it as ``StoreUnavailableError``.

        Raises:
            StoreUnavailableError: the store is missing, locked or damaged.
            StoreVersionError: its schema is of another version.
        """
        with reported(), self._engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")  # else sqlite3 gives every query a moment of its own
            _check_version(connection)
            yield connection

    def missing(self) -> list[str]:
        """What keeps the store from being read; nothing when it can be."""
        try:
            with self.read():
                return []
        except ApiError as error:
            return [str(error)]


@contextmanager
def reported() -> Iterator[None]:
    """Errors of the database become the api's own; the text tells no statement and no value."""
    try:
        yield
    except OperationalError as error:
        if getattr(error.orig, "sqlite_errorname", "") == "SQLITE_CANTOPEN":
            raise StoreUnavailableError(ABSENT) from error
        raise StoreUnavailableError(f"the store cannot be read now: {error.orig}") from error
    except SQLAlchemyError as error:
        raise StoreUnavailableError(f"the store is damaged or no store: {_cause(error)}") from error


def _engine(file: str) -> Engine:
    url = URL.create("sqlite", database=f"file:{quote(file)}", query={"mode": "ro", "uri": "true"})
    return create_engine(url, poolclass=NullPool, connect_args={"timeout": BUSY_TIMEOUT_S})


def _check_version(connection: Connection) -> None:
    found = connection.execute(select(schema.schema_version.c.version)).scalar()
    if found is None:
        raise StoreUnavailableError("the store is being created: it has no schema version yet")
    if found != schema.VERSION:
        raise StoreVersionError(found, schema.VERSION)


def _cause(error: SQLAlchemyError) -> object:
    return getattr(error, "orig", None) or type(error).__name__
