"""Standing orders: what each does, its orders, and its switch."""

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from api.console.acting import Act
from api.console.forms import Filled
from api.console.pages import page, see
from api.routes import redrive_policies
from api.routes.redrive_policies import PolicyId
from api.service import PageQuery, Serving
from streaming.redrive.errors import UnknownPolicyError
from streaming.store import policies

router = APIRouter(prefix="/policies")

CHANGED: Final = "redrive-policies.change"
WHOLE: Final = PageQuery(limit=500)
"""There are fewer policies; of their changes the newest."""


@router.get("")
def listed(request: Request, service: Serving) -> HTMLResponse:
    """All of them."""
    return page(request, "policies.html", found=redrive_policies.listed(service, WHOLE).items)


@router.get("/{policy}")
def one(request: Request, service: Serving, policy: PolicyId) -> HTMLResponse:
    """One, its redrives and its history; also when it was deleted."""
    known = {told.id: told for told in redrive_policies.listed(service, WHOLE).items}
    changes = redrive_policies.changes(service, policy, WHOLE).items
    return page(
        request,
        "policy.html",
        told=known.get(policy),
        changes=changes,
        found=redrive_policies.its_redrives(service, policy, PageQuery(limit=50)),
    )


@router.post("/{policy}/switch")
def switch(act: Act, policy: PolicyId, form: Filled) -> Response:
    """Put it on or off: ``enabled`` is the state that is wanted, ``version`` the one that was seen."""
    with act.service.store.read() as connection:
        found = policies.find(connection, policy)
    if not form.get("version", "").isdecimal():
        raise UnknownPolicyError(policy)
    wanted = found.request.model_copy(update={"enabled": form.get("enabled") == "true"})
    also = act.audit.witness(wanted.reason, CHANGED)
    act.service.standing.change(policy, wanted, act.who.name, int(form["version"]), also)
    return see(act.request, f"/policies/{policy}")
