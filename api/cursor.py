"""Pages of lists, and their cursors: opaque to clients, the key of a page's last row to us.

A key is the time of the row's newest record in ms, then its names. Whatever a client sends comes back as a
key of the list's own length, or is refused: also the character NUL, which no store has in a text.
"""

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from pydantic import Field

from api.answers import Question
from api.errors import InvalidCursorError

Key = tuple[int | str, ...]
MAX_TIME_MS: Final = 2**63 - 1


class PageQuery(Question):
    """Which page of a list; anything else in the query is refused."""

    limit: int = Field(50, ge=1, le=500, description="How many rows at most.")
    after: str | None = Field(None, description="``next`` of the page before.")


T = TypeVar("T")


def cut(rows: Sequence[T], key: Callable[[T], Key], limit: int) -> tuple[Sequence[T], str | None]:
    """A page of ``limit`` rows and the cursor of the next; ``rows`` holds one row more if there is one."""
    return rows[:limit], encode(key(rows[limit - 1])) if len(rows) > limit else None


def page(
    rows: Iterable[T],
    key: Callable[[T], Key],
    query: PageQuery,
    *,
    numbers: int,
    names: int,
    backwards: bool = False,
) -> tuple[list[T], str | None]:
    """A page of a list that is read whole, sorted by ``key`` (or ``backwards``), and the cursor of the next.

    A key has ``numbers`` numbers, then ``names`` names, and is unique. Raises ``InvalidCursorError``.
    """
    begin = None if query.after is None else decode(query.after, names, numbers)
    placed = sorted(((key(row), row) for row in rows), key=lambda pair: pair[0], reverse=backwards)
    behind = [pair for pair in placed if begin is None or (pair[0] < begin if backwards else pair[0] > begin)]
    following = encode(behind[query.limit - 1][0]) if len(behind) > query.limit else None
    return [row for _, row in behind[: query.limit]], following


def encode(key: Key) -> str:
    """The cursor for ``key``."""
    text = json.dumps(key, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(cursor: str, names: int, numbers: int = 1) -> Key:
    """The key behind a cursor of a list whose keys have ``numbers`` numbers, then ``names`` names.

    Raises ``InvalidCursorError`` unless ``encode`` made the cursor for such a list.
    """
    padded = cursor + "=" * (-len(cursor) % 4)
    try:
        key = tuple(json.loads(base64.b64decode(padded, altchars=b"-_", validate=True)))
        canonical = encode(key) == cursor
    except (ValueError, TypeError, RecursionError):
        raise InvalidCursorError from None
    bounded = all(type(number) is int and abs(number) <= MAX_TIME_MS for number in key[:numbers])
    plain = all(isinstance(name, str) and "\0" not in name for name in key[numbers:])
    if not (canonical and bounded and plain and len(key) == numbers + names):
        raise InvalidCursorError
    return key
