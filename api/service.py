"""What routes depend on: the service, and refusals of requests that have no sense."""

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Final

from fastapi import Depends, Header, Query, Request

from api.auth.authenticator import Authenticator
from api.auth.limits import Shares
from api.auth.roles import Calling
from api.auth.tokens import TokenService
from api.browsing.browser import Browser
from api.browsing.payload import Renderer
from api.browsing.registry import Registry
from api.cache import CommitCache
from api.cursor import PageQuery
from api.errors import SearchBusyError, UnexpectedParameterError, UnsupportedMediaTypeError
from api.metrics.exposition import Exposition
from api.orders import OrderService, PolicyService
from api.settings import ApiSettings
from api.signals import waiting
from api.signals.pipeline import Moment
from api.store import Store, Writer
from api.validation import IF_MATCH

MAX_SEARCHES: Final = 16
"""At one time: each holds a thread, of 40 that there are."""


class Service:
    """Everything that routes use; made once. ``now_ms`` is the machine's clock.

    ``store`` reads, ``writer`` writes; ``tokens`` creates and revokes tokens; ``browser`` reads records of
    Kafka and ``renderer`` shows their payloads.
    """

    def __init__(self, settings: ApiSettings, now_ms: Callable[[], int]) -> None:
        self.settings, self.now_ms = settings, now_ms
        self.store = store = Store(settings.store_url)
        self.writer = writer = Writer(settings.store_url, store)
        self.exposition = Exposition(store)
        self.waiting = CommitCache(store, waiting.read)
        self.orders = OrderService(settings, store, writer, now_ms)
        self.policies = PolicyService(settings, store, writer, now_ms)
        self.browser = Browser(settings, store)
        registry = Registry(settings.schema_registry) if settings.schema_registry else None
        self.renderer = Renderer(settings.browse_max_payload_bytes, registry)
        self.tokens = TokenService(store, writer, now_ms, settings.token_pepper.get_secret_value())
        self.authenticator = Authenticator(settings, now_ms, self.tokens, store)
        self.searches = Shares(MAX_SEARCHES, SearchBusyError)

    @property
    def moment(self) -> Moment:
        """Now."""
        return Moment(self.now_ms(), self.settings.source_stale_ms)


# These dependencies wait for nothing. They are ``async`` so that FastAPI calls them without a thread.


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def no_parameters(request: Request) -> None:
    """Refuse query parameters on a route that has none: a misspelt one must not be ignored silently."""
    for name in request.query_params:
        raise UnexpectedParameterError(f"this route has no query parameter {name[:100]!r}: leave it out")


async def json_only(request: Request) -> None:
    """Refuse a body without a JSON content type: pages of foreign sites cannot send that unasked (CORS)."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    has_body = "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"
    if has_body and media_type != "application/json" and not media_type.endswith("+json"):
        needed = "a body has to say 'Content-Type: application/json'"
        raise UnsupportedMediaTypeError(f"{needed}, not {media_type[:100]!r}")


def expected_version(if_match: str | None) -> int | None:
    """The version that a change is meant for, as its ETag says; None: any."""
    tag = (if_match or "*").strip()
    return None if tag == "*" else int(tag.strip('"'))


async def _place_for_a_search(request: Request, who: Calling) -> AsyncIterator[None]:
    """Hold a place while the request evaluates a filter or reads Kafka, until its answer is sent."""
    service: Service = request.app.state.service
    with service.searches.place(who.token):
        yield


Searching = Depends(_place_for_a_search)
NoParameters = Depends(no_parameters)
Paging = Annotated[PageQuery, Query()]
IfMatch = Annotated[str | None, Header(pattern=IF_MATCH, description="The ETag that was read; * is any.")]
Serving = Annotated[Service, Depends(_service)]
