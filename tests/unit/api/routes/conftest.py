"""One api for the tests of a module, each of which has a store file of its own in its place."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from api.settings import ApiSettings
from tests.caller import Caller
from tests.operators import caller, settle

Add = Callable[..., None]
NOW_MS = 1_800_000_000_000


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api")


@pytest.fixture(scope="module")
def served(directory: Path) -> Iterator[Caller]:
    """An operator on the service's own machine; the api notices that its store file is another one."""
    settings = ApiSettings(store_url=f"sqlite:///{directory / 'deadwatch.db'}")
    with caller(settings, directory, lambda: NOW_MS) as client:
        yield client


@pytest.fixture
def store_file(directory: Path) -> Path:
    """Where the store is, of which the test before has left nothing."""
    for file in directory.glob("deadwatch.db*"):
        file.unlink()
    return directory / "deadwatch.db"


@pytest.fixture
def client(served: Caller, store_file: Path) -> Iterator[Caller]:
    del store_file  # the one of the test before is gone
    yield served
    settle(served.app)
