"""The application: routes, problems and headers put together."""

import time
from collections.abc import Callable

from fastapi import APIRouter, FastAPI
from fastapi.responses import RedirectResponse

from api import problems
from api.headers import SecurityHeaders
from api.routes import abandoned, dead_letters, delivery_timeouts, health, metrics, overview, tasks
from api.schemas import Problem
from api.service import Service
from api.settings import ApiSettings
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
    app.state.service = Service(settings, Store(settings.store_url), now_ms)
    app.add_middleware(SecurityHeaders)
    problems.install(app)
    app.include_router(health.router)
    app.include_router(metrics.router)
    app.include_router(_version_1())
    app.add_api_route("/", lambda: RedirectResponse("/docs"), include_in_schema=False)
    return app


def _version_1() -> APIRouter:
    told = {
        "description": "A problem.",
        "content": {problems.ProblemResponse.media_type: {"schema": Problem.model_json_schema()}},
    }
    router = APIRouter(prefix="/api/v1", responses=dict.fromkeys((400, 404, 422, 503), told))
    for signal in (overview, dead_letters, tasks, abandoned, delivery_timeouts):
        router.include_router(signal.router)
    return router
