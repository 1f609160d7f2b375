"""Dead letters grouped by cause, and samples of a group.

The list is sorted by the time of the newest record, latest first, then by fingerprint backwards, which makes
the order total: a page begins after the last key of the page before, and ties are neither repeated nor
left out. A group that receives a record while somebody pages moves to the front.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, Select, and_, false, func, not_, select

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


class Shelf(StrEnum):
    """Which groups a list holds: those to look at, those that were archived and have not grown since, all."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    ALL = "all"


def on_shelf(shelf: Shelf) -> Select[tuple[object, ...]]:
    """The groups on it, in no order."""
    note = schema.group_notes.c
    archived = and_(
        func.coalesce(note.archived_at_ms, 0) > 0, schema.groups.c.records <= note.archived_records
    )
    if shelf is Shelf.ALL:
        return _with_notes()
    return _with_notes().where(
        archived if shelf is Shelf.ARCHIVED else not_(func.coalesce(archived, false()))
    )


def group(connection: Connection, fingerprint: str) -> GroupRow:
    """The group of this fingerprint.

    Raises:
        UnknownGroupError: there is none.
    """
    row = (
        connection.execute(_with_notes().where(schema.groups.c.fingerprint == fingerprint)).mappings().first()
    )
    if row is None:
        raise UnknownGroupError(fingerprint)
    return GroupRow(**row)


def _with_notes() -> Select[tuple[object, ...]]:
    note = schema.group_notes.c
    texts = (note.owner, note.comment, note.archive_reason)
    numbers = (note.archived_at_ms, note.archived_records)
    return select(
        schema.groups,
        *(func.coalesce(column, "").label(column.name) for column in texts),
        *(func.coalesce(column, 0).label(column.name) for column in numbers),
    ).select_from(schema.groups.outerjoin(schema.group_notes))


def count_groups(connection: Connection) -> int:
    """How many causes there are."""
    return connection.execute(select(func.count()).select_from(schema.groups)).scalar_one()


def samples(connection: Connection, fingerprint: str) -> list[SampleRow]:
    """The samples of a group, newest first; keys and values are not read."""
    table = schema.samples.c
    columns = (
        table.dlq_topic,
        table.partition,
        table.offset,
        table.timestamp_ms,
        table.headers,
        table.key_bytes,
        table.value_bytes,
    )
    query = select(*columns).where(table.fingerprint == fingerprint)
    rows = connection.execute(query.order_by(table.timestamp_ms.desc(), table.offset.desc())).mappings()
    return [SampleRow(**{**row, "headers": _headers(row["headers"])}) for row in rows]


def _headers(text: str) -> tuple[tuple[str, str | None], ...]:
    try:
        return HEADERS.validate_python(decoded(text or "[]"))
    except ValidationError:
        raise StoreUnavailableError("a sample has headers that are no list of pairs: it is damaged") from None
