"""Orders, the newest first."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from api.console.pages import page
from api.routes import overview, redrives
from api.service import PageQuery, Serving

router = APIRouter(prefix="/redrives")


class ListQuery(BaseModel):
    """Which page."""

    model_config = ConfigDict(extra="forbid")

    after: str | None = Field(None, max_length=2_000)


@router.get("")
def listed(request: Request, service: Serving, query: Annotated[ListQuery, Query()]) -> HTMLResponse:
    """A page of them, dry runs among them."""
    found = redrives.listed(service, PageQuery(limit=50, after=query.after))
    return page(
        request, "redrives.html", found=found, query=query, workers=overview.overview(service).redrives
    )
