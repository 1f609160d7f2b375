"""The application: routes, problems and headers put together."""

import time
from collections.abc import Callable

from fastapi import APIRouter, FastAPI
from fastapi.responses import RedirectResponse

from api import problems
from api.console.app import PATH as CONSOLE
from api.console.app import create_console
from api.headers import SecurityHeaders
from api.redriving import Redriving
from api.routes import (
    abandoned,
    connect_tasks,
    dead_letters,
    delivery_timeouts,
    findings,
    health,
    metrics,
    overview,
    redrive_policies,
    redrives,
    series,
    tasks,
)
from api.schemas import Problem
from api.service import Service
from api.settings import ApiSettings
from api.standing import Standing
from api.store import Store
from collector.version import VERSION


def system_now_ms() -> int:
    """The machine's clock."""
    return time.time_ns() // 1_000_000


def create_app(settings: ApiSettings, now_ms: Callable[[], int] = system_now_ms) -> FastAPI:
    """The api on the store of ``settings``, which need not exist yet."""
    app = FastAPI(
        title="Deadwatch",
        version=VERSION,
        description="What Kafka gave up on: dead letters, timeouts, abandoned tasks.",
    )
    app.state.service = _service(settings, now_ms)
    app.add_middleware(SecurityHeaders)
    problems.install(app)
    app.include_router(health.router)
    app.include_router(metrics.router)
    app.include_router(_version_1())
    app.mount(CONSOLE, create_console(app.state))
    app.add_api_route("/", lambda: RedirectResponse(f"{CONSOLE}/"), include_in_schema=False)
    return app


def _service(settings: ApiSettings, now_ms: Callable[[], int]) -> Service:
    store = Store(settings.store_url)
    return Service(
        settings, store, now_ms, Redriving(settings, store, now_ms), Standing(settings, store, now_ms)
    )


def _version_1() -> APIRouter:
    told = {
        "description": "A problem.",
        "content": {problems.ProblemResponse.media_type: {"schema": Problem.model_json_schema()}},
    }
    router = APIRouter(prefix="/api/v1", responses=dict.fromkeys((400, 404, 409, 412, 422, 503), told))
    for signal in (
        overview,
        dead_letters,
        tasks,
        connect_tasks,
        abandoned,
        delivery_timeouts,
        findings,
        redrives,
        redrive_policies,
        series,
    ):
        router.include_router(signal.router)
    return router
