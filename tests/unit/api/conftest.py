"""The address of a store that is there; and an api that is only asked: one for all tests of a module."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.settings import ApiSettings
from tests.operators import operator


@pytest.fixture
def store_url(store: Engine, store_file: Path) -> str:
    """The address of ``store``."""
    del store
    return f"sqlite:///{store_file}"


@pytest.fixture(scope="module")
def resting(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """An operator before an empty store, for requests that are refused or change nothing."""
    directory = tmp_path_factory.mktemp("resting")
    file = directory / "deadwatch.db"
    shutil.copyfile(empty_store, file)
    with operator(ApiSettings(store_url=f"sqlite:///{file}"), directory) as client:
        yield client
