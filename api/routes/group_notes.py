"""What people say of a group of dead letters: owner, comment, archived.

The ETag of a note is its version. Whoever sends it as ``If-Match`` changes that version or none.
"""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Header, Response

from api import dead_letters
from api.audit import Auditing
from api.auth import Calling
from api.errors import NoteChangedError, UnknownGroupError
from api.routes.dead_letters import Fingerprint
from api.schemas import ArchiveRequest, GroupNote, GroupNoteRequest
from api.service import Service, Serving, no_parameters
from api.times import instant
from streaming.store import group_notes
from streaming.store.audit import Witness
from streaming.store.group_notes import Change, Note

router = APIRouter(
    prefix="/dead-letters/groups/{fingerprint}", tags=["dead letters"], dependencies=[Depends(no_parameters)]
)

IfMatch = Annotated[str | None, Header(max_length=100, description="The ETag that was read.")]


@router.get("/note")
def note(service: Serving, fingerprint: Fingerprint, response: Response) -> GroupNote:
    """What was said last; version 0: nothing."""
    with service.store.read() as connection:
        dead_letters.group(connection, fingerprint)
        return _answer(group_notes.find(connection, fingerprint), response)


@router.put("/note")
def write_note(  # noqa: PLR0917 -- what the framework hands over
    service: Serving,
    who: Calling,
    audit: Auditing,
    fingerprint: Fingerprint,
    request: Annotated[GroupNoteRequest, Body()],
    response: Response,
    if_match: IfMatch = None,
) -> GroupNote:
    """Say who cares for the group, and what others should know."""

    def said(before: Note, _: int) -> Note:
        _check(before, if_match)
        return _by(service, who.name, replace(before, owner=request.owner, comment=request.comment))

    return _answer(_changed(service, fingerprint, said, audit.witness()), response)


@router.post("/archive")
def archive(  # noqa: PLR0917 -- as above
    service: Serving,
    who: Calling,
    audit: Auditing,
    fingerprint: Fingerprint,
    request: Annotated[ArchiveRequest, Body()],
    response: Response,
) -> GroupNote:
    """Take it off the list until it grows."""

    def archived(before: Note, records: int) -> Note:
        at_ms = service.now_ms()
        kept = replace(before, archive_reason=request.reason, archived_at_ms=at_ms, archived_records=records)
        return _by(service, who.name, kept)

    also = audit.witness(request.reason)
    return _answer(_changed(service, fingerprint, archived, also), response)


@router.post("/unarchive")
def unarchive(
    service: Serving, who: Calling, audit: Auditing, fingerprint: Fingerprint, response: Response
) -> GroupNote:
    """Put it back on the list."""

    def back(before: Note, _: int) -> Note:
        opened = replace(before, archive_reason="", archived_at_ms=0, archived_records=0)
        return _by(service, who.name, opened)

    return _answer(_changed(service, fingerprint, back, audit.witness()), response)


def _by(service: Service, who: str, note: Note) -> Note:
    return replace(note, changed_by=who, changed_at_ms=service.now_ms())


def _check(before: Note, if_match: str | None) -> None:
    if if_match is not None and if_match.strip() not in {"*", f'"{before.version}"'}:
        raise NoteChangedError(before.fingerprint, before.version, if_match)


def _changed(service: Service, fingerprint: str, change: Change, also: Witness) -> Note:
    with service.writer.writing() as connection:
        changed = group_notes.write(connection, fingerprint, change, also)
    if changed is None:
        raise UnknownGroupError(fingerprint)
    return changed


def _answer(note: Note, response: Response) -> GroupNote:
    response.headers["ETag"] = f'"{note.version}"'
    return GroupNote(
        fingerprint=note.fingerprint,
        version=note.version,
        owner=note.owner,
        comment=note.comment,
        archive_reason=note.archive_reason,
        archived_at=instant(note.archived_at_ms),
        archived_records=note.archived_records,
        changed_by=note.changed_by,
        changed_at=instant(note.changed_at_ms),
    )
