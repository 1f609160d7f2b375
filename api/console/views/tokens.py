"""Tokens: who has one; an admin makes and revokes them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import ValidationError

from api.auth import Role, require
from api.console.acting import Act
from api.console.forms import Filled
from api.console.pages import UNPROCESSABLE, page, see
from api.console.views.redrives import ListQuery
from api.routes import tokens
from api.routes.tokens import TokenId
from api.service import PageQuery, Serving
from api.token_schemas import NewToken, TokenRequest

router = APIRouter(prefix="/tokens", dependencies=[Depends(require(Role.ADMIN))])


@router.get("")
def listed(request: Request, service: Serving, query: Annotated[ListQuery, Query()]) -> HTMLResponse:
    """The newest first."""
    return _shown(request, service, query.after, None, "", 200)


@router.post("")
def create(act: Act, form: Filled) -> Response:
    """Make one, and show it this once."""
    days = form.get("days", "")
    try:
        asked = TokenRequest.model_validate(
            {
                "name": form.get("name", ""),
                "role": form.get("role", ""),
                "expires_in_days": None if days == "never" else days,
            }
        )
    except ValidationError as error:
        problem = "; ".join(f"{one['loc'][0]}: {one['msg']}" for one in error.errors())
        return _shown(act.request, act.service, None, None, problem, UNPROCESSABLE)
    made = tokens.create(act.service, act.who, act.audit, asked)
    return _shown(act.request, act.service, None, made, "", 200)


@router.post("/{token}/revoke")
def revoke(act: Act, token: TokenId, form: Filled) -> Response:
    """It opens nothing any more."""
    del form
    tokens.revoke(act.service, act.who, act.audit, token)
    return see(act.request, "/tokens")


def _shown(  # noqa: PLR0917 -- what a page needs
    request: Request,
    service: Serving,
    after: str | None,
    made: NewToken | None,
    problem: str,
    status: int,
) -> HTMLResponse:
    found = tokens.listed(service, PageQuery(limit=100, after=after))
    return page(request, "tokens.html", status, found=found, made=made, problem=problem, roles=list(Role))
