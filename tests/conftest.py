"""Databases for the tests that need one which is a process; a test leaves logging as it was; no property is
tested against the clock; nothing but SQLite opens a store.
"""

import logging
from collections.abc import Iterator

import pytest
from hypothesis import settings
from sqlalchemy import Connection, create_engine

from collector.process import QUIET
from streaming.dialects import Reading, read_as
from streaming.store.store import Store
from tests import postgres as servers
from tests.hostile_headers import READINGS
from tests.postgres import Postgres
from tests.store_guard import sitecustomize

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

opened_stores: list[str] = []
sitecustomize.install(opened_stores.append)


@pytest.fixture(autouse=True)
def _nothing_but_sqlite_opens_a_store() -> Iterator[None]:
    """While SQLite has it open: its locks would go."""
    opened_stores.clear()
    yield
    assert opened_stores == []


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A command that a test runs in this process sets its logging up: that ends with the test."""
    root = logging.getLogger()
    handlers, levels = root.handlers[:], {name: logging.getLogger(name).level for name in (None, *QUIET)}
    yield
    for handler in root.handlers[:]:
        if handler not in handlers:
            root.removeHandler(handler)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    logging.captureWarnings(capture=False)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """One server for the session; skipped with the reason where PostgreSQL is not installed."""
    try:
        servers.binaries()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    with servers.running() as server:
        yield server


@pytest.fixture
def postgres(postgres_server: Postgres) -> str:
    """The address of an empty database."""
    return postgres_server.database()


@pytest.fixture
def connection(url: str, store: Store) -> Iterator[Connection]:
    """To look into what the store of a suite wrote."""
    del store  # it has made the tables
    engine = create_engine(url)
    with engine.connect() as opened:
        yield opened
    engine.dispose()


@pytest.fixture(params=READINGS, ids=["built in", "first", "own", "own, first"])
def _reading(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every way of reading headers, one after the other."""
    read_as(request.param)
    yield
    read_as(Reading())
