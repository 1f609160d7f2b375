"""Tasks: abandoned with both evidences, stalled, timers that run, timeouts, errors of Connect."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from api.console.pages import page
from api.routes import abandoned, connect_tasks, tasks
from api.service import PageQuery, Serving

router = APIRouter(prefix="/tasks")

MOST = 500
"""Of each list; what needs somebody comes first."""


@router.get("")
def shown(request: Request, service: Serving) -> HTMLResponse:
    """What needs somebody first."""
    asked = PageQuery(limit=MOST)
    of_connect = connect_tasks.connect_tasks(service, asked)
    let_go = abandoned.abandoned(service, asked)
    streams = tasks.tasks(service, asked)
    return page(
        request,
        "tasks.html",
        abandoned=let_go.items,
        stalled=[one for one in of_connect.items if one.stalled],
        connect=of_connect.items,
        most=MOST if of_connect.next or let_go.next or streams.next else 0,
        streams=streams,
    )
