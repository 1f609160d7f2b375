"""The console in front of a store that is full."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine, NullPool, create_engine

from api.app import create_app
from api.auth.role import Role
from api.settings import ApiSettings
from tests import console_store
from tests.unit.api.console_visit import Console, token_for, visiting
from tests.unit.conftest import NOW_MS


@pytest.fixture(scope="session")
def full_store(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with something for every page: to be copied."""
    file = tmp_path_factory.mktemp("full") / "deadwatch.db"
    shutil.copyfile(empty_store, file)
    console_store.fill(create_engine(f"sqlite:///{file}", poolclass=NullPool), NOW_MS)
    return file


@pytest.fixture(scope="module")
def reader(full_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """As an operator sees it, on a full store that the tests of a module share: they change nothing."""
    file = tmp_path_factory.mktemp("reader") / "deadwatch.db"
    shutil.copyfile(full_store, file)
    url = f"sqlite:///{file}"
    app = create_app(ApiSettings(store_url=url), lambda: NOW_MS)
    with visiting(app) as visit:
        visit.sign_in(token_for(app, Role.OPERATOR))
        yield visit


@pytest.fixture
def filled(store: Engine, store_file: Path, full_store: Path) -> None:
    """The store is full, and nothing was in it."""
    del store
    draft = store_file.with_name("draft")
    shutil.copyfile(full_store, draft)
    draft.rename(store_file)


@pytest.fixture
def issued(app: FastAPI, filled: None) -> Callable[[Role], str]:
    """Makes a token of a role, on a full store."""
    del filled
    return lambda role: token_for(app, role)


@pytest.fixture
def operator(console: Console, issued: Callable[[Role], str]) -> Console:
    """As an operator sees it who has signed in, on a full store."""
    console.sign_in(issued(Role.OPERATOR))
    return console
