"""Tokens: made, listed, revoked by an admin; and who asks."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path

from api import cursor
from api.audit import Auditing
from api.auth import Calling, Role, require
from api.errors import UnauthenticatedError
from api.service import Paging, Serving, no_parameters
from api.times import instant
from api.token_schemas import Me, NewToken, Token, TokenRequest, Tokens
from streaming.store import tokens

DAY_MS = 86_400_000
ADMIN = Depends(require(Role.ADMIN))
NoParameters = Depends(no_parameters)

router = APIRouter(tags=["tokens"])

TokenId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$")]


@router.post("/tokens", status_code=201, dependencies=[ADMIN, NoParameters])
def create(
    service: Serving, who: Calling, audit: Auditing, request: Annotated[TokenRequest, Body()]
) -> NewToken:
    """Make a token. The answer shows it, and nothing will ever again."""
    days = request.expires_in_days
    expires_at_ms = 0 if days is None else service.now_ms() + days * DAY_MS
    also = audit.witness(f"{request.role} for {request.name}")
    made, credential = service.desk.create(request.name, request.role, expires_at_ms, who.name, also)
    return NewToken(**dict(told_of(made, service.now_ms())), token=credential.text)


@router.get("/tokens", dependencies=[ADMIN])
def listed(service: Serving, query: Paging) -> Tokens:
    """Tokens, the newest first, without what makes them one."""
    after = None if query.after is None else cursor.decode(query.after, names=1)
    rows = [row for row in service.desk.every() if after is None or row.key < after]
    page, following = cursor.cut(rows[: query.limit + 1], query.limit)
    return Tokens(items=[told_of(row, service.now_ms()) for row in page], next=following)


@router.delete("/tokens/{token}", status_code=204, dependencies=[ADMIN, NoParameters])
def revoke(service: Serving, who: Calling, audit: Auditing, token: TokenId) -> None:
    """Revoke a token: it opens nothing any more."""
    service.desk.revoke(token, who.name, audit.witness())


@router.get("/me", dependencies=[NoParameters])
def me(who: Calling) -> Me:
    """Who asks."""
    if who.role is None:
        raise UnauthenticatedError(Role.VIEWER)
    return Me(name=who.name, role=who.role, token=who.token or None)


def told_of(row: tokens.Token, now_ms: int) -> Token:
    """A token as the api tells of it."""
    return Token(
        id=row.id,
        name=row.name,
        role=Role(row.role),
        valid=row.valid(now_ms),
        created_by=row.created_by,
        created_at=instant(row.created_at_ms),
        expires_at=instant(row.expires_at_ms),
        revoked_at=instant(row.revoked_at_ms),
        revoked_by=row.revoked_by or None,
        used_at=instant(row.used_at_ms),
    )
