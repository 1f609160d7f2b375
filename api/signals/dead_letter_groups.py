"""Dead letters grouped by cause, and samples of a group.

The list is sorted by the time of the newest record, latest first, then by fingerprint backwards, which makes
the order total: a page begins after the last key of the page before, and ties are neither repeated nor
left out. A group that receives a record while somebody pages moves to the front.
"""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

from pydantic import Field, TypeAdapter, ValidationError
from sqlalchemy import Connection, Select, and_, bindparam, false, func, not_, select

from api.answers import TIME, Answer, Page, answer_of
from api.errors import StoreUnavailableError, UnknownGroupError
from api.signals.group_choices import Shelf
from api.signals.series import SeriesPoint, decoded
from deadwatch.deadletter.record import describes_failure
from deadwatch.store import schema
from deadwatch.store.batch import GroupDelta

HEADERS: Final = TypeAdapter(tuple[tuple[str, str | None], ...])


@dataclass(frozen=True, slots=True)
class GroupRow(GroupDelta):
    """Dead letters of one cause, as streaming has added them up (``message`` is the latest record's), and the
    note on it.
    """

    owner: str
    comment: str
    archive_reason: str
    archived_at_ms: int
    archived_records: int

    @property
    def archived(self) -> bool:
        """Whether it is archived; a group that has grown since is active again."""
        return self.archived_at_ms > 0 and self.records <= self.archived_records


def _with_notes() -> Select[tuple[Any, ...]]:
    group, note = schema.groups.c, schema.group_notes.c
    columns = (
        group[field.name]
        if field.name in group
        else func.coalesce(note[field.name], "" if field.type is str else 0).label(field.name)
        for field in fields(GroupRow)
    )
    return select(*columns).select_from(schema.groups.outerjoin(schema.group_notes))


WITH_NOTES: Final = _with_notes()
"""Selects every group, with the columns of ``GroupRow``. Built once: that takes longer than reading rows."""
_OF_FINGERPRINT: Final = WITH_NOTES.where(schema.groups.c.fingerprint == bindparam("fingerprint"))
_SAMPLES: Final = (
    select(*(column for column in schema.samples.c if column.name not in {"key", "value"}))
    .where(schema.samples.c.fingerprint == bindparam("fingerprint"))
    .order_by(schema.samples.c.timestamp_ms.desc(), schema.samples.c.offset.desc())
)


def groups_on(shelf: Shelf) -> Select[tuple[Any, ...]]:
    """A query of the groups on the shelf, in no order; the columns are those of ``GroupRow``."""
    note = schema.group_notes.c
    archived = and_(
        func.coalesce(note.archived_at_ms, 0) > 0, schema.groups.c.records <= note.archived_records
    )
    if shelf is Shelf.ALL:
        return WITH_NOTES
    return WITH_NOTES.where(archived if shelf is Shelf.ARCHIVED else not_(func.coalesce(archived, false())))


def group(connection: Connection, fingerprint: str) -> GroupRow:
    """The group of this fingerprint. Raises ``UnknownGroupError``."""
    row = connection.execute(_OF_FINGERPRINT, {"fingerprint": fingerprint}).first()
    if row is None:
        raise UnknownGroupError(fingerprint)
    return GroupRow(*row)


def count_groups(connection: Connection) -> int:
    """The number of causes."""
    return connection.execute(select(func.count()).select_from(schema.groups)).scalar_one()


def _headers(text: str) -> list["Header"]:
    try:
        pairs = HEADERS.validate_python(decoded(text or "[]"))
    except ValidationError:
        raise StoreUnavailableError("a sample has headers that are no list of pairs: it is damaged") from None
    return [Header(name=name, value=value, masked=False) for name, value in pairs]


