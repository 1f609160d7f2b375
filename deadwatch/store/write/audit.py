"""The audit log: who did what, when, why, and with which outcome. Only its retention deletes rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, insert, select

from deadwatch.store.schema import audit as table
from deadwatch.store.storable import storable_values

WORKER: Final = "redrive worker"
"""The actor of what no user asked for at that moment."""

Witness = Callable[[Connection, str], None]
"""Writes the audit entry of an action on a subject, in the transaction of the action: both or neither."""


def unwitnessed(connection: Connection, subject: str) -> None:
    """Write no entry: the caller does."""
    del connection, subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One action, or the attempt at one; "" stands for "none"."""

    at_ms: int
    who: str
    action: str
    subject: str = ""
    outcome: str = "done"
    why: str = ""
    role: str = ""
    token: str = ""
    request_id: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFilter:
    """A filter of entries; None matches all. ``until_ms`` is exclusive."""

    who: str | None = None
    action: str | None = None
    from_ms: int | None = None
    until_ms: int | None = None


def write(connection: Connection, entry: Entry) -> None:
    """Add an entry in the transaction of ``connection``: with the action or not at all."""
    connection.execute(insert(table), storable_values(asdict(entry)))


def page(connection: Connection, chosen: EntryFilter, before: int | None, limit: int) -> Sequence[Row[Any]]:
    """Up to ``limit`` entries with numbers below ``before``, the newest first."""
    conditions = (
        (table.c.number, "<", before),
        (table.c.who, "=", chosen.who),
        (table.c.action, "=", chosen.action),
        (table.c.at_ms, ">=", chosen.from_ms),
        (table.c.at_ms, "<", chosen.until_ms),
    )
    query = select(table).order_by(table.c.number.desc()).limit(limit)
    for column, operator, value in conditions:
        if value is not None:
            query = query.where(column.op(operator, is_comparison=True)(value))
    return connection.execute(query).all()


def subjects(connection: Connection, action: str, from_ms: int) -> Mapping[str, int]:
    """What the action was done to since then, with the latest time."""
    query = select(table.c.subject, table.c.at_ms).where(table.c.action == action, table.c.at_ms >= from_ms)
    return {row.subject: row.at_ms for row in connection.execute(query.order_by(table.c.number))}


def forget(connection: Connection, before_ms: int, limit: int) -> int:
    """Delete the oldest entries from before ``before_ms``, ``limit`` at most; returns how many."""
    oldest = select(table.c.number).where(table.c.at_ms < before_ms).order_by(table.c.number).limit(limit)
    return connection.execute(delete(table).where(table.c.number.in_(oldest))).rowcount
