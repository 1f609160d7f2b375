"""Positions on a disk of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.positions import Positions


@pytest.fixture
def positions(tmp_path: Path) -> Iterator[Positions]:
    with Positions(tmp_path / "positions.sqlite") as opened:
        yield opened
