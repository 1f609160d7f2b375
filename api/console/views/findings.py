"""Configurations that would lose or strand records, and what to change."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from api.console.pages import page
from api.routes import findings
from api.service import PageQuery, Serving

router = APIRouter(prefix="/findings")


@router.get("")
def shown(request: Request, service: Serving) -> HTMLResponse:
    """The newest first."""
    return page(request, "findings.html", items=findings.findings(service, PageQuery(limit=500)).items)
