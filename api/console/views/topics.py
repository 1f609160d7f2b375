"""Dead letter topics as Kafka holds them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from api.console.pages import page
from api.console.views.redrives import ListQuery
from api.routes import dead_letters
from api.service import PageQuery, Serving

router = APIRouter(prefix="/topics")


@router.get("")
def topics(request: Request, service: Serving, query: Annotated[ListQuery, Query()]) -> HTMLResponse:
    """The one with the newest record first."""
    found = dead_letters.topics(service, PageQuery(limit=50, after=query.after))
    return page(request, "topics.html", found=found, query=query)
