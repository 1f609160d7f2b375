"""Whether the process lives, and whether it can answer."""

from fastapi import APIRouter, Response

from api.errors import ApiError
from api.redrive_workers import workforce
from api.schemas import Alive, Readiness
from api.service import Serving

router = APIRouter(tags=["health"])


@router.get("/livez")
def livez() -> Alive:
    """The process answers."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Readiness, "description": "Not ready."}})
def readyz(service: Serving, response: Response) -> Readiness:
    """Ready when the store can be read and its schema is known; else 503 and what is missing."""
    try:
        with service.store.read() as connection:
            found = workforce(connection, service.now_ms(), service.settings.source_stale_ms)
    except ApiError as error:
        response.status_code = 503
        return Readiness(ready=False, missing=[str(error)], warnings=[])
    return Readiness(ready=True, missing=[], warnings=[found.warning] if found.warning else [])
