"""What a view that changes something works with."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from api.audit import Audit, Auditing
from api.auth import Caller, Calling
from api.service import Service, Serving


@dataclass(frozen=True, slots=True)
class Acting:
    """The request, the service, who acts and the record of it."""

    request: Request
    service: Service
    who: Caller
    audit: Audit


def _acting(request: Request, service: Serving, who: Calling, audit: Auditing) -> Acting:
    return Acting(request, service, who, audit)


Act = Annotated[Acting, Depends(_acting)]
