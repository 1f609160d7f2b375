"""One lab for all integration tests: its truth only grows, so a test compares before and after."""

from collections.abc import Iterator

import pytest

from lab import Lab


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    with Lab() as running:
        yield running
