"""Who calls and what they may do: roles, and the dependencies by which routes ask for them.

Below ``/api/v1`` every route needs a viewer to read and an operator to change something (``admitted``);
``require`` asks for more. A viewer may stay anonymous where anonymous reading is allowed
(``api.auth.authenticator``). What reads the store runs in a thread; the rest is ``async`` and costs none.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request, Security
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPBearer

from api.auth.role import Role
from api.errors import ForbiddenError, UnauthenticatedError

READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls; ``token`` is the id of their token, "" for an anonymous caller. Without role: no right."""

    name: str
    role: Role | None
    token: str = ""

    @property
    def anonymous(self) -> bool:
        """Whether the request carried no credentials."""
        return not self.token

    def may(self, needed: Role) -> bool:
        """Whether the caller's role covers it."""
        return self.role is not None and self.role.covers(needed)


BEARER: Final = HTTPBearer(auto_error=False, scheme_name="token", description="`dw_...` or a JWT.")
NOBODY: Final = Caller("anonymous", None)
ANONYMOUS_VIEWER: Final = Caller("anonymous", Role.VIEWER)
"""An anonymous caller where anonymous reading is allowed."""


async def caller(request: Request, _: Annotated[object, Security(BEARER)] = None) -> Caller:
    """The caller, found out once a request; the OpenAPI document shows how to authenticate.

    Raises ``UnauthenticatedError``: the credentials are not valid.
    """
    # Otherwise nothing is looked up, which needs no thread.
    if "authorization" in request.headers or hasattr(request.state, "session"):
        return await run_in_threadpool(caller_of, request)
    return caller_of(request)


def caller_of(request: Request) -> Caller:
    """Like ``caller``, for code that runs in a thread."""
    if not hasattr(request.state, "caller"):
        request.state.caller = request.app.state.service.authenticator.caller(request)
    found: Caller = request.state.caller
    return found


Calling = Annotated[Caller, Depends(caller)]


def require(role: Role) -> Callable[[Caller], Awaitable[Caller]]:
    """A dependency that admits callers who have this role, and returns the caller."""

    async def required(who: Calling) -> Caller:
        return checked(who, role)

    return required


VIEWER, OPERATOR, ADMIN = (Depends(require(role)) for role in Role)
"""Dependencies of routes that need the role."""


async def admitted(request: Request, who: Calling) -> Caller:
    """Admits a viewer who reads, and an operator; a dependency of every route below ``/api/v1``."""
    return admit(request, who)


def admit(request: Request, who: Caller) -> Caller:
    """Like ``admitted``, where no route was reached. Raises ``ApiError``."""
    return checked(who, Role.VIEWER if request.method in READING else Role.OPERATOR)


def checked(who: Caller, needed: Role) -> Caller:
    """The caller, if they have the role. Raises ``ApiError``."""
    if who.may(needed):
        return who
    if who.anonymous:
        raise UnauthenticatedError(needed)
    raise ForbiddenError(who.role, needed)
