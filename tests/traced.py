"""A plugin of pytest: beside what a test has left open stands where it was opened.

Begun behind the collection: a process that is traced from its start imports 25 times as slowly.
"""

import tracemalloc
from typing import Final

FRAMES: Final = 20


def pytest_collection_finish() -> None:
    """Tests alone are traced, too slow for all of them."""
    tracemalloc.start(FRAMES)
