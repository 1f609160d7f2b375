"""What is now, as server-sent events."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from api.live import Live
from api.service import no_parameters

router = APIRouter(tags=["live"], dependencies=[Depends(no_parameters)])

LastEventId = Annotated[
    str | None, Header(max_length=100, description="Of the last event that was seen: go on behind it.")
]


async def watching(request: Request) -> AsyncIterator[Live]:
    """A place among those who watch."""
    live: Live = request.app.state.live
    async with live.seat():
        yield live


@router.get("/live", response_class=EventSourceResponse)
async def live(
    watch: Annotated[Live, Depends(watching)], last_event_id: LastEventId = None
) -> AsyncIterator[ServerSentEvent]:
    """Events `overview`, `groups` and `redrives`, each the first page of its route, whenever it changes.

    `problem` tells why they cannot be told now; its `detail` is empty when they can. A comment every 15 s
    keeps the connection.
    """
    async for event in watch.events(last_event_id):
        yield event
