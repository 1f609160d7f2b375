"""Records whose attempts are used up: how many wait, where they lie, and what to do with them."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from api import waiting
from api.console.pages import page
from api.service import Serving
from api.times import instant

router = APIRouter(prefix="/parked")


@router.get("")
def parked(request: Request, service: Serving) -> HTMLResponse:
    """By dead letter topic, the most first."""
    with service.store.read() as connection:
        found = waiting.parked(connection)
    items = [
        {
            "parked": one,
            "last": instant(one.last_ms),
            "oldest": instant(one.queue.oldest_at_ms) if one.queue else None,
        }
        for one in found
    ]
    return page(request, "parked.html", items=items)
