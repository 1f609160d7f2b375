"""Lists of groups by order, state and filter, a bounded part at a time.

Where few groups match, the search stops after ``LOOKED_AT_MOST`` groups or ``SEARCH_MS``, and its cursor
continues from there. What waits of a group is no column: the list in that order looks at the groups of the
most records first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Text,
    bindparam,
    func,
    select,
    tuple_,
)

from api import cursor
from api.cursor import Key
from api.signals.dead_letter_groups import WITH_NOTES, GroupRow, groups_on
from api.signals.group_choices import GroupOrder, Shelf
from api.signals.group_filter import OWNER, matcher
from api.signals.waiting import CauseFigures, Waiting
from deadwatch.runtime.clock import HOUR_MS, monotonic_ms
from deadwatch.store import schema

BATCH: Final = 1_000
LOOKED_AT_MOST: Final = 10_000
SEARCH_MS: Final = 2_000
"""How long a filter is evaluated for one part of a list."""
RANKED_MOST: Final = 1_000
"""Among how many groups of the newest records ``busiest`` looks."""
COUNTED: Final = len(CauseFigures._fields)
Bound = tuple[Select[tuple[Any, ...]], Mapping[str, int | str]]
"""A statement, and values of its parameters."""
_table = schema.groups.c
_OWNER: Final = func.coalesce(schema.group_notes.c.owner, "")


class GroupState(StrEnum):
    """How a group develops. All are those that are not archived.

    Of a handled group nothing waits. New: first seen within the hour; growing: a record within the hour;
    quiet: the rest.
    """

    ALL = "all"
    NEW = "new"
    GROWING = "growing"
    QUIET = "quiet"
    HANDLED = "handled"
    ARCHIVED = "archived"

    @property
    def shelf(self) -> Shelf:
        """The shelf of such groups."""
        return Shelf.ARCHIVED if self is GroupState.ARCHIVED else Shelf.ACTIVE


WAITS: Final[Mapping[GroupState, bool]] = {
    GroupState.HANDLED: False,
    **dict.fromkeys((GroupState.NEW, GroupState.GROWING, GroupState.QUIET), True),
}
"""Whether something of a group in this state waits; either in the others."""
_COLUMN: Final[Mapping[GroupOrder, Any]] = {
    GroupOrder.LATEST: _table.last_ms,
    GroupOrder.RECORDS: _table.records,
    GroupOrder.NEWEST: _table.first_ms,
}


@dataclass(frozen=True, slots=True)
class GroupListRequest:
    """A request for a list; ``filter`` is a search text (``group_filter``), "" matches everything."""

    order: GroupOrder = GroupOrder.LATEST
    state: GroupState = GroupState.ALL
    filter: str = ""
    shelf: Shelf = Shelf.ACTIVE
    after: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class GroupPage:
    """A part of the list; ``complete`` is False where the search stopped early, ``next`` continues it."""

    rows: Sequence[GroupRow]
    next: str | None
    looked_at: int
    complete: bool


class Candidate(NamedTuple):
    """A group that may belong to the list: its place, how much waits of it, the values for the filter."""

    key: Key
    waits: int
    facts: tuple[str | int, ...]
    group: CauseFigures


def state_of(row: GroupRow, waits: int, now_ms: int) -> GroupState:
    """The state of a group of which ``waits`` records wait; one that has grown since is not archived."""
    if row.archived:
        return GroupState.ARCHIVED
    if not waits:
        return GroupState.HANDLED
    if row.first_ms >= now_ms - HOUR_MS:
        return GroupState.NEW
    return GroupState.GROWING if row.last_ms >= now_ms - HOUR_MS else GroupState.QUIET


def find(connection: Connection, request: GroupListRequest, waiting: Waiting, now_ms: int) -> GroupPage:
    """The next part of the list.

    Raises ``FilterError``: the filter does not compile, or uses a field that groups do not have, or there
    are too many words;
    ``InvalidCursorError``: ``after`` is not a cursor of such a list.
    """
    numbers = 2 if request.order is GroupOrder.WAITING else 1
    after = None if request.after is None else cursor.decode(request.after, names=1, numbers=numbers)
    if request.filter or request.order is GroupOrder.WAITING or request.state in WAITS:
        return _search(connection, request, waiting, after, now_ms)
    read = _read(connection, query(request, after), request.limit + 1, now_ms)
    rows, following = [GroupRow(*row) for row in read[: request.limit]], None
    if len(read) > request.limit:
        following = cursor.encode((getattr(rows[-1], _COLUMN[request.order].name), rows[-1].fingerprint))
    return GroupPage(rows, following, len(read), complete=True)


def query(request: GroupListRequest, after: Key | None) -> Bound:
    """The query of the groups after ``after``, without the filter; ``limit`` and ``hour_ago`` are unbound."""
    statement = _statement(request.order, request.state, request.shelf, behind=after is not None)
    return statement, {} if after is None else dict(zip(("number", "name"), after, strict=True))


@cache
def _statement(
    order: GroupOrder, state: GroupState, shelf: Shelf, *, behind: bool
) -> Select[tuple[Any, ...]]:
    """Groups of the state, apart from what waits of them; cached: to build it takes longer than to read."""
    column, hour_ago = _COLUMN[order], bindparam("hour_ago", type_=BigInteger)
    conditions: Mapping[GroupState, tuple[ColumnElement[bool], ...]] = {
        GroupState.NEW: (_table.first_ms >= hour_ago,),
        GroupState.GROWING: (_table.last_ms >= hour_ago, _table.first_ms < hour_ago),
        GroupState.QUIET: (_table.last_ms < hour_ago,),
    }
    groups = groups_on(shelf).where(*conditions.get(state, ()))
    if behind:
        place = tuple_(bindparam("number", type_=BigInteger), bindparam("name", type_=Text))
        groups = groups.where(tuple_(column, _table.fingerprint) < place)
    return groups.order_by(column.desc(), _table.fingerprint.desc()).limit(bindparam("limit", type_=Integer))


def _search(
    connection: Connection, request: GroupListRequest, waiting: Waiting, after: Key | None, now_ms: int
) -> GroupPage:
    """Search candidates; only the groups that match are read whole."""
    facts, matches = matcher(request.filter)
    waits = WAITS.get(request.state)
    candidates: Iterable[Candidate]
    if request.order is GroupOrder.WAITING:  # to rank all of them is no part of the search
        by_records = replace(request, order=GroupOrder.RECORDS)
        every = _candidates(connection, by_records, waiting, facts, None, now_ms)
        candidates = _by_waiting(every, request, after)
    else:
        candidates = _candidates(connection, request, waiting, facts, after, now_ms)
    found: list[Key] = []
    looked_at, until_ms = 0, monotonic_ms() + SEARCH_MS
    for looked_at, candidate in enumerate(candidates, 1):
        if waits in {None, candidate.waits > 0} and matches(*candidate.facts):
            found.append(candidate.key)
        if len(found) > request.limit:
            rows = _whole(connection, found[:-1])
            return GroupPage(rows, cursor.encode(found[-2]), looked_at, complete=True)
        if looked_at == LOOKED_AT_MOST or (request.filter and monotonic_ms() >= until_ms):
            rows = _whole(connection, found)
            return GroupPage(rows, cursor.encode(candidate.key), looked_at, complete=False)
    return GroupPage(_whole(connection, found), None, looked_at, complete=True)


def _candidates(  # noqa: PLR0917 -- a query has as many parts
    connection: Connection,
    request: GroupListRequest,
    waiting: Waiting,
    facts: Sequence[str],
    after: Key | None,
    now_ms: int,
) -> Iterator[Candidate]:
    """Candidates in the order of a column, after ``after``."""
    columns = [_COLUMN[request.order], *(_table[name] for name in CauseFigures._fields)]
    columns += [_OWNER if name == OWNER else _table[name] for name in facts]
    while True:
        statement, place = query(request, after)
        bound = statement.with_only_columns(*columns, maintain_column_froms=True), place
        rows = _read(connection, bound, BATCH, now_ms)
        for number, *values in rows:
            group = CauseFigures(*values[:COUNTED])
            after = number, group.fingerprint
            yield Candidate(after, waiting.of(group), tuple(values[COUNTED:]), group)
        if len(rows) < BATCH:
            return


def _by_waiting(
    by_records: Iterable[Candidate], request: GroupListRequest, after: Key | None
) -> list[Candidate]:
    """Candidates by what waits: of no group more waits than it has records, so the search stops early.

    With a filter nobody knows how far to search: then all of the state are sorted.
    """
    waits = WAITS.get(request.state)
    best: list[Candidate] = []
    for found in by_records:
        if waits not in {None, found.waits > 0}:
            continue
        enough = not request.filter and len(best) > request.limit
        if enough and best[0].waits > found.group.records:
            break
        candidate = found._replace(key=(found.waits, found.group.last_ms, found.group.fingerprint))
        if after is None or candidate.key < after:
            heappush(best, candidate)
            if enough:
                heappop(best)
    return sorted(best, reverse=True)


def _read(connection: Connection, bound: Bound, limit: int, now_ms: int) -> Sequence[Any]:
    statement, place = bound
    values = {"hour_ago": now_ms - HOUR_MS, "limit": limit, **place}
    return connection.execute(statement, values).all()


def _whole(connection: Connection, keys: Sequence[Key]) -> list[GroupRow]:
    names = [str(key[-1]) for key in keys]
    rows = connection.execute(WITH_NOTES.where(_table.fingerprint.in_(names)))
    groups = {row.fingerprint: GroupRow(*row) for row in rows}
    return [groups[name] for name in names]


def busiest(connection: Connection, now_ms: int, limit: int) -> list[tuple[GroupRow, int]]:
    """Active groups with a record within the hour, and how many records each has since ``busy_since_ms``.

    Most records first; at most ``limit``, chosen among the ``RANKED_MOST`` of the newest records.
    """
    values = {"hour_ago": now_ms - HOUR_MS, "since_s": busy_since_ms(now_ms) // 1_000, "limit": limit}
    grown = {name: int(records) for name, records in connection.execute(_busiest(), values)}
    rows = _whole(connection, [(name,) for name in grown])
    return [(row, grown[row.fingerprint]) for row in rows]


def busy_since_ms(now_ms: int) -> int:
    """The begin of the hour before the present one: growth is stored by the hour, UTC."""
    return (now_ms // HOUR_MS - 1) * HOUR_MS


@cache
def _busiest() -> Select[tuple[Any, ...]]:
    trend = schema.group_trends.c
    newest = (
        groups_on(Shelf.ACTIVE)
        .with_only_columns(_table.fingerprint, maintain_column_froms=True)
        .where(_table.last_ms >= bindparam("hour_ago", type_=BigInteger))
        .order_by(_table.last_ms.desc(), _table.fingerprint.desc())
        .limit(RANKED_MOST)
        .subquery()
    )
    records = func.sum(trend.records)
    return (
        select(trend.fingerprint, records)
        .join(newest, newest.c.fingerprint == trend.fingerprint)
        .where(trend.hour_s >= bindparam("since_s", type_=BigInteger))
        .group_by(trend.fingerprint)
        .order_by(records.desc(), trend.fingerprint)
        .limit(bindparam("limit", type_=Integer))
    )
