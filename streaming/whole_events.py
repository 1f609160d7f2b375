"""Single events in the very bytes that ``contract.events.encode`` writes, read without Spark.

What is written in another way (blanks, other fields or their order, text that would be cut, a number that may
be beyond 64 bits, nonsense) is not refused here: ``streaming.decode`` reads it.
"""

import re
from functools import cache
from typing import Final

from pydantic import TypeAdapter, ValidationError

from collector.contract.events import KINDS, VERSION, Event, encode

_BEGIN: Final = re.compile(rb'\{"v":%d,"kind":"(\w+)"' % VERSION)
_HUGE: Final = re.compile(rb"[0-9]{19}")


def whole_event(value: bytes | None) -> Event | None:
    """The event that ``encode`` makes this value of, None where there is none."""
    begin = _BEGIN.match(value or b"")
    if value is None or begin is None or begin[1].decode() not in KINDS or _HUGE.search(value):
        return None
    try:
        event = _adapter(begin[1].decode()).validate_json(value, strict=True)
    except ValidationError:
        return None
    return event if encode(event)[1] == value else None


@cache
def _adapter(kind: str) -> TypeAdapter[Event]:
    return TypeAdapter(KINDS[kind])
