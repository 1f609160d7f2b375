"""Stores in files: their tables are copied, and nothing waits for the disk."""

import shutil
from pathlib import Path

import pytest

from deadwatch.store import engine as engines


@pytest.fixture(autouse=True)
def _disks_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test cuts the power."""
    pragmas = tuple(pragma.replace("=FULL", "=OFF") for pragma in engines.PRAGMAS)
    monkeypatch.setattr(engines, "PRAGMAS", pragmas)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def url(request: pytest.FixtureRequest, file: Path, empty_store: Path) -> str:
    """A store with its tables; a suite about the tables themselves (``MAKES_TABLES``) begins without."""
    if not getattr(request.module, "MAKES_TABLES", False):
        shutil.copyfile(empty_store, file)
    return f"sqlite:///{file}"
