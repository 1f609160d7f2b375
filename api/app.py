"""The application: routes, problems and headers put together."""

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Depends, FastAPI
from fastapi.responses import RedirectResponse

from api import problems
from api.audit_trail import AuditTrail
from api.auth import Role, admitted, require
from api.body_limit import BodyLimit
from api.gate import Gate
from api.headers import SecurityHeaders
from api.redriving import Redriving
from api.request_id import RequestId
from api.retention import Retention
from api.routes import (
    abandoned,
    audit,
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
    tokens,
)
from api.schemas import Problem
from api.service import Service, json_only
from api.settings import ApiSettings
from api.standing import Standing
from api.store import Store, Writer
from api.telemetry import OFF, Telemetry, telemetry_of
from api.token_desk import TokenDesk
from collector.version import VERSION


def system_now_ms() -> int:
    """The machine's clock."""
    return time.time_ns() // 1_000_000


def create_app(settings: ApiSettings, now_ms: Callable[[], int] = system_now_ms) -> FastAPI:
    """The api on the store of ``settings``, which need not exist yet."""
    telemetry = telemetry_of(settings.otel_endpoint, os.environ)
    app = FastAPI(
        title="Deadwatch",
        version=VERSION,
        description="What Kafka gave up on: dead letters, timeouts, abandoned tasks.",
        lifespan=_lifespan,
        telemetry=OFF if telemetry is None else telemetry.config,
    )
    app.state.service, app.state.telemetry = _service(settings, now_ms), telemetry
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes)
    app.add_middleware(AuditTrail, now_ms=now_ms)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestId)
    problems.install(app)
    app.include_router(health.router)
    app.include_router(
        metrics.router,
        dependencies=[Depends(require(Role.VIEWER))],
        responses=_problems(401, 403, 429, 503),
    )
    app.include_router(_version_1(settings.max_body_bytes))
    app.add_api_route("/", lambda: RedirectResponse("/docs"), include_in_schema=False)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    days = service.settings.audit_retention_days
    async with Retention(service.writer, service.now_ms, days).kept():
        yield
    service.desk.close()
    telemetry: Telemetry | None = app.state.telemetry
    if telemetry is not None:
        await to_thread.run_sync(telemetry.close)


def _service(settings: ApiSettings, now_ms: Callable[[], int]) -> Service:
    store = Store(settings.store_url)
    writer = Writer(settings.store_url, store)
    desk = TokenDesk(store, writer, now_ms, settings.token_pepper.get_secret_value())
    return Service(
        settings=settings,
        store=store,
        now_ms=now_ms,
        redriving=Redriving(settings, store, now_ms),
        standing=Standing(settings, store, now_ms),
        writer=writer,
        desk=desk,
        gate=Gate(settings, now_ms, desk),
    )


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI document."""
    content = {problems.ProblemResponse.media_type: {"schema": Problem.model_json_schema()}}
    return {status: {"description": "A problem.", "content": content} for status in statuses}


def _version_1(max_body_bytes: int) -> APIRouter:
    router = APIRouter(
        prefix="/api/v1",
        max_body_size=max_body_bytes,
        responses=_problems(400, 401, 403, 404, 409, 412, 413, 415, 422, 429, 503),
        dependencies=[Depends(admitted), Depends(json_only)],
    )
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
        tokens,
        audit,
    ):
        router.include_router(signal.router)
    return router
