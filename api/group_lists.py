"""Lists of groups in the order, the state and by the filter that are asked for, a bounded part at a time.

Where few groups match, the search stops after ``LOOKED_AT_MOST`` and its cursor goes on from there. What
waits of a group is no column: the list by it looks at the counts of every group.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from heapq import nlargest
from typing import Any, Final, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Connection, Integer, Select, Text, bindparam, tuple_

from api import cursor
from api.cursor import Key
from api.dead_letters import WITH_NOTES, GroupRow, Shelf, on_shelf
from api.group_filter import matcher
from api.waiting import Cause, Waiting
from streaming.store import schema

HOUR_MS: Final = 3_600_000
BATCH: Final = 1_000
LOOKED_AT_MOST: Final = 10_000
COUNTED: Final = len(Cause._fields)
Bound = tuple[Select[tuple[Any, ...]], Mapping[str, int | str]]
"""A statement, and values of its parameters."""

_table = schema.groups.c


class Order(StrEnum):
    """What comes first: most that waits (then the newest record), the newest record, the most records, the
    cause seen first last.
    """

    WAITING = "waiting"
    LATEST = "latest"
    RECORDS = "records"
    NEWEST = "newest"


class State(StrEnum):
    """How a group gets on. All are those that are not archived.

    Of handled ones nothing waits; an hour is what divides the others.
    """

    ALL = "all"
    NEW = "new"
    GROWING = "growing"
    QUIET = "quiet"
    HANDLED = "handled"
    ARCHIVED = "archived"

    @property
    def shelf(self) -> Shelf:
        """Where such groups are."""
        return Shelf.ARCHIVED if self is State.ARCHIVED else Shelf.ACTIVE


WAITS: Final[Mapping[State, bool]] = {
    State.NEW: True,
    State.GROWING: True,
    State.QUIET: True,
    State.HANDLED: False,
}
"""Whether something of a group in this state waits; either in the others."""
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


class Candidate(NamedTuple):
    """A group that may be of the list: its place in it, how much waits of it, what the filter asks of it."""

    key: Key
    waits: int
    facts: tuple[str | int, ...]


def state_of(row: GroupRow, waits: int, now_ms: int) -> State:
    """Archived, unless it has grown since. New: seen first within the hour. Growing: a record within it."""
    if row.archived:
        return State.ARCHIVED
    if not waits:
        return State.HANDLED
    if row.first_ms >= now_ms - HOUR_MS:
        return State.NEW
    return State.GROWING if row.last_ms >= now_ms - HOUR_MS else State.QUIET


def find(connection: Connection, asked: Asked, waiting: Waiting, now_ms: int) -> Found:
    """The next part of the list.

    Raises:
        FilterError: the filter does not compile, or asks what a group cannot tell.
        InvalidCursorError: ``after`` is of no such list.
    """
    numbers = 2 if asked.order is Order.WAITING else 1
    after = None if asked.after is None else cursor.decode(asked.after, names=1, numbers=numbers)
    if asked.filter or asked.order is Order.WAITING or asked.state in WAITS:
        return _search(connection, asked, waiting, after, now_ms)
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
    column, wanted = _COLUMN[order], _wanted(state, shelf)
    if behind:
        place = tuple_(bindparam("number", type_=BigInteger), bindparam("name", type_=Text))
        wanted = wanted.where(tuple_(column, _table.fingerprint) < place)
    return wanted.order_by(column.desc(), _table.fingerprint.desc()).limit(bindparam("limit", type_=Integer))


@cache
def _wanted(state: State, shelf: Shelf) -> Select[tuple[Any, ...]]:
    """Groups of the state, what waits of them aside."""
    hour_ago = bindparam("hour_ago", type_=BigInteger)
    conditions: Mapping[State, tuple[ColumnElement[bool], ...]] = {
        State.NEW: (_table.first_ms >= hour_ago,),
        State.GROWING: (_table.last_ms >= hour_ago, _table.first_ms < hour_ago),
        State.QUIET: (_table.last_ms < hour_ago,),
    }
    return on_shelf(shelf).where(*conditions.get(state, ()))


def _search(connection: Connection, asked: Asked, waiting: Waiting, after: Key | None, now_ms: int) -> Found:
    """Only the groups that match are read whole."""
    facts, matches = matcher(asked.filter)
    wanted = WAITS.get(asked.state)
    found: list[Key] = []
    looked_at = 0
    for one in _candidates(connection, asked, waiting, facts, after, now_ms):
        looked_at += 1
        if wanted in {None, one.waits > 0} and matches(*one.facts):
            found.append(one.key)
        if len(found) > asked.limit:
            found.pop()
            return Found(_whole(connection, found), cursor.encode(found[-1]), looked_at, complete=True)
        if looked_at == LOOKED_AT_MOST:
            return Found(_whole(connection, found), cursor.encode(one.key), looked_at, complete=False)
    return Found(_whole(connection, found), None, looked_at, complete=True)


def _candidates(  # noqa: PLR0917 -- what is asked, and where
    connection: Connection,
    asked: Asked,
    waiting: Waiting,
    facts: Sequence[str],
    after: Key | None,
    now_ms: int,
) -> Iterator[Candidate]:
    """In the order that is asked for, behind ``after``."""
    columns = [*(_table[name] for name in Cause._fields), *(_table[name] for name in facts)]
    if asked.order is Order.WAITING:
        yield from _by_waiting(connection, asked, waiting, columns, after, now_ms)
        return
    while True:
        statement, place = query(asked, after)
        bound = statement.with_only_columns(_COLUMN[asked.order], *columns, maintain_column_froms=True), place
        rows = _read(connection, bound, BATCH, now_ms)
        for number, *values in rows:
            group = Cause(*values[:COUNTED])
            after = number, group.fingerprint
            yield Candidate(after, waiting.of(group), tuple(values[COUNTED:]))
        if len(rows) < BATCH:
            return


def _by_waiting(  # noqa: PLR0917 -- as above
    connection: Connection,
    asked: Asked,
    waiting: Waiting,
    columns: Sequence[Any],
    after: Key | None,
    now_ms: int,
) -> Iterator[Candidate]:
    """Of what matches a filter nobody knows how far to look: then all are sorted."""
    wanted = _wanted(asked.state, asked.shelf).with_only_columns(*columns, maintain_column_froms=True)
    found = []
    for name, cluster, topic, records, last_ms, *facts in connection.execute(
        wanted, {"hour_ago": now_ms - HOUR_MS}
    ):
        waits = waiting.of_counts(name, (cluster, topic), records, last_ms)
        key = waits, last_ms, name
        if after is None or key < after:
            found.append((key, waits, facts))
    selects = asked.filter or asked.state in WAITS
    ranked = sorted(found, reverse=True) if selects else nlargest(asked.limit + 1, found)
    yield from (Candidate(key, waits, tuple(facts)) for key, waits, facts in ranked)


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
