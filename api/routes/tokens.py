"""Who may come in and what they did: tokens, who the caller is, and the audit."""

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime, Field, StringConstraints
from sqlalchemy import Row
from starlette.types import Receive, Scope, Send

from api import cursor
from api.answers import TIME, Answer, Page, Question, answer_of, milliseconds
from api.audit import Acting
from api.auth.role import Role
from api.auth.roles import ADMIN, OPERATOR, Calling
from api.auth.tokens import TokenService
from api.cursor import PageQuery
from api.errors import ApiError
from api.service import NoParameters, Paging, Service, Serving
from deadwatch.runtime.clock import DAY_MS
from deadwatch.runtime.logs import LINE
from deadwatch.store.write import audit, tokens
from deadwatch.store.write.audit import EntryFilter, Witness

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=LINE)]
"""A name: one printable line."""
ID = "5f2a9c01d4e7"


class TokenRequest(Question):
    """A token to create."""

    name: Line = Field(
        description="Name of who will use it; the audit shows it.", examples=["deploy pipeline"]
    )
    role: Role = Field(examples=["operator"])
    expires_in_days: int | None = Field(90, ge=1, le=3_650, description="null: it never expires.")


class Token(Answer):
    """What is known of a token; its secret was shown once."""

    id: str = Field(description="The part of the token that is not secret.", examples=[ID])
    name: str = Field(examples=["deploy pipeline"])
    role: Role = Field(examples=["operator"])
    valid: bool = Field(examples=[True])
    created_by: str = Field(examples=["ann"])
    created_at: datetime | None = Field(examples=[TIME])
    expires_at: datetime | None = Field(description="null: never.", examples=[TIME])
    revoked_at: datetime | None = Field(examples=[None])
    revoked_by: str | None = Field(examples=[None])
    used_at: datetime | None = Field(description="Within five minutes; null: never.", examples=[TIME])


class NewToken(Token):
    """A token with its secret, which is never shown again."""

    token: str = Field(examples=[f"dw_{ID}_..."])


class Tokens(Page[Token]):
    """Tokens, the newest first; those that ended more than 90 days ago are forgotten."""


class Me(Answer):
    """The caller, as the service sees it."""

    name: str = Field(examples=["deploy pipeline"])
    role: Role = Field(examples=["operator"])
    token: str | None = Field(description="Its id; null: the caller is anonymous.", examples=[ID])


EXPORTED_AT_ONCE = 500
log = logging.getLogger(__name__)
token_routes = APIRouter(tags=["tokens"])
audit_routes = APIRouter(prefix="/audit", tags=["audit"], dependencies=[OPERATOR])
TokenId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$")]


@token_routes.post("/tokens", status_code=201, dependencies=[ADMIN, NoParameters])
def create(action: Acting, request: Annotated[TokenRequest, Body()]) -> NewToken:
    """Create a token. The answer shows its secret, and nothing will ever show it again."""
    service = action.service
    return new_token(service.tokens, request, action.caller.name, service.now_ms(), action.witness)


@token_routes.get("/tokens", dependencies=[ADMIN])
def listed(service: Serving, query: Paging) -> Tokens:
    """Tokens, the newest first, without their secrets."""
    rows = service.tokens.every()
    page, following = cursor.page(rows, lambda row: row.key, query, numbers=1, names=1, backwards=True)
    return Tokens(items=[token_answer(row, service.now_ms()) for row in page], next=following)


@token_routes.delete("/tokens/{token}", status_code=204, dependencies=[ADMIN, NoParameters])
def revoke(action: Acting, token: TokenId) -> None:
    """Revoke a token: it is not accepted any more."""
    action.service.tokens.revoke(token, action.caller.name, action.witness())


@token_routes.get("/me", dependencies=[NoParameters])
def me(who: Calling) -> Me:
    """Who the caller is."""
    return answer_of(Me, who)


def new_token(
    service: TokenService, request: TokenRequest, by: str, now_ms: int, witness: Callable[[str], Witness]
) -> NewToken:
    """Create the token; ``deadwatch token --on-store`` does so without the api. Raises ``ApiError``."""
    days = request.expires_in_days
    expires_at_ms = 0 if days is None else now_ms + days * DAY_MS
    also = witness(f"{request.role} for {request.name}")
    made, credential = service.create(request.name, request.role, expires_at_ms, by, also)
    return NewToken(**dict(token_answer(made, now_ms)), token=credential.text)


