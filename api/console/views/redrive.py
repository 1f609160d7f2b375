"""One order: its dry run with the way to start it, or how far it is with the ways to stop it."""

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from api.console import command_line, redrive_form
from api.console.acting import Act
from api.console.errors import FormError
from api.console.forms import Filled
from api.console.pages import page, see
from api.errors import REDRIVE_STATUS
from api.redrive_schemas import Redrive
from api.routes import redrives
from api.routes.redrives import OrderId
from api.service import PageQuery, Serving
from streaming.redrive.errors import RedriveError

router = APIRouter(prefix="/redrives")

OVER: Final = ("COMPLETED", "CANCELLED", "FAILED")


@router.get("/{order}")
def redrive(request: Request, service: Serving, order: OrderId) -> HTMLResponse:
    """The order, as it is now."""
    return _shown(request, service, redrives.one(service, order), "", 200)


@router.post("/{order}/start", name="create")
def start(act: Act, order: OrderId, form: Filled) -> Response:
    """Carry the dry run out: the same order in earnest, once however often the button is pressed."""
    dry = redrives.one(act.service, order)
    if not dry.dry_run:
        raise FormError("it is no dry run")
    if form.get("confirm", "").replace(",", "").replace(" ", "") != str(dry.plan.at_most):
        problem = f"type {dry.plan.at_most} to confirm; nothing was moved"
        return _shown(act.request, act.service, dry, problem, 422)
    asked = dry.request.model_copy(update={"dry_run": False, "confirm": dry.plan.at_most})
    try:
        made = redrives.create(act.service, act.who, act.audit, asked, f"console-{dry.id}")
    except RedriveError as error:
        return _shown(act.request, act.service, dry, str(error), REDRIVE_STATUS[type(error)])
    return see(act.request, f"/redrives/{made.id}")


@router.post("/{order}/pause")
def pause(act: Act, order: OrderId, form: Filled) -> Response:
    """Stop it for now."""
    del form
    redrives.pause(act.service, act.who, act.audit, order)
    return see(act.request, f"/redrives/{order}")


@router.post("/{order}/resume")
def resume(act: Act, order: OrderId, form: Filled) -> Response:
    """Let it go on."""
    del form
    redrives.resume(act.service, act.audit, order)
    return see(act.request, f"/redrives/{order}")


@router.post("/{order}/cancel")
def cancel(act: Act, order: OrderId, form: Filled) -> Response:
    """Stop it for ever."""
    del form
    redrives.cancel(act.service, act.who, act.audit, order)
    return see(act.request, f"/redrives/{order}")


def _shown(request: Request, service: Serving, told: Redrive, problem: str, status: int) -> HTMLResponse:
    return page(
        request,
        "redrive.html",
        status,
        told=told,
        outcomes=[] if told.dry_run else redrives.outcomes(service, told.id, PageQuery(limit=500)).items,
        problem=problem,
        over=told.status in OVER,
        unconfirmed=service.settings.redrive_max_unconfirmed,
        also=redrive_form.filled(told.request)["also"].splitlines(),
        command=command_line.redrive(told.request),
    )
