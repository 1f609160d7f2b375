"""What every route works with, made once when the app is made."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from api.errors import UnexpectedParameterError
from api.settings import ApiSettings
from api.store import Store


@dataclass(frozen=True, slots=True)
class Service:
    """The settings, the store, and the clock in ms."""

    settings: ApiSettings
    store: Store
    now_ms: Callable[[], int]


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def no_parameters(request: Request) -> None:
    """Refuse query parameters: a misspelt one must not pass for one that has no effect."""
    for name in request.query_params:
        raise UnexpectedParameterError(name)


Serving = Annotated[Service, Depends(_service)]
