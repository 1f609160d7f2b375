"""Whether the process lives, and whether it can answer."""

from fastapi import APIRouter, Response

from api.errors import ApiError
from api.redrive_workers import workforce
from api.schemas import Alive, Readiness
from api.service import Serving
from api.sources import SourceRow, source_rows
from streaming.heartbeat import STORE, STREAMING

router = APIRouter(tags=["health"])


@router.get("/livez")
def livez() -> Alive:
    """The process answers."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Readiness, "description": "Not ready."}})
def readyz(service: Serving, response: Response) -> Readiness:
    """Ready when the store can be read and its schema is known; else 503 and what is missing."""
    try:
        now_ms, stale_ms = service.now_ms(), service.settings.source_stale_ms
        with service.store.read() as connection:
            found = workforce(connection, now_ms, stale_ms)
            rows = source_rows(connection)
    except ApiError as error:
        response.status_code = 503
        return Readiness(ready=False, missing=[str(error)], warnings=[])
    warnings = [
        *(_of_stream(row, now_ms, stale_ms) for row in rows if row.kind == STREAMING),
        *(row.message for row in rows if row.kind == STORE),
        found.warning,
    ]
    return Readiness(ready=True, missing=[], warnings=[one for one in warnings if one])


def _of_stream(row: SourceRow, now_ms: int, stale_ms: int) -> str:
    if not row.is_up(now_ms, stale_ms):
        return f"streaming counts nothing now: {row.message or 'it is silent'}"
    return row.message and f"streaming: {row.message}"
