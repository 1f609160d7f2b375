"""Bodies and answers of ``/api/v1/tokens`` and ``/api/v1/me``."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from api.auth import Role
from api.schemas import TIME, Answer, Page
from api.texts import Line

ID = "5f2a9c01d4e7"


class TokenRequest(BaseModel):
    """A token to make."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Line = Field(description="Of who will have it; the audit shows it.", examples=["deploy pipeline"])
    role: Role = Field(examples=["operator"])
    expires_in_days: int | None = Field(90, ge=1, le=3_650, description="null: it never expires.")


class Token(Answer):
    """What is known of a token; it itself was shown once."""

    id: str = Field(description="The part of the token that is no secret.", examples=[ID])
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
    """A token that was made; nobody will be shown it again."""

    token: str = Field(examples=[f"dw_{ID}_..."])


class Tokens(Page[Token]):
    """Tokens, the newest first; those that ended more than 90 days ago are forgotten."""


class Me(Answer):
    """Who asks, as the service sees it."""

    name: str = Field(examples=["deploy pipeline"])
    role: Role = Field(examples=["operator"])
    token: str | None = Field(description="Its id; null: nobody said who they are.", examples=[ID])
