"""A store in a file, filled row by row; and a server that answers as a test says.

Nothing of the api is imported here: who only hands the tests out would wait for it.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import Engine, NullPool, Table, create_engine

from deadwatch.store import engine as engines
from deadwatch.store import schema
from deadwatch.store.series import Series
from deadwatch.store.store import Store
from tests import console_store
from tests.http_server import Serve, served

NOW_MS = 1_800_000_000_000


@pytest.fixture(scope="session", autouse=True)
def _disks_are_not_waited_for() -> Iterator[None]:
    """No test cuts the power."""
    with pytest.MonkeyPatch.context() as patched:
        pragmas = tuple(pragma.replace("=FULL", "=OFF") for pragma in engines.PRAGMAS)
        patched.setattr(engines, "PRAGMAS", pragmas)
        yield


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path, empty_store: Path) -> str:
    """A store with its tables; a suite about the tables themselves (``MAKES_TABLES``) begins without.

    ``tests/contract`` runs the suites of the store on PostgreSQL.
    """
    file = tmp_path / "store.db"
    if not getattr(request.module, "MAKES_TABLES", False):
        shutil.copyfile(empty_store, file)
    return f"sqlite:///{file}"


@pytest.fixture
def now_ms() -> int:
    """The api's clock: 2027-01-15T08:00:00Z."""
    return NOW_MS


@pytest.fixture
def store_file(tmp_path: Path) -> Path:
    return tmp_path / "deadwatch.db"


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty store of the known version, as streaming's first start leaves it: to be copied."""
    file = tmp_path_factory.mktemp("empty") / "deadwatch.db"
    Store(f"sqlite:///{file}").open().close()
    return file


@pytest.fixture
def store(store_file: Path, empty_store: Path) -> Engine:
    """An empty store of the known version; it is whole from the moment it is there."""
    draft = store_file.with_name("draft")
    shutil.copyfile(empty_store, draft)
    draft.rename(store_file)
    return create_engine(f"sqlite:///{store_file}", poolclass=NullPool)


@pytest.fixture
def add_row(store: Engine) -> Callable[..., None]:
    """Insert a row; columns that are not given are empty, 0, false or null."""

    def add(table: Table, **values: object) -> None:
        with store.begin() as connection:
            console_store.add(connection, table, **values)

    return add


@pytest.fixture
def add_series(add_row: Callable[..., None]) -> Callable[..., None]:
    """Insert a row of a series; what is not named is a label."""

    def add(
        series: Series, value: int, *, detail: object = None, last_ms: int = NOW_MS, **labels: str
    ) -> None:
        add_row(
            schema.series,
            name=series.name,
            labels=series.key(labels),
            value=value,
            first_ms=NOW_MS - 60_000,
            last_ms=last_ms,
            detail=json.dumps(detail or {}),
        )

    return add


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server, which ends with the test, and gives its port."""
    with ExitStack() as servers:
        yield lambda answer: servers.enter_context(served(answer))
