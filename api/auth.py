"""Who asks, and what they may: dependencies of the routes.

Below ``/api/v1`` every route needs a viewer to read and an operator to change something (``admitted``);
``require`` asks for more. A viewer need not say who they are where reading is anonymous (``api.gate``). What
looks into the store runs in a thread; the rest is ``async`` and costs none.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from fastapi import Depends, Request, Security
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPBearer

from api.errors import ForbiddenError, UnauthenticatedError

READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Role(StrEnum):
    """What somebody may do; each may what the ones before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def covers(self, needed: "Role") -> bool:
        """Whether who has this role may what ``needed`` may."""
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(needed)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks; ``token`` is the id of their token, "" for nobody in particular. Without role: no right."""

    name: str
    role: Role | None
    token: str = ""

    @property
    def anonymous(self) -> bool:
        """Whether nobody said who they are."""
        return not self.token

    def may(self, needed: Role) -> bool:
        """Whether their role covers it."""
        return self.role is not None and self.role.covers(needed)


BEARER: Final = HTTPBearer(auto_error=False, scheme_name="token", description="`dw_...` or a JWT.")
NOBODY: Final = Caller("anonymous", None)
ANYBODY: Final = Caller("anonymous", Role.VIEWER)
"""Nobody in particular, where reading is anonymous."""


async def caller(request: Request, _: Annotated[object, Security(BEARER)] = None) -> Caller:
    """Who asks, found out once a request; the OpenAPI document says how one says it.

    Raises:
        UnauthenticatedError: the credentials are not valid.
    """
    if "authorization" in request.headers:  # else nothing is looked up, and that costs no thread
        return await run_in_threadpool(known, request)
    return known(request)


def known(request: Request) -> Caller:
    """As ``caller``, for what runs in a thread."""
    if not hasattr(request.state, "caller"):
        request.state.caller = request.app.state.service.gate.caller(request)
    found: Caller = request.state.caller
    return found


Calling = Annotated[Caller, Depends(caller)]


def require(role: Role) -> Callable[[Caller], Awaitable[Caller]]:
    """A dependency that lets pass who has this role, and says who it is."""

    async def required(who: Calling) -> Caller:
        return checked(who, role)

    return required


async def admitted(request: Request, who: Calling) -> Caller:
    """Lets pass a viewer who reads, and an operator; of every route below ``/api/v1``."""
    return admit(request, who)


def admit(request: Request, who: Caller) -> Caller:
    """As ``admitted``, where there is no route yet. Raises ``ApiError``."""
    return checked(who, Role.VIEWER if request.method in READING else Role.OPERATOR)


def checked(who: Caller, needed: Role) -> Caller:
    """The caller, if they have the role. Raises ``ApiError``."""
    if who.may(needed):
        return who
    if who.anonymous:
        raise UnauthenticatedError(needed)
    raise ForbiddenError(who.role, needed)
