"""What people say of a cause: who cares for it, what others should know, that it is done with."""

from fastapi import APIRouter, Response
from pydantic import ValidationError

from api.console.acting import Act
from api.console.errors import FormError
from api.console.forms import Filled
from api.console.pages import see
from api.routes import group_notes
from api.routes.dead_letters import Fingerprint
from api.schemas import ArchiveRequest, GroupNoteRequest

router = APIRouter(prefix="/groups/{fingerprint}")


@router.post("/note", name="write_note")
def write(act: Act, fingerprint: Fingerprint, form: Filled) -> Response:
    """Keep owner and comment; somebody else's words of meanwhile are not overwritten."""
    try:
        said = GroupNoteRequest(owner=form.get("owner", ""), comment=form.get("comment", ""))
    except ValidationError as error:
        raise FormError("; ".join(f"{one['loc'][0]}: {one['msg']}" for one in error.errors())) from None
    seen = f'"{form.get("version", "")}"'
    group_notes.write_note(act.service, act.who, act.audit, fingerprint, said, Response(), seen)
    return see(act.request, f"/groups/{fingerprint}")


@router.post("/archive")
def archive(act: Act, fingerprint: Fingerprint, form: Filled) -> Response:
    """Take it off the list until it grows."""
    if not form.get("reason"):
        raise FormError("say why it is done with: the reason is kept")
    said = ArchiveRequest(reason=form["reason"][:1_000])
    group_notes.archive(act.service, act.who, act.audit, fingerprint, said, Response())
    return see(act.request, f"/groups/{fingerprint}")


@router.post("/unarchive")
def unarchive(act: Act, fingerprint: Fingerprint, form: Filled) -> Response:
    """Put it back on the list."""
    del form
    group_notes.unarchive(act.service, act.who, act.audit, fingerprint, Response())
    return see(act.request, f"/groups/{fingerprint}")
