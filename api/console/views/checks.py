"""The checks of ``deadwatch doctor`` that can be made from the api: what is seen, and what to do about it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from api.auth import Role, require
from api.checks.examination import Examination
from api.checks.finding import Level
from api.console.pages import page
from api.times import instant

router = APIRouter(prefix="/health/checks", dependencies=[Depends(require(Role.OPERATOR))])

WORST_FIRST = (Level.FAIL, Level.WARN, Level.OK)


async def _examination(request: Request) -> Examination:
    found: Examination = request.app.state.console_examination
    return found


@router.get("")
def shown(request: Request, examination: Annotated[Examination, Depends(_examination)]) -> HTMLResponse:
    """What fails comes first."""
    at_ms, found = examination.look()
    return page(
        request,
        "checks.html",
        at=instant(at_ms),
        found=sorted(found, key=lambda one: WORST_FIRST.index(one.level)),
        failing=sum(one.level is Level.FAIL for one in found),
    )
