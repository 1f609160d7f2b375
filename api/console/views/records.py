"""Records as they lie on a dead letter topic; payloads masked until somebody who may says why not."""

import json
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from api.auth import Role
from api.console import stack_traces
from api.console.acting import Act
from api.console.forms import Filled
from api.console.pages import UNPROCESSABLE, page
from api.console.visitor import visitor
from api.errors import InvalidSelectionError
from api.record_schemas import DeadLetterRecord, Payload
from api.routes import records
from api.routes.records import MOST_CHARS, TOPIC, Browsing, Looking, place
from api.service import Service, Serving
from api.unmasking import Seeing, Sight
from streaming.filter import MAX_CHARS
from streaming.filter_errors import FUNCTIONS
from streaming.filter_fields import FIELDS
from streaming.redrive.errors import FilterError

router = APIRouter(prefix="/records")

PAGE = 25


class RecordsQuery(BaseModel):
    """What the address of the list may say."""

    model_config = ConfigDict(extra="forbid")

    topic: str = Field(pattern=TOPIC, max_length=MOST_CHARS)
    filter: str = Field("", max_length=MAX_CHARS)
    after: str | None = Field(None, max_length=50_000)


@router.get("")
def browse(
    request: Request, service: Serving, sight: Seeing, query: Annotated[RecordsQuery, Query()]
) -> HTMLResponse:
    """A page of the topic, the newest first; moves no consumer's offset."""
    problem, found = "", None
    text = query.filter.strip()
    try:
        asked = Browsing(topic=query.topic, filter=text or None, after=query.after, limit=PAGE)
        found = records.browse(service, sight, asked)
    except (FilterError, InvalidSelectionError) as error:
        problem = str(error)
    address = "/records?" + urlencode({"topic": query.topic} | ({"filter": text} if text else {}))
    return page(
        request,
        "records.html",
        UNPROCESSABLE if problem else 200,
        query=query,
        found=found,
        problem=problem,
        address=address,
        fields={name: field.help for name, field in FIELDS.items()},
        functions=FUNCTIONS,
    )


@router.get("/{topic}/{partition}/{offset}")
def one(
    request: Request,
    service: Serving,
    sight: Seeing,
    where: Annotated[tuple[str, int, int], Depends(place)],
) -> HTMLResponse:
    """One record, masked."""
    return _shown(request, service, sight, where, Looking())


@router.post("/{topic}/{partition}/{offset}")
def unmasked(
    act: Act, sight: Seeing, where: Annotated[tuple[str, int, int], Depends(place)], form: Filled
) -> HTMLResponse:
    """The same as it is, once that stands in the audit."""
    looking = Looking(unmasked=True, why=form.get("why", "")[:500])
    return _shown(act.request, act.service, sight, where, looking)


def _shown(
    request: Request, service: Service, sight: Sight, where: tuple[str, int, int], looking: Looking
) -> HTMLResponse:
    told = records.one(service, sight, where, looking)
    return page(
        request,
        "record.html",
        told=told,
        unmasked=looking.unmasked,
        may_unmask=visitor(request).caller.may(Role(service.settings.unmask_role)),
        traces=_traces(told),
        written=written,
    )


def _traces(told: DeadLetterRecord) -> dict[str, list[stack_traces.Part]]:
    """The stack traces among its headers, by header."""
    texts = {header.name: header.value.content for header in told.headers}
    return {
        name: stack_traces.folded(text)
        for name, text in texts.items()
        if isinstance(text, str) and stack_traces.is_trace(text)
    }


def written(payload: Payload) -> str:
    """The content as a text."""
    if isinstance(payload.content, str):
        return payload.content
    return json.dumps(payload.content, indent=2, ensure_ascii=False)
