"""Records of dead letter topics, as they are in Kafka: browsed, looked at, downloaded.

Payloads are masked, except for callers with the role of ``api.unmask_role``; every look, and every filter
over payloads, is in the audit.
"""

from typing import Annotated, Final, Self

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import Field, model_validator

from api.answers import Question
from api.audit import FILTERED, UNMASKED, Acting, Action
from api.auth.role import Role
from api.auth.roles import checked
from api.browsing.browser import MOST_CHARS, MOST_OFFSET, MOST_PARTITION, RecordPage, RecordQuery
from api.browsing.payload import View
from api.browsing.records import DeadLetterRecord, DeadLetterRecords, File, RecordRenderer, lines
from api.errors import InvalidSelectionError
from api.service import Searching
from api.validation import STORABLE, TOPIC
from deadwatch.deadletter.filter import Filter
from deadwatch.deadletter.filter.fields import PAYLOAD


class Unmasking(Question):
    """Whether payloads are shown unmasked; any other parameter of the query is refused."""

    unmasked: bool = Field(False, description="Payloads as they are: needs the role of `api.unmask_role`.")
    why: str = Field("", max_length=500, pattern=STORABLE, description="For the audit; needed when unmasked.")

    @model_validator(mode="after")
    def _refuse_looks_without_a_reason(self) -> Self:
        if self.unmasked and not self.why.strip():
            raise ValueError("say why payloads are shown unmasked: the audit keeps it")
        return self


def allow_look(action: Action, asked: Unmasking, subject: str) -> None:
    """Allow the request to show payloads unmasked, if it asks for that, after an entry in the audit.

    Raises ``ApiError`` where the caller may not, or the entry cannot be written.
    """
    if asked.unmasked:
        _check_role(action)
        action.record(UNMASKED, subject, asked.why)


def allow_filter(action: Action, asked: Filter, topic: str) -> None:
    """Allow a filter on records of the topic, after an entry in the audit where it asks about payloads.

    Raises ``ApiError`` where the caller may not, or the entry cannot be written.
    """
    if not PAYLOAD.isdisjoint(asked.fields):
        _check_role(action)
        action.record(FILTERED, topic, f"filter: {asked.text}")


def _check_role(action: Action) -> None:
    checked(action.caller, Role(action.service.settings.unmask_role))


PAGE: Final = 500
MOST_PAGES_READ: Final = 20
"""How many full pages are read at most for a file, however few of their records are in it."""
FILES: Final = {file.media_type: {"schema": {"type": "string"}} for file in File}
router = APIRouter(prefix="/dead-letters/records", tags=["records"], dependencies=[Searching])


class Looking(Unmasking):
    """How payloads are shown."""

    view: View = Field(View.AUTO, description="How keys and values are shown; masked, `protobuf` is `auto`.")


class Selecting(RecordQuery, Looking):
    """Which records, and how their payloads are shown."""


class Browsing(Selecting):
    """Which records, and which page of them."""

    limit: int = Field(50, ge=1, le=500, description="How many records at most.")
    after: str | None = Field(None, max_length=50_000, description="``next`` of the page before.")


class Downloading(Selecting):
    """Which records, and in which format."""

    file: File = Field(File.JSONL, alias="as", description="JSON Lines, or CSV.")
    after: str | None = Field(None, max_length=50_000, description="Go on where a download was cut.")


@router.get("")
def browse(action: Acting, asked: Annotated[Browsing, Query()]) -> DeadLetterRecords:
    """Records of a dead letter topic by time; moves no consumer's offset.

    A page ends with `limit` records, or when a bound of reading is met: `next` continues there, and `unread`
    says which offsets were not read. While `next` is set there may be more, even on an empty page.
    """
    record_filter = _allowed(action, asked)
    found = action.service.browser.page(asked, record_filter, asked.after, asked.limit)
    return _presentation(action, asked).page(found)


@router.get(
    "/download",
    response_class=StreamingResponse,
    responses={200: {"content": FILES, "description": "The file."}},
)
def download(action: Acting, asked: Annotated[Downloading, Query()]) -> StreamingResponse:
    """The same records as a file. A file that is cut says so in its last line, with the cursor of the
    rest.
    """
    record_filter = _allowed(action, asked)
    settings = action.service.settings
    most = settings.browse_download_max_records
    most_read = max(most, MOST_PAGES_READ * settings.browse_max_records)

    def page(after: str | None, written: int, read: int) -> RecordPage | None:
        """The next page of a file; None when it may have no more."""
        left = min(PAGE, most - written)
        if left <= 0 or read >= most_read:
            return None
        return action.service.browser.page(asked, record_filter, after, left)

    first = page(asked.after, 0, 0)  # an error is answered before the file begins
    content = lines(asked.file, _presentation(action, asked), first, page)
    return StreamingResponse(
        content,
        media_type=asked.file.media_type,
        headers={"Content-Disposition": f'attachment; filename="{asked.topic}.{asked.file}"'},
    )


def place(
    topic: Annotated[str, Path(pattern=TOPIC, max_length=MOST_CHARS)],
    partition: Annotated[int, Path(ge=0, le=MOST_PARTITION)],
    offset: Annotated[int, Path(ge=0, le=MOST_OFFSET)],
) -> tuple[str, int, int]:
    """The place of a record: topic, partition, offset."""
    return topic, partition, offset


@router.get("/{topic}/{partition}/{offset}")
def one(
    action: Acting,
    where: Annotated[tuple[str, int, int], Depends(place)],
    asked: Annotated[Looking, Query()],
) -> DeadLetterRecord:
    """One record, by its place."""
    allow_look(action, asked, "/".join(map(str, where)))
    return _presentation(action, asked).record(action.service.browser.record(*where))


def _allowed(action: Action, asked: Selecting) -> Filter | None:
    """The filter. Raises ``ApiError``: the selection contradicts itself, or the caller may not ask for it."""
    if asked.from_ms is not None and asked.to_ms is not None and asked.from_ms >= asked.to_ms:
        raise InvalidSelectionError("from", "must be before 'to'")
    record_filter = None if asked.filter is None else Filter(asked.filter)
    if record_filter is not None:
        allow_filter(action, record_filter, asked.topic)
    allow_look(action, asked, asked.topic)
    return record_filter


def _presentation(action: Action, asked: Looking) -> RecordRenderer:
    return RecordRenderer(action.service.renderer, asked.view, asked.unmasked)
