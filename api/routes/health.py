"""Whether the process lives, and whether it can answer."""

from fastapi import APIRouter, Response

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
    missing = service.store.missing()
    response.status_code = 503 if missing else 200
    return Readiness(ready=not missing, missing=missing)
