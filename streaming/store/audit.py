"""The audit: who did what, when, why, and how it went. Rows are added; only their retention deletes them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from sqlalchemy import Connection, delete, insert, select

from streaming.store.schema import audit as table
from streaming.store.storable import storable_values

WORKER: Final = "redrive worker"
"""Who did what nobody asked for at that moment."""

Witness = Callable[[Connection, str], None]
"""Keeps what is being done to a subject, in the transaction that does it: with the deed or not at all."""


def unwitnessed(connection: Connection, subject: str) -> None:
    """Keeps nothing: somebody else does."""
    del connection, subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One deed, or the attempt at one; ``""`` is "none"."""

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
class Kept(Entry):
    """An entry as it is kept; numbers grow."""

    number: int

    @property
    def key(self) -> tuple[int]:
        """Its place in the list."""
        return (self.number,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which entries; None: all. ``until_ms`` is left out itself."""

    who: str | None = None
    action: str | None = None
    from_ms: int | None = None
    until_ms: int | None = None


def write(connection: Connection, entry: Entry) -> None:
    """Keep it, in the transaction of ``connection``: with the deed or not at all."""
    connection.execute(insert(table), storable_values(asdict(entry)))


def page(connection: Connection, wanted: Wanted, before: int | None, limit: int) -> Sequence[Kept]:
    """Up to ``limit`` entries with numbers below ``before``, the newest first."""
    conditions = (
        (table.c.number, "<", before),
        (table.c.who, "=", wanted.who),
        (table.c.action, "=", wanted.action),
        (table.c.at_ms, ">=", wanted.from_ms),
        (table.c.at_ms, "<", wanted.until_ms),
    )
    query = select(table).order_by(table.c.number.desc()).limit(limit)
    for column, operator, value in conditions:
        if value is not None:
            query = query.where(column.op(operator, is_comparison=True)(value))
    return [Kept(**row) for row in connection.execute(query).mappings()]


def forget(connection: Connection, before_ms: int, limit: int) -> int:
    """Delete the oldest entries from before that time, ``limit`` at most; how many it were."""
    oldest = select(table.c.number).where(table.c.at_ms < before_ms).order_by(table.c.number).limit(limit)
    return connection.execute(delete(table).where(table.c.number.in_(oldest))).rowcount
