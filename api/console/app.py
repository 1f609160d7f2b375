"""The console put together: an application of its own below ``/console``, with pages for its failures."""

from pathlib import Path
from typing import Final

from fastapi import Depends, FastAPI
from starlette.datastructures import State
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from api.auth import admitted
from api.checks.examination import Examination
from api.console import failures
from api.console.headers import ConsoleHeaders
from api.console.sessions import Sessions, SignedIn
from api.console.views import (
    audit,
    checks,
    deliveries,
    findings,
    group,
    group_notes,
    groups,
    health,
    live,
    overview,
    parked,
    policies,
    records,
    redrive,
    redrive_new,
    redrives,
    settings_page,
    sign_in,
    sign_in_oidc,
    tasks,
    tokens,
    topics,
)
from api.settings import ApiSettings

PATH: Final = "/console"
STATIC: Final = Path(__file__).parent / "static"
COMPRESSED_FROM_BYTES: Final = 1_000
VIEWS: Final = (
    overview,
    groups,
    group,
    topics,
    records,
    group_notes,
    redrive_new,
    redrive,
    redrives,
    policies,
    parked,
    tasks,
    deliveries,
    findings,
    checks,
    health,
    live,
    settings_page,
    audit,
    tokens,
)


def create_console(state: State, settings: ApiSettings) -> FastAPI:
    """The console of the api whose ``state`` this is; to be mounted at ``PATH``."""
    console = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    console.state = state
    sessions = state.console_sessions = Sessions(settings.token_pepper.get_secret_value())
    state.console_examination = Examination(settings, state.service.now_ms)
    console.add_middleware(SignedIn, sessions=sessions)
    console.add_middleware(ConsoleHeaders)
    console.add_middleware(GZipMiddleware, minimum_size=COMPRESSED_FROM_BYTES)
    failures.install(console)
    for view in VIEWS:
        console.include_router(view.router, dependencies=[Depends(admitted)])
    console.include_router(sign_in.router)
    console.include_router(sign_in_oidc.router)
    console.mount("/static", StaticFiles(directory=STATIC), name="static")
    return console
