"""Standing orders: what each does, its redrives, its switch, and the sheet that makes and changes one."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from api.auth import Role, require
from api.console import policy_form
from api.console.acting import Act
from api.console.errors import FormError
from api.console.forms import Filled, Form
from api.console.pages import UNPROCESSABLE, page, see
from api.console.sheet_fields import FieldsError
from api.console.views.redrives import ListQuery
from api.errors import REDRIVE_STATUS
from api.routes import dead_letters, redrive_policies
from api.routes.redrive_policies import PolicyId
from api.service import PageQuery, Service, Serving
from streaming.redrive.errors import RedriveError
from streaming.redrive.policy import Policy
from streaming.store import policies

router = APIRouter(prefix="/policies")

CREATED: Final = "redrive-policies.create"
CHANGED: Final = "redrive-policies.change"
DELETED: Final = "redrive-policies.delete"
MOST_DIGITS: Final = 18
WHOLE: Final = PageQuery(limit=500)
"""There are fewer policies; of their changes the newest."""
Refusal = FieldsError | ValidationError | RedriveError


class NewQuery(BaseModel):
    """What a link may fill in."""

    model_config = ConfigDict(extra="forbid")

    dlq_topic: str = Field("", max_length=300)


@router.get("")
def listed(request: Request, service: Serving) -> HTMLResponse:
    """All of them."""
    return page(request, "policies.html", found=redrive_policies.listed(service, WHOLE).items)


@router.get("/new", dependencies=[Depends(require(Role.OPERATOR))])
def new(request: Request, service: Serving, query: Annotated[NewQuery, Query()]) -> HTMLResponse:
    """The sheet of one that is to be made."""
    return _sheet(request, service, policy_form.blank(query.dlq_topic), None, None)


@router.post("/new")
def create(act: Act, form: Filled) -> Response:
    """Make it; what is wrong is said beside its field."""
    try:
        asked = policy_form.request(form)
        made = act.service.standing.create(asked, act.who.name, act.audit.witness(asked.reason, CREATED))
    except (FieldsError, ValidationError, RedriveError) as error:
        return _sheet(act.request, act.service, form, None, error)
    return see(act.request, f"/policies/{made.id}")


@router.get("/{policy}")
def one(
    request: Request, service: Serving, policy: PolicyId, query: Annotated[ListQuery, Query()]
) -> HTMLResponse:
    """One, its redrives and its history; also when it was deleted."""
    known = {one.id: one for one in redrive_policies.listed(service, WHOLE).items}
    changes = redrive_policies.changes(service, policy, WHOLE).items
    told = known.get(policy)
    return page(
        request,
        "policy.html",
        policy=policy,
        told=told,
        also=policy_form.filled((told or changes[0]).request)["also"].splitlines(),
        changes=changes,
        found=redrive_policies.its_redrives(service, policy, PageQuery(limit=50, after=query.after)),
    )


@router.get("/{policy}/edit", dependencies=[Depends(require(Role.OPERATOR))])
def edit(request: Request, service: Serving, policy: PolicyId) -> HTMLResponse:
    """The sheet of one that there is."""
    found = _find(service, policy)
    form = {**policy_form.filled(found.request), "version": str(found.version)}
    return _sheet(request, service, form, found, None)


@router.post("/{policy}/edit")
def change(act: Act, policy: PolicyId, form: Filled) -> Response:
    """Put what the sheet says in its place, if nobody else has changed it since."""
    found = _find(act.service, policy)
    try:
        asked = policy_form.request(form)
        also = act.audit.witness(asked.reason, CHANGED)
        act.service.standing.change(policy, asked, act.who.name, _version(form), also)
    except (FieldsError, ValidationError, RedriveError) as error:
        return _sheet(act.request, act.service, form, found, error)
    return see(act.request, f"/policies/{policy}")


@router.post("/{policy}/switch")
def switch(act: Act, policy: PolicyId, form: Filled) -> Response:
    """Put it on or off: ``enabled`` is the state that is wanted, ``version`` the one that was seen."""
    found = _find(act.service, policy)
    wanted = found.request.model_copy(update={"enabled": form.get("enabled") == "true"})
    also = act.audit.witness(wanted.reason, CHANGED)
    act.service.standing.change(policy, wanted, act.who.name, _version(form), also)
    return see(act.request, f"/policies/{policy}")


@router.post("/{policy}/delete")
def delete(act: Act, policy: PolicyId, form: Filled) -> Response:
    """No more redrives of it; its history stays."""
    act.service.standing.delete(policy, act.who.name, _version(form), act.audit.witness("", DELETED))
    return see(act.request, f"/policies/{policy}")


def _sheet(
    request: Request, service: Service, form: Form, found: Policy | None, error: Refusal | None
) -> HTMLResponse:
    status = REDRIVE_STATUS[type(error)] if isinstance(error, RedriveError) else UNPROCESSABLE
    topics = [
        one.dlq_topic for one in dead_letters.topics(service, dead_letters.TopicsQuery(limit=500)).items
    ]
    return page(
        request,
        "policy_sheet.html",
        status if error else 200,
        policy=found.id if found else "",
        seen=form.get("version", ""),
        form=policy_form.complete(form),
        problems=policy_form.problems(error, form) if error else {},
        topics=topics,
    )


def _find(service: Service, policy: str) -> Policy:
    with service.store.read() as connection:
        return policies.find(connection, policy)


def _version(form: Form) -> int:
    """The version that the page has shown. Raises ``FormError``."""
    said = form.get("version", "")
    if not (said.isascii() and said.isdecimal() and len(said) <= MOST_DIGITS):
        raise FormError("it does not say which version of the policy it is about: open its page again")
    return int(said)
