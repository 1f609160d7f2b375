"""The audit: who did what, when, why, and how it went."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from api import cursor
from api.audit_schemas import AuditEntries, AuditEntry
from api.auth import Role, require
from api.errors import InvalidCursorError
from api.service import Service, Serving
from api.times import instant, milliseconds
from collector.printed import LINE
from streaming.store import audit
from streaming.store.audit import Kept, Wanted

EXPORTED_AT_ONCE = 500

router = APIRouter(prefix="/audit", tags=["audit"], dependencies=[Depends(require(Role.OPERATOR))])


class AuditFilter(BaseModel):
    """Which entries; anything else in the query is refused."""

    model_config = ConfigDict(extra="forbid")

    who: str | None = Field(None, max_length=200, pattern=LINE, description="Exactly this name.")
    action: str | None = Field(None, max_length=100, pattern=LINE, description="Exactly this action.")
    begin: datetime | None = Field(None, alias="from", description="The first time.")
    end: datetime | None = Field(None, alias="to", description="Not included.")

    @property
    def wanted(self) -> Wanted:
        """As the store is asked."""
        return Wanted(
            who=self.who,
            action=self.action,
            from_ms=milliseconds(self.begin),
            until_ms=milliseconds(self.end),
        )


class AuditQuery(AuditFilter):
    """Which entries, and which page of them."""

    limit: int = Field(50, ge=1, le=500, description="How many rows at most.")
    after: str | None = Field(None, description="``next`` of the page before.")


@router.get("")
def listed(service: Serving, query: Annotated[AuditQuery, Query()]) -> AuditEntries:
    """Entries, the newest first."""
    before = None if query.after is None else _number(query.after)
    with service.store.read() as connection:
        rows = audit.page(connection, query.wanted, before, query.limit + 1)
    page, following = cursor.cut(rows, query.limit)
    return AuditEntries(items=[_told(row) for row in page], next=following)


class JsonLines(StreamingResponse):
    """An object a line."""

    media_type = "application/jsonl"


@router.get("/export", response_class=JsonLines)
def export(service: Serving, query: Annotated[AuditFilter, Query()]) -> JsonLines:
    """All of them as JSON Lines, the newest first; a cursor is not needed."""
    first = _read(service, query.wanted, None)  # a store that cannot be read is a problem, not a cut answer
    return JsonLines(_lines(service, query.wanted, first))


def _lines(service: Service, wanted: Wanted, rows: list[Kept]) -> Iterator[str]:
    while rows:
        yield "".join(_told(row).model_dump_json() + "\n" for row in rows)
        rows = _read(service, wanted, rows[-1].number) if len(rows) == EXPORTED_AT_ONCE else []


def _read(service: Service, wanted: Wanted, before: int | None) -> list[Kept]:
    with service.store.read() as connection:
        return list(audit.page(connection, wanted, before, EXPORTED_AT_ONCE))


def _number(after: str) -> int:
    (number,) = cursor.decode(after, names=0)
    if not isinstance(number, int):
        raise InvalidCursorError
    return number


def _told(row: Kept) -> AuditEntry:
    return AuditEntry(
        number=row.number,
        at=instant(row.at_ms),
        who=row.who,
        role=row.role or None,
        token=row.token or None,
        action=row.action,
        subject=row.subject,
        why=row.why,
        outcome=row.outcome,
        request_id=row.request_id,
        address=row.address,
    )
