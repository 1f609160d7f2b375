"""What every route works with: the service, made once when the app is made, and the query of a page."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from api.browsing.browser import Browser
from api.browsing.payload import Renderer
from api.errors import UnexpectedParameterError, UnsupportedMediaTypeError
from api.gate import Gate
from api.kept import Kept
from api.metrics.exposition import Exposition
from api.redriving import Redriving
from api.settings import ApiSettings
from api.standing import Standing
from api.store import Store, Writer
from api.token_desk import TokenDesk
from api.waiting import Waiting


@dataclass(frozen=True, slots=True)
class Service:
    """The settings, the store and what is kept of it, the clock in ms, what changes the store, who lets in,
    what shows Kafka.
    """

    settings: ApiSettings
    store: Store
    exposition: Exposition
    waiting: Kept[Waiting]
    now_ms: Callable[[], int]
    redriving: Redriving
    standing: Standing
    browser: Browser
    renderer: Renderer
    writer: Writer
    desk: TokenDesk
    gate: Gate


class PageQuery(BaseModel):
    """Which page of a list; anything else in the query is refused."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(50, ge=1, le=500, description="How many rows at most.")
    after: str | None = Field(None, description="``next`` of the page before.")


# What does not wait is no work for a thread: dependencies are ``async`` to be called at once.


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def no_parameters(request: Request) -> None:
    """Refuse query parameters: a misspelt one must not pass for one that has no effect."""
    for name in request.query_params:
        raise UnexpectedParameterError(name)


async def json_only(request: Request) -> None:
    """Refuse a body that does not say that it is JSON: no page of a foreign site can send it unasked."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    has_body = "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"
    if has_body and media_type != "application/json" and not media_type.endswith("+json"):
        raise UnsupportedMediaTypeError(media_type)


Paging = Annotated[PageQuery, Query()]
Serving = Annotated[Service, Depends(_service)]
