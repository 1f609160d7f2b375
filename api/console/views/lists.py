"""The pages that show one list of the API each and change nothing."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from api.answers import Question
from api.console.rendering import render
from api.cursor import PageQuery
from api.routes import dead_letters, signals
from api.service import Serving
from api.signals import waiting
from api.signals.dead_letter_topics import TopicOrder

router = APIRouter()

PAGE: Final = 50
MAX_ROWS: Final = 500
"""How many rows of a list the tasks and the findings show on a page; what needs attention comes first."""


class ListQuery(Question):
    """The query of a list: the cursor of the page."""

    after: str | None = Field(None, max_length=2_000)


Paging = Annotated[ListQuery, Query()]


@router.get("/topics")
def topic_list(request: Request, service: Serving, query: Paging) -> HTMLResponse:
    """Dead letter topics: first those where most records wait, then those with the newest record."""
    asked = dead_letters.TopicsQuery(limit=PAGE, after=query.after, order=TopicOrder.WAITING)
    found = dead_letters.topics(service, asked)
    return render(request, "topics.html", found=found, waiting=service.waiting.get().total)


@router.get("/parked")
def parked_list(request: Request, service: Serving) -> HTMLResponse:
    """Parked records by topic, the topic with the most of them first."""
    with service.store.read() as connection:
        found = waiting.parked(connection)
    return render(request, "parked.html", topics=found)


@router.get("/tasks")
def task_list(request: Request, service: Serving) -> HTMLResponse:
    """Failed, abandoned and stalled tasks, timers and timeouts of Streams, errors of Connect."""
    asked = PageQuery(limit=MAX_ROWS)
    connect = signals.connect_tasks(service, asked)
    abandoned_tasks = signals.abandoned(service, asked)
    streams = signals.tasks(service, asked)
    return render(
        request,
        "tasks.html",
        failed=signals.failed(service),
        abandoned=abandoned_tasks.items,
        stalled=[task for task in connect.items if task.stalled],
        connect=connect.items,
        shown_rows=MAX_ROWS if connect.next or abandoned_tasks.next or streams.next else 0,
        streams=streams,
    )


@router.get("/delivery-timeouts")
def delivery_timeout_list(request: Request, service: Serving, query: Paging) -> HTMLResponse:
    """Records whose delivery has expired in a producer, by topic and client, the latest first."""
    found = signals.delivery_timeouts(service, PageQuery(limit=PAGE, after=query.after))
    return render(request, "deliveries.html", found=found)


@router.get("/findings")
def finding_list(request: Request, service: Serving, query: Paging) -> HTMLResponse:
    """Configurations that would lose or strand records, the newest finding first."""
    found = signals.findings(service, PageQuery(limit=MAX_ROWS, after=query.after))
    return render(request, "findings.html", found=found)
