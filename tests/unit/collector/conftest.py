"""Positions on a disk of their own, and what is done in one of two runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.positions import Positions
from tests.unit.collector.sources.logs.scanning import Maybe


@pytest.fixture
def positions(tmp_path: Path) -> Iterator[Positions]:
    with Positions(tmp_path / "positions.sqlite") as opened:
        yield opened


@pytest.fixture(params=[True, False], ids=["restarted", "running"])
def maybe(request: pytest.FixtureRequest) -> Maybe:
    return lambda act: act() if request.param else None
