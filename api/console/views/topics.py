"""Dead letter topics as Kafka holds them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from api.console.pages import page
from api.console.views.redrives import ListQuery
from api.dead_letter_topics import Order
from api.routes import dead_letters
from api.service import Serving

router = APIRouter(prefix="/topics")


@router.get("")
def topics(request: Request, service: Serving, query: Annotated[ListQuery, Query()]) -> HTMLResponse:
    """The one of which most waits first, then the one with the newest record."""
    asked = dead_letters.TopicsQuery(limit=50, after=query.after, order=Order.WAITING)
    found = dead_letters.topics(service, asked)
    return page(request, "topics.html", found=found, query=query, waiting=service.waiting.get().total)
