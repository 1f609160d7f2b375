"""One api for the tests of a module, each of which has a store file of its own in its place."""

import getpass
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from api.settings import ApiSettings
from tests.caller import Caller
from tests.operators import AT, caller, settle
from tests.unit.api.console_visit import Console
from tests.unit.conftest import NOW_MS

Add = Callable[..., None]


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
def store_url(store: Engine, store_file: Path) -> str:
    """The address of ``store``."""
    del store
    return f"sqlite:///{store_file}"


@pytest.fixture
def client(served: Caller, store_file: Path) -> Iterator[Caller]:
    """``served``, whether there is a store or not."""
    del store_file  # the one of the test before is gone
    yield served
    settle(served.app)


@pytest.fixture
def app(client: Caller) -> FastAPI:
    return client.app


@pytest.fixture
def console(client: Caller) -> Iterator[Console]:
    """The console of ``app`` as an anonymous visitor on this machine sees it, with a new browser."""
    with httpx2.Client(base_url=AT, transport=client._asgi) as browser:
        yield Console(browser)


@pytest.fixture
def me() -> str:
    """The name of who holds the local token."""
    return f"{getpass.getuser()} (local)"
