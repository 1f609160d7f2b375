"""Tasks: abandoned with both evidences, stalled, timers that run, timeouts, errors of Connect."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from api.console.pages import page
from api.routes import abandoned, connect_tasks, tasks
from api.service import Serving

router = APIRouter(prefix="/tasks")


@router.get("")
def shown(request: Request, service: Serving) -> HTMLResponse:
    """What needs somebody first."""
    of_connect = connect_tasks.connect_tasks(service).items
    return page(
        request,
        "tasks.html",
        abandoned=abandoned.abandoned(service).items,
        stalled=[one for one in of_connect if one.stalled],
        connect=of_connect,
        streams=tasks.tasks(service),
    )
