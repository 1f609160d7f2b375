"""Records that producers gave up, by topic and client."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from api.console.pages import page
from api.routes import delivery_timeouts
from api.service import Serving

router = APIRouter(prefix="/delivery-timeouts")


@router.get("")
def shown(request: Request, service: Serving) -> HTMLResponse:
    """The latest first."""
    return page(request, "deliveries.html", items=delivery_timeouts.delivery_timeouts(service).items)
