"""What is asked of a dead letter topic, and the cursor that says how far the answer has come.

A cursor holds the intervals that are left of every partition and a digest of the question: it goes on with
the question that it came from and with no other.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import TypeAdapter, ValidationError

from api.errors import InvalidCursorError
from streaming.redrive.order import Interval

MOST_BYTES: Final = 262_144
"""Of an unpacked cursor: some thousand partitions."""
MOST_OFFSET: Final = 2**63 - 1
_LEFT: Final = TypeAdapter(list[tuple[int, int, int]])


class Order(StrEnum):
    """By time, between the partitions."""

    OLDEST = "oldest"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class Query:
    """Which letters; what is None sets no bound. Times in ms: ``from_ms`` is included, ``to_ms`` is not."""

    topic: str
    partition: int | None = None
    offset: int | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    filter: str | None = None
    order: Order = Order.NEWEST

    @property
    def digest(self) -> str:
        """Tells questions apart."""
        said = json.dumps(
            [self.topic, self.partition, self.offset, self.from_ms, self.to_ms, self.filter, self.order]
        )
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def encode(query: Query, left: Mapping[int, Interval]) -> str:
    """The cursor that goes on with what is left."""
    told = json.dumps([query.digest, [(partition, *left[partition]) for partition in sorted(left)]])
    return base64.urlsafe_b64encode(zlib.compress(told.encode(), 9)).decode().rstrip("=")


def decode(query: Query, cursor: str) -> dict[int, Interval]:
    """What is left.

    Raises:
        InvalidCursorError: it is none that ``encode`` made for this question.
    """
    try:
        packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        digest, told = json.loads(zlib.decompressobj().decompress(packed, MOST_BYTES))
        left = {
            partition: (first, end) for partition, first, end in _LEFT.validate_python(told, strict=False)
        }
    except (ValueError, TypeError, RecursionError, zlib.error, ValidationError):
        raise InvalidCursorError from None
    possible = all(
        0 <= partition < 2**31 and 0 <= first < end <= MOST_OFFSET for partition, (first, end) in left.items()
    )
    if digest != query.digest or not left or not possible or encode(query, left) != cursor:
        raise InvalidCursorError
    return left
