"""What every question to the api, and every answer of ``/api/v1``, is made of.

Times are RFC 3339 in UTC, made from milliseconds since the epoch; durations are integers and end in ``_ms``.
A time that is asked for names its zone (``AwareDatetime``). What is not known is "" where a text stands and
null elsewhere.
"""

from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import Any, Final, Generic, TypeVar, get_args

from pydantic import AwareDatetime, BaseModel, Field

A = TypeVar("A", bound="Answer")
Item = TypeVar("Item")
TIME = "2026-11-21T12:38:42.120000Z"


class Answer(BaseModel, frozen=True):
    """Base of every answer."""


class Question(BaseModel, frozen=True, extra="forbid"):
    """Base of the queries and bodies that are made here; a name that it does not know is refused."""


NEXT: Any = Field(description="Cursor of the next page; null at the end.", examples=[None])


class Page(Answer, Generic[Item]):
    """A part of a list; ask again with ``after`` = ``next`` for the rest."""

    items: list[Item]
    next: str | None = NEXT


MS: Final = timedelta(milliseconds=1)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def instant(time_ms: int) -> datetime | None:
    """The time; None for "not known" (0 or less) and for what no calendar has, as a record may claim it."""
    if time_ms <= 0:
        return None
    try:
        return EPOCH + timedelta(milliseconds=time_ms)
    except OverflowError:
        return None


def milliseconds(time: AwareDatetime) -> int:
    """Since the epoch."""
    return (time - EPOCH) // MS


SEEN: Final = {"first_seen": "first_ms", "last_seen": "last_ms"}
"""Times of an answer that rows have under another name; of the others it is the time's name and ``_ms``."""


def answer_of(kind: type[A], row: object, /, **others: object) -> A:
    """An answer made of a row: fields of the same name are copied, "" is null where it may be, times are
    made of the row's milliseconds, ``others`` are given.
    """

    def value(name: str) -> object:
        ms = SEEN.get(name, f"{name}_ms")
        if hasattr(row, ms):
            return instant(getattr(row, ms))
        found = getattr(row, name)
        return None if found == "" and NoneType in get_args(kind.model_fields[name].annotation) else found

    return kind.model_validate(
        {name: value(name) for name in kind.model_fields if name not in others} | others
    )
