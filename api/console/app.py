"""The console put together: an application of its own below ``/console``, with pages for its failures."""

from pathlib import Path
from typing import Final

from fastapi import FastAPI
from starlette.datastructures import State
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from api.console import failures
from api.console.headers import ConsoleHeaders
from api.console.views import (
    deliveries,
    findings,
    group,
    groups,
    health,
    overview,
    parked,
    policies,
    redrive,
    redrive_new,
    redrives,
    settings,
    tasks,
    topics,
)

PATH: Final = "/console"
STATIC: Final = Path(__file__).parent / "static"
COMPRESSED_FROM_BYTES: Final = 1_000
VIEWS: Final = (
    overview,
    groups,
    group,
    topics,
    redrive_new,
    redrive,
    redrives,
    policies,
    parked,
    tasks,
    deliveries,
    findings,
    health,
    settings,
)


def create_console(state: State) -> FastAPI:
    """The console of the api whose ``state`` this is; to be mounted at ``PATH``."""
    console = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    console.state = state
    console.add_middleware(ConsoleHeaders)
    console.add_middleware(GZipMiddleware, minimum_size=COMPRESSED_FROM_BYTES)
    failures.install(console)
    for view in VIEWS:
        console.include_router(view.router)
    console.mount("/static", StaticFiles(directory=STATIC), name="static")
    return console
