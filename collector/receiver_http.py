"""The receiver's routes: ``POST /v1/logs`` as OTLP/HTTP has it, ``POST /v1/events`` in JSON.

200 means committed to Kafka. 503 with ``Retry-After`` means that it is not yet: sent again, it is counted
once. Whatever else is refused is refused for good and counted as quarantined input.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from collector.receiver_body import STATUS, Budget, BusyError, Hold, Reason, RefusedError, read, unpacked
from collector.receiver_journal import Journal
from collector.receiver_otlp import (
    INVALID_ARGUMENT,
    JSON,
    UNAVAILABLE,
    encoded,
    failure,
    json_of,
    media_type,
    request_of,
    success,
)
from collector.receiver_reports import reports_of
from collector.receiver_state import Delivery, Origin, Refusal, Shipment, key_of
from collector.settings import ReceiverSettings
from collector.sources.otlp import records
from collector.sources.otlp_scan import MAX_RECORD_CHARS

RETRY: Final[Mapping[str, str]] = {"Retry-After": "1"}
TOO_LONG: Final = f"records of more than {MAX_RECORD_CHARS} characters are not read"
MAX_EXCERPT_BYTES: Final = 1_000
LATE: Final = "not committed to Kafka in time; send it again, it will be counted once"

D = TypeVar("D", bound=Delivery)

_BODIES_AT_ONCE: Final = 4
_PARSED_AT_ONCE: Final = 2


@dataclass(frozen=True, slots=True)
class Receiving:
    """What the routes work with; ``origin`` makes the origin of a source's events."""

    settings: ReceiverSettings
    journal: Journal
    origin: Callable[[str], Origin]
    budget: Budget
    parsing: asyncio.Semaphore


def create_app(settings: ReceiverSettings, journal: Journal, origin: Callable[[str], Origin]) -> FastAPI:
    """The application; whoever runs it steps the journal."""
    app = FastAPI(title="Deadwatch receiver", docs_url=None, redoc_url=None, openapi_url=None)
    budget = Budget(_BODIES_AT_ONCE * settings.max_body_bytes)
    receiving = Receiving(settings, journal, origin, budget, asyncio.Semaphore(_PARSED_AT_ONCE))

    async def logs(request: Request) -> Response:
        return await _logs(receiving, request)

    async def events(request: Request) -> Response:
        return await _events(receiving, request)

    app.add_api_route("/v1/logs", logs, methods=["POST"])
    app.add_api_route("/v1/events", events, methods=["POST"])
    return app


async def _logs(receiving: Receiving, request: Request) -> Response:
    origin = receiving.origin("otlp")
    media = media_type(request.headers.get("content-type", ""))

    def delivery(body: bytes) -> Shipment:
        return Shipment(origin, key_of(media.encode(), body), tuple(records(request_of(body, media))))

    try:
        shipment = await _received(receiving, request, origin, delivery)
    except RefusedError as error:
        content, kind = encoded(failure(INVALID_ARGUMENT, str(error)), media)
        return Response(content, STATUS[error.reason], media_type=kind)
    except BusyError as error:
        content, kind = encoded(failure(UNAVAILABLE, str(error)), media)
        return Response(content, HTTPStatus.SERVICE_UNAVAILABLE, RETRY, kind)
    content, kind = encoded(success(shipment.rejected, TOO_LONG), media)
    return Response(content, media_type=kind)


async def _events(receiving: Receiving, request: Request) -> Response:
    origin = receiving.origin("events")

    def delivery(body: bytes) -> Delivery:
        if media_type(request.headers.get("content-type", "")) != JSON:
            raise RefusedError(Reason.CONTENT_TYPE, f"Content-Type must be {JSON}")
        return reports_of(json_of(body), receiving.origin)

    try:
        await _received(receiving, request, origin, delivery)
    except RefusedError as error:
        status = STATUS[error.reason]
        return JSONResponse({"status": status, "detail": str(error), "pointer": error.pointer}, status)
    except BusyError as error:
        return JSONResponse({"status": 503, "detail": str(error)}, 503, RETRY)
    return JSONResponse({"status": 200})


async def _received(receiving: Receiving, request: Request, origin: Origin, make: Callable[[bytes], D]) -> D:
    """The delivery that the request's body is, committed. Raises ``RefusedError`` and ``BusyError``."""
    try:
        with Hold(receiving.budget) as hold:
            delivery = await _read(receiving, request, hold, make)
            await _put(receiving, delivery)
    except RefusedError as error:
        excerpt = error.excerpt[:MAX_EXCERPT_BYTES].decode(errors="replace")
        await _put(receiving, Refusal(origin, error.reason, excerpt))
        raise
    return delivery


async def _read(receiving: Receiving, request: Request, hold: Hold, make: Callable[[bytes], D]) -> D:
    settings, encoding = receiving.settings, request.headers.get("content-encoding", "")
    most, timeout_ms = settings.max_body_bytes, settings.body_timeout_ms
    try:
        body = await read(request.stream(), request.headers, hold, max_bytes=most, timeout_ms=timeout_ms)
    except ClientDisconnect:
        raise RefusedError(Reason.INCOMPLETE, "the connection ended before the body") from None
    async with receiving.parsing:
        plain = await asyncio.to_thread(unpacked, body, encoding, most)
        hold.take(len(plain))
        return await asyncio.to_thread(make, plain)


async def _put(receiving: Receiving, delivery: Delivery) -> None:
    """Wait until it is committed. Raises ``BusyError``."""
    done = receiving.journal.submit(delivery)
    if done is None:
        raise BusyError("too much is waiting for Kafka; send it again")
    try:
        async with asyncio.timeout(receiving.settings.commit_timeout_ms / 1_000):
            await asyncio.wrap_future(done)
    except TimeoutError:
        raise BusyError(LATE) from None
