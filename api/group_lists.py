"""Lists of groups in the order, the state and by the filter that are asked for, a bounded part at a time.

A filter is the one language's (``streaming.filter``), evaluated on the newest record of a group, as far as
its cause tells it: a field that every record has of its own cannot be asked of a group. Where few groups
match, the search stops after ``LOOKED_AT_MOST`` and its cursor goes on from there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Connection, Integer, Select, Text, bindparam, tuple_

from api import cursor
from api.cursor import Key
from api.dead_letters import WITH_NOTES, GroupRow, Shelf, on_shelf
from streaming.dialects import reading
from streaming.filter import Filter
from streaming.letter import Cause, Letter
from streaming.redrive.errors import FilterError
from streaming.store import schema

HOUR_MS: Final = 3_600_000
BATCH: Final = 1_000
LOOKED_AT_MOST: Final = 10_000
GROUP_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "dialect": ("dialect",),
    "topic": ("dlq_topic",),
    "timestamp": ("last_ms",),
    "source_topic": ("source_topic",),
    "consumergroup": ("dialect", "consumer"),
    "connector": ("dialect", "consumer"),
    "error_class": ("error_class",),
    "message": ("message",),
    "fingerprint": ("fingerprint",),
}
"""Fields of the language that a group can answer, and by which columns."""
CONSUMER: Final = frozenset({"consumergroup", "connector"})
Bound = tuple[Select[tuple[Any, ...]], Mapping[str, int | str]]
"""A statement, and values of its parameters."""

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
    after = None if asked.after is None else cursor.decode(asked.after, names=1)
    if asked.filter:
        return _search(connection, asked, group_filter(asked.filter), after, now_ms)
    rows = [GroupRow(*row) for row in _read(connection, query(asked, after), asked.limit + 1, now_ms)]
    following = cursor.encode(_key(asked.order, rows[asked.limit - 1])) if len(rows) > asked.limit else None
    return Found(rows[: asked.limit], following, len(rows), complete=True)


def query(asked: Asked, after: Key | None) -> Bound:
    """The groups behind ``after``, the filter aside; ``limit`` and ``hour_ago`` are still to be given."""
    statement = _statement(asked.order, asked.state, asked.shelf, behind=after is not None)
    return statement, {} if after is None else dict(zip(("number", "name"), after, strict=True))


@cache
def _statement(order: Order, state: State, shelf: Shelf, *, behind: bool) -> Select[tuple[Any, ...]]:
    """Made once: that takes longer than its rows."""
    column, hour_ago = _COLUMN[order], bindparam("hour_ago", type_=BigInteger)
    conditions: Mapping[State, tuple[ColumnElement[bool], ...]] = {
        State.ALL: (),
        State.NEW: (_table.first_ms >= hour_ago,),
        State.GROWING: (_table.last_ms >= hour_ago, _table.first_ms < hour_ago),
        State.QUIET: (_table.last_ms < hour_ago,),
        State.ARCHIVED: (),
    }
    wanted = on_shelf(shelf).where(*conditions[state])
    if behind:
        place = tuple_(bindparam("number", type_=BigInteger), bindparam("name", type_=Text))
        wanted = wanted.where(tuple_(column, _table.fingerprint) < place)
    return wanted.order_by(column.desc(), _table.fingerprint.desc()).limit(bindparam("limit", type_=Integer))


def _search(connection: Connection, asked: Asked, wanted: Filter, after: Key | None, now_ms: int) -> Found:
    """Groups that tell the filter the same are judged once; only those that match are read whole."""
    told = sorted({name for field in wanted.fields for name in GROUP_FIELDS[field]})
    columns = [_COLUMN[asked.order], _table.fingerprint, *(_table[name] for name in told)]

    asks_who = not CONSUMER.isdisjoint(wanted.fields)

    @cache
    def matches(*values: str | int) -> bool:
        group = dict(zip(told, values, strict=True))
        return not (asks_who and _tells_both(str(group["dialect"]))) and wanted(_letter(group))

    found: list[Key] = []
    looked_at = 0
    while looked_at < LOOKED_AT_MOST:
        statement, place = query(asked, after)
        bound = statement.with_only_columns(*columns, maintain_column_froms=True), place
        rows = _read(connection, bound, BATCH, now_ms)
        for number, fingerprint, *values in rows:
            looked_at += 1
            after = number, fingerprint
            if matches(*values):
                found.append(after)
            if len(found) > asked.limit:
                found.pop()
                return Found(_whole(connection, found), cursor.encode(found[-1]), looked_at, complete=True)
        if len(rows) < BATCH:
            return Found(_whole(connection, found), None, looked_at, complete=True)
    return Found(_whole(connection, found), cursor.encode(after or ()), looked_at, complete=False)


def _read(connection: Connection, bound: Bound, limit: int, now_ms: int) -> Sequence[Any]:
    statement, place = bound
    values = {"hour_ago": now_ms - HOUR_MS, "limit": limit, **place}
    return connection.execute(statement, values).all()


def _whole(connection: Connection, keys: Sequence[Key]) -> list[GroupRow]:
    names = [str(key[-1]) for key in keys]
    rows = connection.execute(WITH_NOTES.where(_table.fingerprint.in_(names)))
    groups = {row.fingerprint: row for row in (GroupRow(*row) for row in rows)}
    return [groups[name] for name in names]


def _key(order: Order, row: GroupRow) -> Key:
    value: int = getattr(row, _COLUMN[order].name)
    return value, row.fingerprint


def _tells_both(dialect: str) -> bool:
    """Whether its records may have a group and a connector: then a group's consumer may be either."""
    return any(one.connector and one.consumergroup for one in reading().dialects if one.name == dialect)


def _letter(told: Mapping[str, Any]) -> Letter:
    """A group's newest record, as far as these columns of the group tell it."""
    dialect, consumer = told.get("dialect", ""), told.get("consumer", "")
    connects = any(one.connector for one in reading().dialects if one.name == dialect)
    cause = Cause(
        dialect=dialect,
        source_topic=told.get("source_topic", ""),
        source_partition=None,
        consumergroup="" if connects else consumer,
        connector=consumer if connects else "",
        error_class=told.get("error_class", ""),
        message=told.get("message", ""),
        broken=False,
        fingerprint=told.get("fingerprint", ""),
        attempts=0,
        not_before_ms=0,
        order="",
        origin="",
        marked=False,
    )
    return Letter(told.get("dlq_topic", ""), 0, 0, told.get("last_ms", 0), None, None, (), None, cause)
