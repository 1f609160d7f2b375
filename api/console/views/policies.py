"""Policies: the list, one with its redrives and history, its switch, and the form of a new or changed one."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field, ValidationError

from api.answers import Question
from api.audit import Acting
from api.auth.roles import OPERATOR
from api.console.forms import TARGETS, Control, FieldsError, RequestForm, etag
from api.console.rendering import redirect, render
from api.console.views.lists import PAGE, Paging
from api.console.visitor import Form, SubmittedForm
from api.cursor import PageQuery
from api.routes import redrive_policies
from api.routes.redrive_policies import PolicyId
from api.service import Service, Serving
from deadwatch.contract.errors import RequestError
from deadwatch.orders.policy import Policy, PolicyRequest
from deadwatch.orders.texts import LINES, NUMBER, SECONDS, SWITCH, WHOLE, choice
from deadwatch.store.write import policies

router = APIRouter(prefix="/policies")

ALL: Final = PageQuery(limit=500)
"""All policies, as there may be fewer; of the changes of one, the newest."""


CONTROLS: Final = (
    Control("dlq_topics", "dlq_topics", LINES, needed="enter the topics that the policy covers"),
    Control("filter", "filter"),
    Control("exclude_error_classes", "exclude_error_classes", LINES),
    Control("excluded", "excluded"),
    Control("existing", "include_existing", choice({"later": False, "too": True})),
    *TARGETS,
    Control("records_per_second", "limits.records_per_second", NUMBER, blank="none"),
    Control("max_attempts", "retry.max_attempts", WHOLE),
    Control(
        "retry_backoff_s", "retry.retry_backoff_ms", SECONDS, needed="enter a time in seconds, such as 60"
    ),
    Control(
        "retry_backoff_max_s",
        "retry.retry_backoff_max_ms",
        SECONDS,
        needed="enter a time in seconds, such as 900",
    ),
    Control("enabled", "enabled", SWITCH),
    Control("drop_headers", "drop_headers", LINES),
    Control("reason", "reason", needed="enter a reason: it is kept with each of its redrives"),
)
FORM: Final = RequestForm(
    "policy_form.html",
    CONTROLS,
    {
        "version": "",
        "excluded": "park",
        "existing": "later",
        "records_per_second": "50",
        "max_attempts": "5",
        "retry_backoff_s": "60",
        "retry_backoff_max_s": "900",
        "enabled": "true",
    },
)


class NewQuery(Question):
    """What a link fills into the form."""

    dlq_topic: str = Field("", max_length=300)


@router.get("")
def policy_list(request: Request, service: Serving) -> HTMLResponse:
    """All policies, switched on or off."""
    return render(request, "policies.html", policies=redrive_policies.listed(service, ALL).items)


@router.get("/new", dependencies=[OPERATOR])
def new(request: Request, service: Serving, query: Annotated[NewQuery, Query()]) -> HTMLResponse:
    """The form of a new policy; the pattern that a link fills in matches this one topic."""
    form = {**FORM.initial, "dlq_topics": query.dlq_topic.replace(".", r"\.")}
    return FORM.page(request, service, form, id="")


@router.post("/new")
def create(action: Acting, form: SubmittedForm) -> Response:
    """Make the policy, or show the form again with what is wrong beside each field."""
    try:
        made = redrive_policies.create(action, _asked(form), Response())
    except (FieldsError, ValidationError, RequestError) as refusal:
        return FORM.page(action.request, action.service, form, refusal, id="")
    return redirect(action.request, f"/policies/{made.id}")


@router.get("/{policy}")
def policy_page(request: Request, service: Serving, policy: PolicyId, query: Paging) -> HTMLResponse:
    """One policy, its redrives and its history; also after it was deleted."""
    known = {found.id: found for found in redrive_policies.listed(service, ALL).items}
    changes = redrive_policies.changes(service, policy, ALL).items
    found = known.get(policy)
    settings = (found or changes[0]).request
    return render(
        request,
        "policy.html",
        id=policy,
        policy=found,
        settings=settings,
        also=from_policy(settings)["also"].splitlines(),
        changes=changes,
        redrives=redrive_policies.its_redrives(service, policy, PageQuery(limit=PAGE, after=query.after)),
    )


@router.get("/{policy}/edit", dependencies=[OPERATOR])
def edit(request: Request, service: Serving, policy: PolicyId) -> HTMLResponse:
    """The form that changes a policy."""
    found = _find(service, policy)
    form = {**from_policy(found.request), "version": str(found.version)}
    return FORM.page(request, service, form, id=policy)


@router.post("/{policy}/edit")
def change(action: Acting, policy: PolicyId, form: SubmittedForm) -> Response:
    """Change the policy, unless somebody else has changed it since the form was shown."""
    _find(action.service, policy)
    try:
        redrive_policies.change(action, policy, _asked(form), Response(), etag(form))
    except (FieldsError, ValidationError, RequestError) as refusal:
        return FORM.page(action.request, action.service, form, refusal, id=policy)
    return redirect(action.request, f"/policies/{policy}")


@router.post("/{policy}/switch", name="change")
def switch(action: Acting, policy: PolicyId, form: SubmittedForm) -> Response:
    """Switch the policy on or off: ``enabled`` is the wanted state, ``version`` what the page has shown."""
    found = _find(action.service, policy)
    switched = found.request.model_copy(update={"enabled": form.get("enabled") == "true"})
    redrive_policies.change(action, policy, switched, Response(), etag(form))
    return redirect(action.request, f"/policies/{policy}")


@router.post("/{policy}/delete")
def delete(action: Acting, policy: PolicyId, form: SubmittedForm) -> Response:
    """Delete the policy: it makes no more redrives, and its history stays."""
    redrive_policies.delete(action, policy, etag(form))
    return redirect(action.request, f"/policies/{policy}")


def _find(service: Service, policy: str) -> Policy:
    with service.store.read() as connection:
        return policies.find(connection, policy)


def _asked(form: Form) -> PolicyRequest:
    """The policy that the form asks for. Raises ``FieldsError`` and ``ValidationError``."""
    return PolicyRequest.model_validate(FORM.document(form))


def from_policy(request: PolicyRequest) -> dict[str, str]:
    """The form as it asks for the policy that there is already."""
    return FORM.filled(request, {"target": request.target.kind})
