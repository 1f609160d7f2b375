"""Redrives: the list, the form of a new one, its dry run with the button that starts it, its progress."""

import shlex
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field, ValidationError

from api.answers import Question
from api.audit import Acting
from api.auth.roles import OPERATOR
from api.console.forms import TARGETS, Control, FieldsError, RequestForm
from api.console.rendering import UNPROCESSABLE, redirect, render
from api.console.views.lists import PAGE, Paging
from api.console.visitor import CSRF_CHECKED, Form, FormError, SubmittedForm
from api.cursor import PageQuery
from api.errors import STATUSES
from api.routes import overview, redrives
from api.routes.redrives import OrderId, Redrive
from api.service import Searching, Service, Serving
from api.signals.pipeline import source_rows, workforce
from deadwatch.contract.errors import RequestError
from deadwatch.orders.options import next_step, words
from deadwatch.orders.order import OrderRequest
from deadwatch.orders.reasons import MEANINGS
from deadwatch.orders.texts import INTERVALS, LINES, NUMBER, PLACES, SECONDS, TIME, WHOLE, choice

router = APIRouter(prefix="/redrives")

ENDED: Final = ("COMPLETED", "CANCELLED", "FAILED")
MOVING: Final = ("RUNNING", "CANCELLING")
"""Where a worker is needed."""
MAX_OUTCOMES: Final = 500


CONTROLS: Final = (
    Control("dlq_topic", "dlq_topic", needed="choose a dead letter topic"),
    Control("select", "selection.all", choice({"all": True}), "select=all"),
    Control("group", "selection.group", when="select=group", needed="enter the fingerprint of the cause"),
    Control(
        "filter",
        "selection.filter",
        when="select=filter",
        needed='enter a filter, such as attempts < 3; to redrive every record, choose "All of them"',
    ),
    Control("from", "selection.from", TIME, "select=time"),
    Control("to", "selection.to", TIME, "select=time"),
    Control(
        "offsets",
        "selection.offsets",
        INTERVALS,
        "select=offsets",
        needed="enter ranges such as 0:10-20, one on each line",
    ),
    Control(
        "records",
        "selection.records",
        PLACES,
        "select=records",
        needed="enter records such as 0:42, one on each line",
    ),
    Control("again", "again", choice({"yes": True})),
    *TARGETS,
    Control("records_per_second", "limits.records_per_second", NUMBER, blank="none"),
    Control("max_records", "limits.max_records", WHOLE),
    Control("max_attempts", "retry.max_attempts", WHOLE),
    Control(
        "settle_window_s", "guards.settle_window_ms", SECONDS, needed="enter a time in seconds, such as 600"
    ),
    Control("drop_headers", "drop_headers", LINES),
    Control("reason", "reason", needed="enter a reason: it is kept with the redrive"),
)
FORM: Final = RequestForm(
    "redrive_new.html",
    CONTROLS,
    {"select": "all", "records_per_second": "50", "max_attempts": "5", "settle_window_s": "600"},
)


class NewQuery(Question):
    """What a link fills into the form: single fields, or all of them as in the order ``like``."""

    like: str = Field("", pattern=r"^[0-9a-f-]{0,36}$")
    dlq_topic: str = Field("", max_length=300)
    group: str = Field("", max_length=64)
    filter: str = Field("", max_length=4_000)
    reason: str = Field("", max_length=1_000)
    max_attempts: str = Field("", pattern=r"^[0-9]{0,4}$")


@router.get("")
def order_list(request: Request, service: Serving, query: Paging) -> HTMLResponse:
    """A page of the orders, dry runs among them, the newest first."""
    found = redrives.listed(service, PageQuery(limit=PAGE, after=query.after))
    workers = overview.overview(service).redrives
    return render(request, "redrives.html", found=found, query=query, workers=workers)


@router.get("/new", dependencies=[OPERATOR])
def new(request: Request, service: Serving, query: Annotated[NewQuery, Query()]) -> HTMLResponse:
    """The form of a new redrive, filled in as the link asks."""
    if query.like:
        return FORM.page(request, service, from_order(redrives.one(service, query.like).request))
    select = "group" if query.group else "filter" if query.filter else "all"
    named = {"dlq_topic": query.dlq_topic, "group": query.group, "filter": query.filter, "select": select}
    more = {"reason": query.reason, "max_attempts": query.max_attempts}
    form = {**FORM.initial, **named, **{name: value for name, value in more.items() if value}}
    return FORM.page(request, service, form)