class DeadLetterGroup(Answer):
    """Dead letters of one cause."""

    fingerprint: str = Field(examples=["3f1c0a9be27d4455"])
    kafka_cluster: str = Field(examples=["default"])
    dlq_topic: str = Field(examples=["dlq.filesink"])
    dialect: str = Field(examples=["connect"])
    source_topic: str = Field(examples=["payments"])
    consumer: str = Field(description="Connector, share group or application.", examples=["filesink"])
    error_class: str = Field(examples=["org.apache.kafka.connect.errors.DataException"])
    message: str = Field(
        description="The message of the latest record.", examples=["Converting byte[] failed at offset 17"]
    )
    message_pattern: str = Field(
        description="The message without its variable parts.",
        examples=["Converting byte[] failed at offset #"],
    )
    records: int = Field(description="All that have ever arrived.", examples=[10])
    waiting: int = Field(
        description="Of these, neither moved nor parked by a redrive, and no more than wait on its topic; "
        "0: all are handled, or gone as far as that is known.",
        examples=[4],
    )
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])
    owner: str = Field(description="Who takes care of it.", examples=["team payments"])
    comment: str = Field(examples=["converter is being fixed"])
    archived: bool = Field(description="Archived; false again as soon as the group grows.", examples=[False])
    archive_reason: str = Field(examples=[""])
    archived_at: datetime | None = Field(
        description="Also set for a group that has grown since.", examples=[None]
    )


class DeadLetterGroups(Page[DeadLetterGroup]):
    """Groups by cause, in the requested order."""


class Header(Answer):
    """A header of a record; long values are cut, and headers that do not describe the failure are masked."""

    name: str = Field(examples=["__connect.errors.stage"])
    value: str | None = Field(examples=["VALUE_CONVERTER"])
    masked: bool = Field(description="It has a value that is not shown.", examples=[False])


class Sample(Answer):
    """One of the newest records of a group, without its payload: of key and value only the size is shown."""

    dlq_topic: str = Field(examples=["dlq.filesink"])
    partition: int = Field(examples=[0])
    offset: int = Field(examples=[42])
    timestamp: datetime | None = Field(examples=[TIME])
    headers: list[Header]
    key_bytes: int | None = Field(description="null: the record has no key.", examples=[None])
    value_bytes: int | None = Field(description="null: the record has no value.", examples=[408])


class DeadLetterGroupDetail(DeadLetterGroup):
    """A group, how it grew by the hour over the last day, and its samples, newest first.

    ``redriven`` and the four behind it are of its records, whichever redrive has sent them.
    """

    redriven: int = Field(examples=[120])
    parked: int = Field(
        description="Their attempts were used up, or their error class excluded.", examples=[3]
    )
    returned: int = Field(description="Of these, back on a dead letter topic.", examples=[2])
    settled: int = Field(description="Of these, not back within the settle window.", examples=[100])
    success_rate: float | None = Field(
        description="Share of settled among settled and returned; null: not known yet.", examples=[0.98]
    )

    trend: list[SeriesPoint] = Field(description="An hour that is missing is 0.")
    samples: list[Sample]


def samples(connection: Connection, fingerprint: str) -> list[Sample]:
    """The samples of a group for who may see them unmasked, newest first; keys and values are not read."""
    return [
        answer_of(
            Sample,
            row,
            headers=_headers(row.headers),
            key_bytes=None if row.key_bytes < 0 else row.key_bytes,
            value_bytes=None if row.value_bytes < 0 else row.value_bytes,
        )
        for row in connection.execute(_SAMPLES, {"fingerprint": fingerprint})
    ]


def masked(group: DeadLetterGroupDetail) -> DeadLetterGroupDetail:
    """The group, of whose samples only headers that describe the failure have their values."""
    samples = [
        sample.model_copy(update={"headers": [_masked(header) for header in sample.headers]})
        for sample in group.samples
    ]
    return group.model_copy(update={"samples": samples})


def _masked(header: Header) -> Header:
    if header.value is None or describes_failure(header.name):
        return header
    return Header(name=header.name, value=None, masked=True)
