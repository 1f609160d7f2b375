"""Deadwatch itself: its sources, its stream, its workers."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from api.console.pages import page
from api.routes import overview
from api.service import Serving
from api.sources import source_rows
from api.times import instant

router = APIRouter(prefix="/health")


@router.get("")
def health(request: Request, service: Serving) -> HTMLResponse:
    """What is down comes first."""
    told = overview.overview(service)
    stale_ms, now_ms = service.settings.source_stale_ms, service.now_ms()
    with service.store.read() as connection:
        rows = source_rows(connection)
    sources = [
        {"row": row, "up": row.is_up(now_ms, stale_ms), "heard": instant(row.heartbeat_ms)} for row in rows
    ]
    return page(request, "health.html", told=told, sources=sorted(sources, key=lambda one: bool(one["up"])))
