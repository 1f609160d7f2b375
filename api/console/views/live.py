"""What tells a page that something has changed: the live events, for who is signed in here."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.sse import EventSourceResponse, ServerSentEvent

from api.live import Live
from api.routes import live
from api.routes.live import LastEventId, watching

router = APIRouter()


@router.get("/live", response_class=EventSourceResponse)
async def events(
    watch: Annotated[Live, Depends(watching)], last_event_id: LastEventId = None
) -> AsyncIterator[ServerSentEvent]:
    """As the JSON route tells them."""
    async for event in live.live(watch, last_event_id):
        yield event
