"""Python's collector of cycles, told that thousands of records in hand are no garbage.

They hold no cycles; looking through them again and again is a third of the work of moving them, and half of
the slowest scrapes.
"""

import gc
from typing import Final

OBJECTS: Final = 200_000
"""More than a transaction's records are made of."""


def leave_records_alone() -> None:
    """For a process whose work is moving records, or telling of thousands of rows."""
    gc.freeze()
    gc.set_threshold(OBJECTS, 10, 10)
