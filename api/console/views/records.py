"""Records on a dead letter topic, masked; who has the role and gives a reason can see one unmasked."""

import json
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query
from fastapi.responses import HTMLResponse
from pydantic import Field

from api.answers import Question
from api.audit import Acting, Action
from api.auth.role import Role
from api.auth.roles import Calling, checked
from api.browsing.browser import MOST_CHARS
from api.browsing.records import Payload
from api.console.forms import validated
from api.console.rendering import UNPROCESSABLE, render, traces_among
from api.console.visitor import FormError, SubmittedForm
from api.errors import InvalidSelectionError
from api.routes import records
from api.routes.records import Browsing, Looking, place
from api.service import Searching, Serving
from api.validation import TOPIC
from deadwatch.deadletter.filter import MAX_CHARS
from deadwatch.deadletter.filter.errors import FUNCTIONS, FilterError
from deadwatch.deadletter.filter.fields import FIELDS


async def _may_unmask(service: Serving, who: Calling) -> None:
    checked(who, Role(service.settings.unmask_role))


router = APIRouter(prefix="/records", dependencies=[Searching])
looks = APIRouter(prefix="/records", dependencies=[Depends(_may_unmask), Searching])
"""The form that shows a record unmasked: it changes nothing, so a viewer sends it where viewers may look."""
PAGE = 25
Position = Annotated[tuple[str, int, int], Depends(place)]
"""Topic, partition and offset of a record."""


class RecordsQuery(Question):
    """The query of the list."""

    topic: str = Field(pattern=TOPIC, max_length=MOST_CHARS)
    filter: str = Field("", max_length=MAX_CHARS)
    after: str | None = Field(None, max_length=50_000)


@router.get("")
def browse(action: Acting, query: Annotated[RecordsQuery, Query()]) -> HTMLResponse:
    """A page of the topic, the newest record first; no consumer group's offset is changed."""
    problem, found = "", None
    text = query.filter.strip()
    try:
        asked = Browsing(topic=query.topic, filter=text or None, after=query.after, limit=PAGE)
        found = records.browse(action, asked)
    except (FilterError, InvalidSelectionError) as error:
        problem = str(error)
    return render(
        action.request,
        "records.html",
        UNPROCESSABLE if problem else 200,
        query=query,
        found=found,
        problem=problem,
        address="/records?" + urlencode({"topic": query.topic} | ({"filter": text} if text else {})),
        fields={name: field.help for name, field in FIELDS.items()},
        functions=FUNCTIONS,
    )


@router.get("/{topic}/{partition}/{offset}")
def masked(action: Acting, where: Position) -> HTMLResponse:
    """One record with its payload masked."""
    return _record(action, where, Looking())


@looks.post("/{topic}/{partition}/{offset}")
def unmasked(action: Acting, where: Position, form: SubmittedForm) -> HTMLResponse:
    """One record as it is; the audit keeps the reason before it is shown."""
    if not form.get("why"):
        raise FormError("say why it is shown: the audit keeps it")
    with validated():
        looking = Looking(unmasked=True, why=form["why"])
    return _record(action, where, looking)


def _record(action: Action, where: tuple[str, int, int], looking: Looking) -> HTMLResponse:
    record = records.one(action, where, looking)
    return render(
        action.request,
        "record.html",
        record=record,
        unmasked=looking.unmasked,
        may_unmask=action.caller.may(Role(action.service.settings.unmask_role)),
        traces=traces_among((header.name, header.value.content) for header in record.headers),
        payload_text=_payload_text,
    )


def _payload_text(payload: Payload) -> str:
    if isinstance(payload.content, str):
        return payload.content
    return json.dumps(payload.content, indent=2, ensure_ascii=False)
