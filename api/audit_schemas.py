"""Answers of ``/api/v1/audit``."""

from datetime import datetime

from pydantic import Field

from api.auth import Role
from api.schemas import TIME, Answer, Page


class AuditEntry(Answer):
    """One deed, or the attempt at one."""

    number: int = Field(description="Grows; one that is missing was never given.", examples=[42])
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
