"""Dead letters by topic and by cause, and the notes that people make about a cause: owner, comment, archived.

The ETag of a note is its version. A request that sends it as ``If-Match`` changes that version or none.
"""

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Body, Path, Query, Response
from pydantic import Field

from api.answers import TIME, Answer, Question, answer_of, instant
from api.audit import Acting, Action
from api.cursor import PageQuery
from api.errors import NoteChangedError, UnknownGroupError
from api.routes.records import Unmasking, allow_look
from api.service import IfMatch, NoParameters, Searching, Service, Serving, expected_version
from api.signals import dead_letter_groups, dead_letter_topics, group_lists, redrives
from api.signals.dead_letter_groups import DeadLetterGroup, DeadLetterGroupDetail, DeadLetterGroups, masked
from api.signals.dead_letter_topics import DeadLetterTopics, topic_answer
from api.signals.group_choices import GroupOrder, Shelf
from api.signals.group_lists import GroupListRequest
from api.signals.series import SeriesPoint
from api.validation import STORABLE
from deadwatch.deadletter.filter import MAX_CHARS
from deadwatch.store.write.dead_letters import Change, Note, change_note, find_note, read_trend

router = APIRouter(prefix="/dead-letters", tags=["dead letters"])
Fingerprint = Annotated[str, Path(min_length=1, max_length=64, pattern=r"^[0-9A-Za-z_-]+$")]


class TopicsQuery(PageQuery):
    """Which topics, in which order."""

    order: dead_letter_topics.TopicOrder = Field(
        dead_letter_topics.TopicOrder.LATEST,
        description="What comes first: the newest record; or most waiting, among equals the newest record.",
    )


class GroupsQuery(PageQuery):
    """Which groups, in which order."""

    shelf: Shelf = Field(
        Shelf.ACTIVE, description="active: not archived, or grown since; archived: those that did not; all."
    )
    order: GroupOrder = Field(
        GroupOrder.LATEST,
        description="What comes first: the newest record; most waiting, among equals the newest record; most "
        "records; newest cause.",
    )
    filter: str | None = Field(
        None,
        max_length=MAX_CHARS,
        description="Words that must all occur, in upper or lower case, in message, error class, dead letter "
        'topic, source topic, consumer or owner (`"not a number"` is one word); or, with an operator or a '
        "function, CEL over what the records of a group have in common.",
    )


@router.get("/topics")
def topics(service: Serving, query: Annotated[TopicsQuery, Query()]) -> DeadLetterTopics:
    """Dead letter topics, the one with the newest record first unless asked otherwise."""
    rows = service.waiting.get().topics
    page, following = dead_letter_topics.page(rows, query.order, query)
    return DeadLetterTopics(items=[topic_answer(row) for row in page], next=following)


@router.get("/groups", dependencies=[Searching])
def groups(service: Serving, query: Annotated[GroupsQuery, Query()]) -> DeadLetterGroups:
    """Dead letters grouped by cause, the group with the newest record first unless asked otherwise.

    A filter looks at a limited number of groups at a time: while `next` is set there may be more, even on an
    empty page.
    """
    asked = GroupListRequest(
        order=query.order,
        filter=(query.filter or "").strip(),
        shelf=query.shelf,
        after=query.after,
        limit=query.limit,
    )
    waiting = service.waiting.get()
    with service.store.read() as connection:
        found = group_lists.find(connection, asked, waiting, service.now_ms())
    items = [answer_of(DeadLetterGroup, row, waiting=waiting.of(row)) for row in found.rows]
    return DeadLetterGroups(items=items, next=found.next)


@router.get("/groups/{fingerprint}")
def group(
    action: Acting, fingerprint: Fingerprint, asked: Annotated[Unmasking, Query()]
) -> DeadLetterGroupDetail:
    """One group and its newest records; payloads are not shown, only their sizes.

    Headers that describe the failure are shown; others with `unmasked`, which needs the role and is in the
    audit.
    """
    if asked.unmasked:
        with action.service.store.read() as connection:
            dead_letter_groups.group(connection, fingerprint)
    allow_look(action, asked, fingerprint)
    return detail(action.service, fingerprint, unmasked=asked.unmasked)


