"""The audit: who did what, when, why, and how it went."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from api.auth import Role, require
from api.console.pages import page
from api.routes import audit
from api.routes.audit import AuditQuery
from api.service import Serving

router = APIRouter(prefix="/audit", dependencies=[Depends(require(Role.OPERATOR))])


class ShownQuery(BaseModel):
    """Whose deeds, which, and which page of them; empty is all."""

    model_config = ConfigDict(extra="forbid")

    who: str = Field("", max_length=200)
    action: str = Field("", max_length=100)
    after: str | None = Field(None, max_length=2_000)


@router.get("")
def listed(request: Request, service: Serving, query: Annotated[ShownQuery, Query()]) -> HTMLResponse:
    """The newest first."""
    asked = AuditQuery(who=query.who or None, action=query.action or None, after=query.after)
    found = audit.listed(service, asked)
    address = "/audit?" + urlencode({"who": query.who, "action": query.action})
    return page(request, "audit.html", found=found, query=query, address=address)
