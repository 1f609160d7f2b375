"""Real Helm, or the reason why there is none."""

import pytest

from tests.chart import tools


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    """Every test here needs the tools; skipped with the reason where Go is not installed."""
    try:
        tools.directory()
    except tools.MissingToolsError as missing:
        pytest.skip(str(missing))
