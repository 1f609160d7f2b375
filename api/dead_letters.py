"""Dead letters grouped by cause, and samples of a group.

The list is sorted by the time of the newest record, latest first, then by fingerprint backwards, which makes
the order total: a page begins after the last key of the page before, and ties are neither repeated nor
left out. A group that receives a record while somebody pages moves to the front.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Column, Connection, Select, Text, and_, bindparam, false, func, not_, select

from api.cursor import Key
from api.errors import StoreUnavailableError, UnknownGroupError
from api.rows import decoded
from streaming.store import schema

HEADERS: Final = TypeAdapter(tuple[tuple[str, str | None], ...])


@dataclass(frozen=True, slots=True)
class GroupRow:
    """Dead letters of one cause; ``message`` is the latest record's."""

    fingerprint: str
    kafka_cluster: str
    dlq_topic: str
    dialect: str
    source_topic: str
    consumer: str
    error_class: str
    message_pattern: str
    message: str
    records: int
    first_ms: int
    last_ms: int
    owner: str
    comment: str
    archive_reason: str
    archived_at_ms: int
    archived_records: int

    @property
    def archived(self) -> bool:
        """Whether it is done with: one that has grown since is back."""
        return self.archived_at_ms > 0 and self.records <= self.archived_records

    @property
    def key(self) -> Key:
        """Its place in the list."""
        return self.last_ms, self.fingerprint


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One of the newest records of a group; its payload stays in the store, -1 bytes is null."""

    dlq_topic: str
    partition: int
    offset: int
    timestamp_ms: int
    headers: tuple[tuple[str, str | None], ...]
    key_bytes: int
    value_bytes: int


def _with_notes() -> Select[tuple[Any, ...]]:
    names = list(GroupRow.__dataclass_fields__)
    group, note = schema.groups.c, schema.group_notes.c
    columns = (
        group[name] if name in group else func.coalesce(note[name], _empty(note[name])).label(name)
        for name in names
    )
    return select(*columns).select_from(schema.groups.outerjoin(schema.group_notes))


def _empty(column: Column[Any]) -> str | int:
    return "" if isinstance(column.type, Text) else 0


WITH_NOTES: Final = _with_notes()
"""Every group, with the columns of ``GroupRow``. Statements are made once: they take longer than the rows."""
_OF_FINGERPRINT: Final = WITH_NOTES.where(schema.groups.c.fingerprint == bindparam("fingerprint"))


class Shelf(StrEnum):
    """Which groups a list holds: those to look at, those that were archived and have not grown since, all."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    ALL = "all"


def on_shelf(shelf: Shelf) -> Select[tuple[Any, ...]]:
    """The groups on it, in no order; the columns are those of ``GroupRow``."""
    note = schema.group_notes.c
    archived = and_(
        func.coalesce(note.archived_at_ms, 0) > 0, schema.groups.c.records <= note.archived_records
    )
    if shelf is Shelf.ALL:
        return WITH_NOTES
    return WITH_NOTES.where(archived if shelf is Shelf.ARCHIVED else not_(func.coalesce(archived, false())))


def group(connection: Connection, fingerprint: str) -> GroupRow:
    """The group of this fingerprint.

    Raises:
        UnknownGroupError: there is none.
    """
    row = connection.execute(_OF_FINGERPRINT, {"fingerprint": fingerprint}).first()
    if row is None:
        raise UnknownGroupError(fingerprint)
    return GroupRow(*row)


_SAMPLES: Final = (
    select(*(schema.samples.c[name] for name in SampleRow.__dataclass_fields__))
    .where(schema.samples.c.fingerprint == bindparam("wanted"))
    .order_by(schema.samples.c.timestamp_ms.desc(), schema.samples.c.offset.desc())
)


def count_groups(connection: Connection) -> int:
    """How many causes there are."""
    return connection.execute(select(func.count()).select_from(schema.groups)).scalar_one()


def samples(connection: Connection, fingerprint: str) -> list[SampleRow]:
    """The samples of a group, newest first; keys and values are not read."""
    rows = connection.execute(_SAMPLES, {"wanted": fingerprint}).mappings()
    return [SampleRow(**{**row, "headers": _headers(row["headers"])}) for row in rows]


def _headers(text: str) -> tuple[tuple[str, str | None], ...]:
    try:
        return HEADERS.validate_python(decoded(text or "[]"))
    except ValidationError:
        raise StoreUnavailableError("a sample has headers that are no list of pairs: it is damaged") from None
