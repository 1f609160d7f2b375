"""The address of a store that is there, and the api in front of it; and an api that is only asked: one for
all tests of a module.
"""

import getpass
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from api.app import create_app
from api.settings import ApiSettings
from cli import local_token as token_file
from tests.caller import Caller
from tests.operators import AT, caller, caller_of


@pytest.fixture
def store_url(store: Engine, store_file: Path) -> str:
    """The address of ``store``."""
    del store
    return f"sqlite:///{store_file}"


@pytest.fixture
def local_token_file(tmp_path: Path) -> Path:
    file = tmp_path / token_file.NAME
    token_file.make(file)
    return file


@pytest.fixture
def me() -> str:
    """The name of who holds the local token."""
    return f"{getpass.getuser()} (local)"


@pytest.fixture
def local_token(local_token_file: Path) -> str:
    return token_file.find(local_token_file, AT)


@pytest.fixture
def app(store_file: Path, local_token_file: Path, now_ms: int) -> FastAPI:
    """The api on ``store_file``, whether there is a store or not, at ``now_ms``."""
    settings = ApiSettings(store_url=f"sqlite:///{store_file}", local_token_file=local_token_file)
    return create_app(settings, now_ms=lambda: now_ms)


@pytest.fixture
def client(app: FastAPI, local_token: str) -> Iterator[Caller]:
    """An operator on the service's own machine."""
    with caller_of(app, local_token) as opened:
        yield opened


@pytest.fixture(scope="module")
def resting(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """An operator before an empty store, for requests that are refused or change nothing."""
    directory = tmp_path_factory.mktemp("resting")
    file = directory / "deadwatch.db"
    shutil.copyfile(empty_store, file)
    with caller(ApiSettings(store_url=f"sqlite:///{file}"), directory) as client:
        yield client
