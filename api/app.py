"""The application: routes, problems and headers put together."""

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from anyio import to_thread
from fastapi import APIRouter, Depends, FastAPI
from fastapi.responses import RedirectResponse

from api import openapi, problems, waiting
from api.audit_trail import AuditTrail
from api.auth import Role, admitted, require
from api.body_limit import BodyLimit
from api.browsing.browser import Browser
from api.browsing.payload import Renderer
from api.browsing.registry import Registry
from api.console.app import PATH as CONSOLE
from api.console.app import create_console
from api.gate import Gate
from api.headers import SecurityHeaders
from api.kept import Kept
from api.live import Live, Look
from api.metrics.exposition import Exposition
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
    group_notes,
    health,
    jolokia,
    live,
    metrics,
    overview,
    records,
    redrive_policies,
    redrives,
    series,
    tasks,
    tokens,
)
from api.service import PageQuery, Service, json_only
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
        generate_unique_id_function=openapi.operation_id,
        telemetry=OFF if telemetry is None else telemetry.config,
    )
    app.state.service, app.state.telemetry = _service(settings, now_ms), telemetry
    app.state.live = _live(app.state.service)
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes)
    app.add_middleware(AuditTrail, now_ms=now_ms)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestId)
    problems.install(app)
    openapi.install(app)
    app.include_router(health.router)
    app.include_router(metrics.router, dependencies=[Depends(require(Role.VIEWER))])
    app.include_router(jolokia.router, dependencies=[Depends(require(Role.VIEWER))])
    app.include_router(_version_1(settings.max_body_bytes))
    app.mount(CONSOLE, create_console(app.state, settings))
    app.add_api_route("/", lambda: RedirectResponse(f"{CONSOLE}/"), include_in_schema=False)
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
    registry = None if settings.schema_registry is None else Registry(settings.schema_registry)
    writer = Writer(settings.store_url, store)
    desk = TokenDesk(store, writer, now_ms, settings.token_pepper.get_secret_value())
    return Service(
        settings=settings,
        store=store,
        exposition=Exposition(store),
        waiting=Kept(store, waiting.read),
        now_ms=now_ms,
        redriving=Redriving(settings, store, now_ms),
        standing=Standing(settings, store, now_ms),
        browser=Browser(settings, store),
        renderer=Renderer(settings.browse_max_payload_bytes, registry),
        writer=writer,
        desk=desk,
        gate=Gate(settings, now_ms, desk),
    )


def _live(service: Service) -> Live:
    looks: dict[str, Look] = {
        "overview": partial(overview.overview, service),
        "groups": partial(dead_letters.groups, service, dead_letters.GroupsQuery()),
        "redrives": partial(redrives.listed, service, PageQuery()),
    }
    return Live(looks, service.settings.live_interval_ms, service.settings.live_max_clients)


def _version_1(max_body_bytes: int) -> APIRouter:
    router = APIRouter(
        prefix="/api/v1",
        max_body_size=max_body_bytes,
        dependencies=[Depends(admitted), Depends(json_only)],
    )
    for signal in (
        overview,
        live,
        dead_letters,
        group_notes,
        records,
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
