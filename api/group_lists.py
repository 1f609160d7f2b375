"""Lists of groups in the order, the state and by the filter that are asked for, a bounded part at a time.

A filter is the one language's (``streaming.filter``), evaluated on the newest record of a group, as far as
its cause tells it: a field that every record has of its own cannot be asked of a group. Where few groups
match, the search stops after ``LOOKED_AT_MOST`` and its cursor goes on from there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, tuple_

from api import cursor
from api.cursor import Key
from api.dead_letters import GroupRow, Shelf, on_shelf
from streaming.dialects import CONNECT
from streaming.filter import Filter
from streaming.redrive.errors import FilterError
from streaming.redrive.letter import Cause, Letter
from streaming.store import schema

HOUR_MS: Final = 3_600_000
BATCH: Final = 1_000
LOOKED_AT_MOST: Final = 10_000
GROUP_FIELDS: Final = (
    "dialect",
    "topic",
    "timestamp",
    "source_topic",
    "consumergroup",
    "connector",
    "error_class",
    "message",
    "fingerprint",
)
"""Fields of the language that a group can answer."""

_table = schema.groups.c


class Order(StrEnum):
    """What comes first: the newest record, the most records, the cause seen first last."""

    LATEST = "latest"
    RECORDS = "records"
    NEWEST = "newest"


class State(StrEnum):
    """How a group gets on; an hour is what divides them. All are those that are not archived."""

    ALL = "all"
    NEW = "new"
    GROWING = "growing"
    QUIET = "quiet"
    ARCHIVED = "archived"

    @property
    def shelf(self) -> Shelf:
        """Where such groups are."""
        return Shelf.ARCHIVED if self is State.ARCHIVED else Shelf.ACTIVE


_COLUMN: Final[Mapping[Order, Any]] = {
    Order.LATEST: _table.last_ms,
    Order.RECORDS: _table.records,
    Order.NEWEST: _table.first_ms,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a list is about; ``filter`` is empty for everything."""

    order: Order = Order.LATEST
    state: State = State.ALL
    filter: str = ""
    shelf: Shelf = Shelf.ACTIVE
    after: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Found:
    """A part of the list; ``complete`` is False where the search went no further, ``next`` goes on."""

    rows: Sequence[GroupRow]
    next: str | None
    looked_at: int
    complete: bool


def state_of(row: GroupRow, now_ms: int) -> State:
    """Archived, unless it has grown since. New: seen first within the hour. Growing: a record within it."""
    if row.archived:
        return State.ARCHIVED
    if row.first_ms >= now_ms - HOUR_MS:
        return State.NEW
    return State.GROWING if row.last_ms >= now_ms - HOUR_MS else State.QUIET


def group_filter(text: str) -> Filter:
    """The filter. Raises ``FilterError``, also for a field that no group has."""
    compiled = Filter(text)
    for name in sorted(compiled.fields):
        if name not in GROUP_FIELDS:
            hint = f"open a group to look at its records; groups have {', '.join(GROUP_FIELDS)}"
            raise FilterError(f"{name!r} differs from record to record", hint=hint)
    return compiled


def find(connection: Connection, asked: Asked, now_ms: int) -> Found:
    """The next part of the list.

    Raises:
        FilterError: the filter does not compile, or asks what a group cannot tell.
        InvalidCursorError: ``after`` is of no such list.
    """
    matches = _matcher(asked.filter)
    after = None if asked.after is None else cursor.decode(asked.after, names=1)
    found: list[GroupRow] = []
    looked_at = 0
    while looked_at < LOOKED_AT_MOST:
        size = BATCH if asked.filter else asked.limit + 1
        rows = _read(connection, asked, after, size, now_ms)
        for row in rows:
            looked_at += 1
            after = _key(asked.order, row)
            if matches(row):
                found.append(row)
            if len(found) > asked.limit:
                last = _key(asked.order, found[asked.limit - 1])
                return Found(found[: asked.limit], cursor.encode(last), looked_at, complete=True)
        if len(rows) < size:
            return Found(found, None, looked_at, complete=True)
    return Found(found, cursor.encode(after or ()), looked_at, complete=False)


def query(asked: Asked, after: Key | None, limit: int, now_ms: int) -> Select[tuple[object, ...]]:
    """Up to ``limit`` groups behind ``after``; the filter is not part of it."""
    column, hour_ago = _COLUMN[asked.order], now_ms - HOUR_MS
    conditions: Mapping[State, tuple[ColumnElement[bool], ...]] = {
        State.ALL: (),
        State.NEW: (_table.first_ms >= hour_ago,),
        State.GROWING: (_table.last_ms >= hour_ago, _table.first_ms < hour_ago),
        State.QUIET: (_table.last_ms < hour_ago,),
        State.ARCHIVED: (),
    }
    wanted = on_shelf(asked.shelf).where(*conditions[asked.state])
    if after is not None:
        wanted = wanted.where(tuple_(column, _table.fingerprint) < after)
    return wanted.order_by(column.desc(), _table.fingerprint.desc()).limit(limit)


def _read(connection: Connection, asked: Asked, after: Key | None, limit: int, now_ms: int) -> list[GroupRow]:
    rows = connection.execute(query(asked, after, limit, now_ms)).mappings()
    return [GroupRow(**row) for row in rows]


def _key(order: Order, row: GroupRow) -> Key:
    value: int = getattr(row, _COLUMN[order].name)
    return value, row.fingerprint


def _matcher(text: str) -> Callable[[GroupRow], bool]:
    if not text:
        return lambda _: True
    compiled = group_filter(text)
    return lambda row: compiled(_letter(row))


def _letter(row: GroupRow) -> Letter:
    """The group's newest record, as far as the group tells it."""
    connects = row.dialect == CONNECT.name
    cause = Cause(
        dialect=row.dialect,
        source_topic=row.source_topic,
        source_partition=None,
        consumergroup="" if connects else row.consumer,
        connector=row.consumer if connects else "",
        error_class=row.error_class,
        message=row.message,
        broken=False,
        fingerprint=row.fingerprint,
        attempts=0,
        not_before_ms=0,
        order="",
        origin="",
        marked=False,
    )
    return Letter(row.dlq_topic, 0, 0, row.last_ms, None, None, (), None, cause)
