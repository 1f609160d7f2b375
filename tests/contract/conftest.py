"""The suites of the store, on PostgreSQL."""

import psycopg
import pytest

from deadwatch.store.schema import metadata
from deadwatch.store.store import Store
from tests.postgres import Postgres

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
SESSIONS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
SEQUENCES = "SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL"


class Emptied:
    """A store with its tables and no rows: a database of its own for each test took 0.2 s of a core."""

    def __init__(self, server: Postgres) -> None:
        self._server = server
        self._url = ""

    def url(self) -> str:
        """Its address; another database where a test has changed the tables themselves, or is still there."""
        if not self._url or not self._empty():
            self._url = self._server.database()
            Store(self._url).open().close()
        return self._url

    def _empty(self) -> bool:
        with psycopg.connect(self._url, autocommit=True) as connection:
            tables = {name for (name,) in connection.execute(TABLES)} - {"deadwatch_version"}
            if tables != set(metadata.tables) or connection.execute(SESSIONS).fetchall():
                return False
            filled = [
                name
                for name in metadata.tables
                if connection.execute(f"SELECT FROM {name} LIMIT 1".encode()).fetchall()
            ]
            if filled:
                connection.execute(f"TRUNCATE {', '.join(filled)} CASCADE".encode())
            for (name,) in connection.execute(SEQUENCES).fetchall():
                connection.execute(f"ALTER SEQUENCE {name} RESTART".encode())
        return True


@pytest.fixture(scope="session")
def emptied(postgres_server: Postgres) -> Emptied:
    return Emptied(postgres_server)


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    """A store without rows; a suite about the tables themselves (``MAKES_TABLES``) begins without them."""
    if getattr(request.module, "MAKES_TABLES", False):
        return str(request.getfixturevalue("postgres"))
    store: Emptied = request.getfixturevalue("emptied")
    return store.url()
