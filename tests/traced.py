"""A plugin of pytest: beside what a test has left open stands where it was opened. Too slow for all tests."""

import tracemalloc
from typing import Final

FRAMES: Final = 20


def pytest_collection_finish() -> None:
    """Trace what is allocated from now on."""
    tracemalloc.start(FRAMES)
