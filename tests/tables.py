"""Tables of cases whose rows begin with their names."""

from collections.abc import Iterable
from typing import Any

import pytest


def named(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The rows for ``parametrize``; the first cell is the name of a case, the others are its arguments."""
    return [pytest.param(*row[1:], id=row[0]) for row in rows]
