"""The suites of the store, on PostgreSQL."""

import pytest


@pytest.fixture
def url(postgres: str) -> str:
    """An empty database."""
    return postgres
