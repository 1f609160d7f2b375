"""Asking for a redrive: what, where to, how fast; nothing moves before the dry run has been seen."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from api.auth import Role, require
from api.console import redrive_form
from api.console.acting import Act
from api.console.forms import Filled
from api.console.pages import UNPROCESSABLE, page, see
from api.console.sheet_fields import FieldsError
from api.errors import REDRIVE_STATUS
from api.routes import dead_letters, redrives
from api.service import Serving
from streaming.redrive.errors import RedriveError

router = APIRouter(prefix="/redrives")


class NewQuery(BaseModel):
    """What a link may fill in: a few fields, or all as they are in the order ``like``."""

    model_config = ConfigDict(extra="forbid")

    like: str = Field("", pattern=r"^[0-9a-f-]{0,36}$")
    dlq_topic: str = Field("", max_length=300)
    group: str = Field("", max_length=64)
    filter: str = Field("", max_length=4_000)
    reason: str = Field("", max_length=1_000)
    max_attempts: str = Field("", pattern=r"^[0-9]{0,4}$")


@router.get("/new", dependencies=[Depends(require(Role.OPERATOR))])
def new(request: Request, service: Serving, query: Annotated[NewQuery, Query()]) -> HTMLResponse:
    """The sheet, filled in as far as the link tells."""
    form = (
        redrive_form.filled(redrives.one(service, query.like).request)
        if query.like
        else redrive_form.blank(
            query.dlq_topic, query.group, query.filter, reason=query.reason, max_attempts=query.max_attempts
        )
    )
    return _sheet(request, service, form, {}, 200)


@router.post("/new")
def create(act: Act, form: Filled) -> Response:
    """Make the dry run and show it; what is wrong is said beside its field."""
    try:
        asked = redrive_form.request(form)
        order = redrives.create(act.service, act.who, act.audit, asked)
    except FieldsError as error:
        return _sheet(act.request, act.service, form, error.problems, UNPROCESSABLE)
    except ValidationError as error:
        return _sheet(act.request, act.service, form, redrive_form.problems(error, form), UNPROCESSABLE)
    except RedriveError as error:
        told = {redrive_form.field_of(error): str(error)}
        return _sheet(act.request, act.service, form, told, REDRIVE_STATUS[type(error)])
    return see(act.request, f"/redrives/{order.id}")


def _sheet(
    request: Request, service: Serving, form: Filled, problems: dict[str, str], status: int
) -> HTMLResponse:
    topics = [
        one.dlq_topic for one in dead_letters.topics(service, dead_letters.TopicsQuery(limit=500)).items
    ]
    return page(
        request,
        "redrive_new.html",
        status,
        form=redrive_form.complete(form),
        problems=problems,
        topics=topics,
    )
