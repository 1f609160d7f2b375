"""The application: services, middlewares and routes, put together in one place."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache, partial
from typing import Any

from anyio import CancelScope, to_thread
from fastapi import APIRouter, Depends, FastAPI
from fastapi.responses import RedirectResponse
from starlette.routing import BaseRoute

from api import openapi, problems
from api.audit import AuditTrail, retain
from api.auth.roles import admitted
from api.console.app import PATH as CONSOLE
from api.console.app import create_console
from api.cursor import PageQuery
from api.middleware import AnswerHeaders, HeadAsGet, Refusals
from api.routes import (
    dead_letters,
    live,
    monitoring,
    overview,
    records,
    redrive_policies,
    redrives,
    series,
    signals,
    tokens,
)
from api.routes.live import Live, StateReader
from api.service import Service, json_only
from api.settings import ApiSettings
from api.telemetry import telemetry_of
from deadwatch.runtime.clock import clock_ms
from deadwatch.runtime.version import VERSION


def create_app(settings: ApiSettings, now_ms: Callable[[], int] = clock_ms) -> FastAPI:
    """The api on the store of ``settings``, which need not exist yet."""
    telemetry, close_telemetry = telemetry_of(settings.otel_endpoint, os.environ)
    app = FastAPI(
        title=openapi.TITLE,
        version=VERSION,
        description=openapi.DESCRIPTION,
        lifespan=_lifespan,
        telemetry=telemetry,
        routes=[*_routes(settings.max_body_bytes)],
        docs_url=None,
        redoc_url=None,
    )
    app.state.close_telemetry = close_telemetry
    app.state.service = Service(settings, now_ms)
    app.state.live = _live(app.state.service)
    app.add_middleware(HeadAsGet)
    app.add_middleware(Refusals, max_bytes=settings.max_body_bytes)
    app.add_middleware(AuditTrail, now_ms=now_ms)
    app.add_middleware(AnswerHeaders)
    problems.install(app)
    openapi.install(app, partial(_document, settings.max_body_bytes))
    app.mount(CONSOLE, create_console(app.state, settings))
    app.add_api_route("/", lambda: RedirectResponse(f"{CONSOLE}/"), include_in_schema=False)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    days = service.settings.audit_retention_days
    async with AsyncExitStack() as ends:  # the last one first, and each whatever another raises
        ends.push_async_callback(to_thread.run_sync, app.state.close_telemetry)
        ends.callback(service.tokens.close)
        await ends.enter_async_context(beside_requests(app.state.live.run))
        await ends.enter_async_context(beside_requests(partial(retain, service.writer, service.now_ms, days)))
        yield


@asynccontextmanager
async def beside_requests(work: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """``work`` goes on in a task; at the end it is cancelled and waited for. Raises what the work raised.

    It is cancelled by anyio, not by ``asyncio.Task.cancel``: that would leave the thread that the task waits
    for at work, with a connection that nobody closes any more.
    """
    scope = CancelScope()

    async def run() -> None:
        with scope:
            await work()

    task = asyncio.create_task(run())
    try:
        yield
    finally:
        scope.cancel()
        with CancelScope(shield=True):
            await asyncio.wait([task])  # not the task itself: it would be cancelled with the caller
        task.result()


def _live(service: Service) -> Live:
    readers: dict[str, StateReader] = {
        "overview": partial(overview.overview, service),
        "groups": partial(dead_letters.groups, service, dead_letters.GroupsQuery()),
        "redrives": partial(redrives.listed, service, PageQuery()),
    }
    return Live(readers, service.settings.live_interval_ms, service.settings.live_max_clients)


@cache  # what FastAPI works out of its routes is most of what an app costs
def _routes(max_body_bytes: int) -> tuple[BaseRoute, ...]:
    """Those of every api that takes bodies of this size."""
    version_1 = APIRouter(
        prefix="/api/v1", max_body_size=max_body_bytes, dependencies=[Depends(admitted), Depends(json_only)]
    )
    for module in (
        overview,
        live,
        dead_letters,
        records,
        signals,
        redrives,
        redrive_policies,
        series,
        tokens,
    ):
        version_1.include_router(module.router)
    whole = APIRouter(generate_unique_id_function=openapi.operation_id)
    whole.include_router(monitoring.router)
    whole.include_router(version_1)
    return tuple(whole.routes)


@cache
def _document(max_body_bytes: int) -> dict[str, Any]:
    return openapi.document(_routes(max_body_bytes))