def token_answer(row: tokens.Token, now_ms: int) -> Token:
    """The token as the api answers it."""
    return answer_of(Token, row, valid=row.valid(now_ms))


class AuditEntry(Answer):
    """One action, or the attempt at one."""

    number: int = Field(description="Grows; a number that is missing was never used.", examples=[42])
    at: datetime | None = Field(examples=[TIME])
    who: str = Field(description="The token's name, or `redrive worker`.", examples=["ann"])
    role: Role | None = Field(examples=["operator"])
    token: str | None = Field(description="The id of the token.", examples=["5f2a9c01d4e7"])
    action: str = Field(examples=["redrives.create"])
    subject: str = Field(examples=["0f8c2c0e-6d0b-4f5e-9a53-0c4f4d1f3b7a"])
    why: str = Field(examples=["converter fixed in 4.1"])
    outcome: str = Field(description="`done`, or the status and kind of the problem.", examples=["done"])
    request_id: str = Field(examples=["9d1e6a4f"])
    address: str = Field(examples=["127.0.0.1"])


class AuditEntries(Page[AuditEntry]):
    """Entries, the newest first."""


class AuditFilter(Question):
    """Which entries; anything else in the query is refused."""

    who: str | None = Field(None, max_length=200, pattern=LINE, description="Exactly this name.")
    action: str | None = Field(None, max_length=100, pattern=LINE, description="Exactly this action.")
    begin: AwareDatetime | None = Field(None, alias="from", description="The first time.")
    end: AwareDatetime | None = Field(None, alias="to", description="Not included.")

    @property
    def entries(self) -> EntryFilter:
        """The filter for the query of the store."""
        return EntryFilter(
            who=self.who,
            action=self.action,
            from_ms=None if self.begin is None else milliseconds(self.begin),
            until_ms=None if self.end is None else milliseconds(self.end),
        )


class AuditQuery(PageQuery, AuditFilter):
    """Which entries, and which page of them."""


@audit_routes.get("", name="listed")
def entries(service: Serving, query: Annotated[AuditQuery, Query()]) -> AuditEntries:
    """Entries, the newest first."""
    before = None if query.after is None else int(cursor.decode(query.after, names=0)[0])
    with service.store.read() as connection:
        rows = audit.page(connection, query.entries, before, query.limit + 1)
    page, following = cursor.cut(rows, lambda row: (row.number,), query.limit)
    return AuditEntries(items=[answer_of(AuditEntry, row) for row in page], next=following)


class JsonLines(StreamingResponse):
    """One JSON object a line.

    Where the store goes away in between, the server closes the connection before the body's end, so that
    nobody takes it for the whole.
    """

    media_type = "application/jsonl"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        except ApiError as error:
            log.error("the export of the audit is cut: %s", error)  # noqa: TRY400 -- a stack trace would say no more


@audit_routes.get("/export", response_class=JsonLines)
def export(service: Serving, query: Annotated[AuditFilter, Query()]) -> JsonLines:
    """All of them as JSON Lines, the newest first; a cursor is not needed."""
    first = _read_entries(service, query.entries)  # an unreadable store is a problem, not a file that is cut
    return JsonLines(_entry_lines(service, query.entries, first))


def _entry_lines(service: Service, entries: EntryFilter, rows: Sequence[Row[Any]]) -> Iterator[str]:
    while rows:
        yield "".join(answer_of(AuditEntry, row).model_dump_json() + "\n" for row in rows)
        rows = _read_entries(service, entries, rows[-1].number) if len(rows) == EXPORTED_AT_ONCE else []


def _read_entries(service: Service, entries: EntryFilter, before: int | None = None) -> Sequence[Row[Any]]:
    with service.store.read() as connection:
        return audit.page(connection, entries, before, EXPORTED_AT_ONCE)


router = APIRouter()
router.include_router(token_routes)
router.include_router(audit_routes)
