"""Processes of a test in which nothing but SQLite may open the file of a store that is open there."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.store_guard.sitecustomize import VARIABLE


@contextmanager
def guarded(directory: Path, environment: Mapping[str, str] = os.environ) -> Iterator[dict[str, str]]:
    """The environment for them; what they have opened until the end fails the test."""
    opened = directory / "opened-stores"
    paths = os.pathsep.join((str(Path(__file__).parent), environment.get("PYTHONPATH", ""), *sys.path))
    yield {**environment, "PYTHONPATH": paths, VARIABLE: str(opened)}
    assert not opened.exists(), opened.read_text()
