"""Records of dead letter topics, as they are in Kafka: browsed, looked at, downloaded."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Final, Self

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import Field, model_validator

from api.browsing import query as queries
from api.browsing.browser import Found
from api.browsing.download import File, lines
from api.browsing.payload import View
from api.errors import InvalidSelectionError
from api.record_schemas import DeadLetterRecord, DeadLetterRecords
from api.records import Presentation
from api.service import Service, Serving
from api.unmasking import Seeing, Sight, Unmasking
from streaming.filter import MAX_CHARS, Filter

TOPIC: Final = r"^(\.*[A-Za-z0-9_-][A-Za-z0-9._-]*|\.{3,})$"
MOST_CHARS: Final = 249
"""Every name that Kafka allows: neither . nor .. is one."""
MOST_OFFSET: Final = 2**63 - 1
MOST_PARTITION: Final = 2**31 - 1

PAGE: Final = 500
FILES: Final = {file.media_type: {"schema": {"type": "string"}} for file in File}

router = APIRouter(prefix="/dead-letters/records", tags=["records"])


class Looking(Unmasking):
    """How payloads are shown."""

    view: View = Field(View.AUTO, description="How keys and values are shown.")


class Selecting(Looking):
    """Which records; all that are given must hold."""

    topic: str = Field(
        pattern=TOPIC, max_length=MOST_CHARS, description="A dead letter topic, or one of parked records."
    )
    partition: int | None = Field(None, ge=0, le=MOST_PARTITION)
    offset: int | None = Field(None, ge=0, le=MOST_OFFSET, description="From here on; needs `partition`.")
    begin: datetime | None = Field(None, alias="from", description="By the record's time; included.")
    end: datetime | None = Field(None, alias="to", description="By the record's time; not included.")
    filter: str | None = Field(
        None,
        max_length=MAX_CHARS,
        description="CEL, as for redrives; key, value and headers need the role of `api.unmask_role`.",
        examples=['error_class.endsWith("DataException") && attempts < 3'],
    )
    order: queries.Order = Field(queries.Order.NEWEST, description="Which end comes first.")

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        if self.offset is not None and self.partition is None:
            raise ValueError("offset needs a partition: an offset is a place in one")
        return self

    def query(self) -> queries.Query:
        """The question. Raises ``InvalidSelectionError``."""
        begin_ms, end_ms = _ms("from", self.begin), _ms("to", self.end)
        if begin_ms is not None and end_ms is not None and begin_ms >= end_ms:
            raise InvalidSelectionError("from", "must be before 'to'")
        return queries.Query(
            self.topic, self.partition, self.offset, begin_ms, end_ms, self.filter, self.order
        )


class Browsing(Selecting):
    """A page of them."""

    limit: int = Field(50, ge=1, le=500, description="How many records at most.")
    after: str | None = Field(None, max_length=50_000, description="``next`` of the page before.")


class Downloading(Selecting):
    """All of them."""

    file: File = Field(File.JSONL, alias="as", description="JSON Lines, or CSV.")
    after: str | None = Field(None, max_length=50_000, description="Go on where a download was cut.")


@router.get("")
def browse(service: Serving, sight: Seeing, asked: Annotated[Browsing, Query()]) -> DeadLetterRecords:
    """Records of a dead letter topic by time; moves no consumer's offset.

    A page ends with what was asked for, or when a bound of reading is met: `next` goes on from there, and
    `unread` says what has not been looked at. While `next` is set there may be more, even on an empty page.
    """
    query, matcher = _asked(asked, sight)
    sight.look(asked, query.topic)
    found = service.browser.page(query, matcher, asked.after, asked.limit)
    return _presentation(service, asked).page(found)


@router.get(
    "/download",
    response_class=StreamingResponse,
    responses={200: {"content": FILES, "description": "The file."}},
)
def download(service: Serving, sight: Seeing, asked: Annotated[Downloading, Query()]) -> StreamingResponse:
    """The same as a file. One that is cut says so in its last line, with the cursor of the rest."""
    query, matcher = _asked(asked, sight)
    sight.look(asked, query.topic)
    most = service.settings.browse_download_max_records
    pages = _pages(service, query, matcher, most)
    first = pages(asked.after, 0)  # what is wrong is told before the file begins
    told = lines(asked.file, _presentation(service, asked), first, pages)
    return StreamingResponse(
        told,
        media_type=asked.file.media_type,
        headers={"Content-Disposition": f'attachment; filename="{query.topic}.{asked.file}"'},
    )


def place(
    topic: Annotated[str, Path(pattern=TOPIC, max_length=MOST_CHARS)],
    partition: Annotated[int, Path(ge=0, le=MOST_PARTITION)],
    offset: Annotated[int, Path(ge=0, le=MOST_OFFSET)],
) -> tuple[str, int, int]:
    """Where a record is."""
    return topic, partition, offset


@router.get("/{topic}/{partition}/{offset}")
def one(
    service: Serving,
    sight: Seeing,
    where: Annotated[tuple[str, int, int], Depends(place)],
    asked: Annotated[Looking, Query()],
) -> DeadLetterRecord:
    """One record."""
    sight.look(asked, "/".join(map(str, where)))
    return _presentation(service, asked).record(service.browser.record(*where))


def _asked(asked: Selecting, sight: Sight) -> tuple[queries.Query, Filter | None]:
    query = asked.query()
    matcher = None if query.filter is None else Filter(query.filter)
    if matcher is not None:
        sight.filter_by(matcher.fields)
    return query, matcher


def _presentation(service: Service, asked: Looking) -> Presentation:
    return Presentation(service.renderer, asked.view, asked.unmasked)


def _pages(
    service: Service, query: queries.Query, matcher: Filter | None, most: int
) -> Callable[[str | None, int], Found | None]:
    """The next page of a file that has so many records already; None when it may have no more."""

    def following(after: str | None, written: int) -> Found | None:
        left = min(PAGE, most - written)
        return service.browser.page(query, matcher, after, left) if left > 0 else None

    return following


def _ms(name: str, moment: datetime | None) -> int | None:
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise InvalidSelectionError(name, "must have a time zone, as in 2026-11-21T12:00:00Z")
    return max(0, round(moment.timestamp() * 1_000))