def detail(service: Service, fingerprint: str, *, unmasked: bool = False) -> DeadLetterGroupDetail:
    """One group with its trend and samples. Raises ``UnknownGroupError``."""
    waiting = service.waiting.get()
    with service.store.read() as connection:
        row = dead_letter_groups.group(connection, fingerprint)
        samples = dead_letter_groups.samples(connection, fingerprint)
        trend = read_trend(connection, fingerprint, service.now_ms())
        loop = redrives.of_group(connection, row.dlq_topic, fingerprint, service.now_ms())
    found = answer_of(
        DeadLetterGroupDetail,
        row,
        waiting=waiting.of(row),
        redriven=loop.sent,
        parked=waiting.parked.get(fingerprint, 0),
        returned=loop.bounced,
        settled=loop.settled,
        success_rate=loop.success_rate,
        trend=[SeriesPoint(at=instant(hour_s * 1_000), value=records) for hour_s, records in trend],
        samples=samples,
    )
    return found if unmasked else masked(found)


class GroupNoteRequest(Question):
    """The note of a group; it replaces the note before."""

    owner: str = Field(
        "",
        max_length=200,
        pattern=STORABLE,
        description="Who takes care of it.",
        examples=["team payments"],
    )
    comment: str = Field("", max_length=4_000, pattern=STORABLE, examples=["converter is being fixed"])


class ArchiveRequest(Question):
    """Why a group is archived."""

    reason: str = Field(
        min_length=1, max_length=1_000, pattern=STORABLE, examples=["fixed in 4.1, records redriven"]
    )


class GroupNote(Answer):
    """The note that people made about a group."""

    fingerprint: str = Field(examples=["3f1c0a9be27d4455"])
    version: int = Field(description="Counts the changes; the ETag.", examples=[1])
    owner: str = Field(examples=["team payments"])
    comment: str = Field(examples=["converter is being fixed"])
    archive_reason: str = Field(examples=[""])
    archived_at: datetime | None = Field(examples=[None])
    archived_records: int = Field(description="Records the group had then.", examples=[0])
    changed_by: str = Field(examples=["alice"])
    changed_at: datetime | None = Field(examples=[TIME])


@router.get("/groups/{fingerprint}/note", dependencies=[NoParameters])
def note(service: Serving, fingerprint: Fingerprint, response: Response) -> GroupNote:
    """The latest note; version 0: there is none."""
    with service.store.read() as connection:
        dead_letter_groups.group(connection, fingerprint)
        return _answer(find_note(connection, fingerprint), response)


@router.put("/groups/{fingerprint}/note", dependencies=[NoParameters])
def write_note(
    action: Acting,
    fingerprint: Fingerprint,
    request: Annotated[GroupNoteRequest, Body()],
    response: Response,
    if_match: IfMatch = None,
) -> GroupNote:
    """Say who cares for the group, and what others should know."""
    expected = expected_version(if_match)

    def changed(before: Note, _: int) -> Note:
        if expected is not None and expected != before.version:
            now = f"the note of group {fingerprint} is at version {before.version}, not {expected}"
            raise NoteChangedError(f"{now}: read it again, then change it")
        return replace(before, owner=request.owner, comment=request.comment)

    return _changed(action, fingerprint, response, changed)


@router.post("/groups/{fingerprint}/archive", dependencies=[NoParameters])
def archive(
    action: Acting, fingerprint: Fingerprint, request: Annotated[ArchiveRequest, Body()], response: Response
) -> GroupNote:
    """Take the group off the list until it grows."""

    def archived(before: Note, records: int) -> Note:
        at_ms = action.service.now_ms()
        return replace(before, archive_reason=request.reason, archived_at_ms=at_ms, archived_records=records)

    return _changed(action, fingerprint, response, archived, request.reason)


@router.post("/groups/{fingerprint}/unarchive", dependencies=[NoParameters])
def unarchive(action: Acting, fingerprint: Fingerprint, response: Response) -> GroupNote:
    """Put the group back on the list."""

    def unarchived(before: Note, _: int) -> Note:
        return replace(before, archive_reason="", archived_at_ms=0, archived_records=0)

    return _changed(action, fingerprint, response, unarchived)


def _changed(
    action: Action, fingerprint: str, response: Response, change: Change, reason: str = ""
) -> GroupNote:
    service = action.service

    def signed(before: Note, records: int) -> Note:
        note = change(before, records)
        return replace(note, changed_by=action.caller.name, changed_at_ms=service.now_ms())

    with service.writer.writing() as connection:
        changed = change_note(connection, fingerprint, signed, action.witness(reason))
    if changed is None:
        raise UnknownGroupError(fingerprint)
    return _answer(changed, response)


def _answer(note: Note, response: Response) -> GroupNote:
    response.headers["ETag"] = f'"{note.version}"'
    return answer_of(GroupNote, note)
