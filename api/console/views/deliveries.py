"""Records that producers gave up, by topic and client."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from api.console.pages import page
from api.console.views.redrives import ListQuery
from api.routes import delivery_timeouts
from api.service import PageQuery, Serving

router = APIRouter(prefix="/delivery-timeouts")


@router.get("")
def shown(request: Request, service: Serving, query: Annotated[ListQuery, Query()]) -> HTMLResponse:
    """The latest first."""
    found = delivery_timeouts.delivery_timeouts(service, PageQuery(limit=50, after=query.after))
    return page(request, "deliveries.html", items=found.items, next=found.next)
