"""Cursors of pages: opaque to clients, the key of a page's last row to us.

A key is the time of the row's newest record in ms, then its names. Whatever a client sends comes back as a
key of the list's own length, or is refused.
"""

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

from api.errors import InvalidCursorError

Key = tuple[int | str, ...]

MAX_TIME_MS: Final = 2**63 - 1


class Keyed(Protocol):
    """A row of a list in total order."""

    @property
    def key(self) -> Key:
        """Its place in the list."""


R = TypeVar("R", bound=Keyed)
T = TypeVar("T")


def cut(rows: Sequence[R], limit: int) -> tuple[Sequence[R], str | None]:
    """A page of ``limit`` rows and the cursor of the next; ``rows`` holds one row more, if there is one."""
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], encode(rows[limit - 1].key)


def page(
    rows: Iterable[T], key: Callable[[T], Key], after: str | None, limit: int, *, numbers: int, names: int
) -> tuple[list[T], str | None]:
    """A page of a list that is read whole, sorted by ``key``, and the cursor of the next.

    Keys have so many numbers, then so many names; no two rows have the same. Raises ``InvalidCursorError``.
    """
    begin = None if after is None else decode(after, names, numbers)
    placed = sorted(((key(row), row) for row in rows), key=lambda one: one[0])
    behind = [one for one in placed if begin is None or one[0] > begin]
    following = encode(behind[limit - 1][0]) if len(behind) > limit else None
    return [row for _, row in behind[:limit]], following


def encode(key: Key) -> str:
    """The cursor that stands for ``key``."""
    text = json.dumps(key, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(cursor: str, names: int, numbers: int = 1) -> Key:
    """The key behind a cursor of a list whose keys have ``numbers`` numbers, then ``names`` names.

    Raises:
        InvalidCursorError: it is not one that ``encode`` made for such a list.
    """
    try:
        key = tuple(json.loads(base64.b64decode(_padded(cursor), altchars=b"-_", validate=True)))
        canonical = encode(key) == cursor
    except (ValueError, TypeError, RecursionError):
        raise InvalidCursorError from None
    if not canonical or len(key) != numbers + names or not _is_key(key, numbers):
        raise InvalidCursorError
    return key


def _padded(cursor: str) -> str:
    return cursor + "=" * (-len(cursor) % 4)


def _is_key(key: Key, numbers: int) -> bool:
    bounded = all(type(number) is int and abs(number) <= MAX_TIME_MS for number in key[:numbers])
    return bounded and all(isinstance(name, str) for name in key[numbers:])