@router.post("/new", name="create", dependencies=[Searching])
def create_dry_run(action: Acting, form: SubmittedForm) -> Response:
    """Make the dry run and show it, or show the form again with what is wrong beside each field."""
    try:
        order = redrives.create(action, _dry_run_of(form))
    except (FieldsError, ValidationError, RequestError) as refusal:
        return FORM.page(action.request, action.service, form, refusal)
    return redirect(action.request, f"/redrives/{order.id}")


@router.get("/{order}")
def order_page(request: Request, service: Serving, order: OrderId) -> HTMLResponse:
    """One order as it is now."""
    return _order(request, service, redrives.one(service, order), "", 200)


@router.post("/{order}/start", name="create", dependencies=[Searching])
def start(action: Acting, order: OrderId, form: SubmittedForm) -> Response:
    """Make the order that the dry run has shown; pressing the button again does not make a second one."""
    dry_run = redrives.one(action.service, order)
    if not dry_run.dry_run:
        raise FormError("this redrive is not a dry run")
    at_most = dry_run.plan.at_most
    if form.get("confirm", "").replace(",", "").replace(" ", "") != str(at_most):
        problem = f"type {at_most} to confirm; nothing was moved"
        return _order(action.request, action.service, dry_run, problem, UNPROCESSABLE)
    shown = dry_run.model_dump(include={"plan", "cut_off", "dlq_topic_id"})
    asked = dry_run.request.model_copy(update=next_step(shown))
    try:
        made = redrives.create(action, asked, f"console-{dry_run.id}")
    except RequestError as error:
        return _order(action.request, action.service, dry_run, str(error), STATUSES[type(error)])
    return redirect(action.request, f"/redrives/{made.id}")


@router.post("/{order}/pause", dependencies=CSRF_CHECKED)
def pause(action: Acting, order: OrderId) -> Response:
    """Pause the order; it can be resumed."""
    redrives.pause(action, order)
    return redirect(action.request, f"/redrives/{order}")


@router.post("/{order}/resume", dependencies=CSRF_CHECKED)
def resume(action: Acting, order: OrderId) -> Response:
    """Resume a paused order."""
    redrives.resume(action, order)
    return redirect(action.request, f"/redrives/{order}")


@router.post("/{order}/cancel", dependencies=CSRF_CHECKED)
def cancel(action: Acting, order: OrderId) -> Response:
    """Cancel the order; it cannot be resumed."""
    redrives.cancel(action, order)
    return redirect(action.request, f"/redrives/{order}")


def _order(request: Request, service: Service, order: Redrive, problem: str, code: int) -> HTMLResponse:
    outcomes = (
        [] if order.dry_run else redrives.outcomes(service, order.id, PageQuery(limit=MAX_OUTCOMES)).items
    )
    return render(
        request,
        "redrive.html",
        code,
        order=order,
        warning=_warning(service) if order.status in MOVING else "",
        outcomes=outcomes,
        meanings=MEANINGS,
        problem=problem,
        ended=order.status in ENDED,
        unconfirmed=service.settings.redrive_max_unconfirmed,
        also=from_order(order.request)["also"].splitlines(),
        command=command(order.request),
    )


def _warning(service: Service) -> str:
    """That no worker runs, and no more of the overview: the page is asked for every 2 s."""
    with service.store.read() as connection:
        return workforce(connection, source_rows(connection), service.moment).warning


def from_order(request: OrderRequest) -> dict[str, str]:
    """The form as it asks for the order that there is already."""
    field = next(iter(request.selection.model_dump(exclude_none=True)))
    select = {"from_": "time", "to": "time"}.get(field, field)
    return FORM.filled(request, {"select": select, "target": request.target.kind})


def _dry_run_of(form: Form) -> OrderRequest:
    """The dry run that the form asks for. Raises ``FieldsError`` and ``ValidationError``."""
    document = FORM.document(form)
    if "selection" not in document:
        raise FieldsError({"from": "enter the beginning or the end of the time range"})
    return OrderRequest.model_validate({**document, "dry_run": True})


def command(request: OrderRequest) -> str:
    """``deadwatch redrive …`` for the same order, quoted for a shell; it shows the dry run and asks."""
    return shlex.join(["deadwatch", "redrive", *words(request)])
