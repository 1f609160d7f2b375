"""Answers of ``/api/v1/redrive-policies``; the request is ``streaming.redrive.policy.PolicyRequest``."""

from datetime import datetime

from pydantic import Field

from api.redrive_schemas import ID
from api.schemas import TIME, Answer, Page
from streaming.redrive.policy import PolicyRequest

EXAMPLE = {
    "dlq_topics": ["dlq\\.orders"],
    "filter": 'connector == "sink"',
    "exclude_error_classes": ["org.apache.kafka.common.errors.SerializationException"],
    "retry": {"max_attempts": 3, "retry_backoff_ms": 60000, "retry_backoff_max_ms": 900000},
    "reason": "the database is away now and then",
}


class RedrivePolicy(Answer):
    """A standing order, as it is now; ``version`` is its ETag."""

    id: str = Field(examples=[ID])
    version: int = Field(examples=[1])
    enabled: bool = Field(examples=[True])
    status_reason: str | None = Field(
        description="Why it makes no order; null: nothing keeps it.", examples=[None]
    )
    latest_order: str | None = Field(description="Its newest redrive.", examples=[ID])
    dlq_topics: list[str] = Field(description="Topics that it has looked at.", examples=[["dlq.orders"]])
    changed_by: str = Field(examples=["anonymous"])
    created_at: datetime | None = Field(examples=[TIME])
    changed_at: datetime | None = Field(examples=[TIME])
    request: PolicyRequest


class RedrivePolicies(Page[RedrivePolicy]):
    """Policies, the oldest first."""


class RedrivePolicyChange(Answer):
    """One version of a policy."""

    version: int = Field(examples=[2])
    change: str = Field(description="created, changed or deleted.", examples=["changed"])
    changed_by: str = Field(examples=["anonymous"])
    changed_at: datetime | None = Field(examples=[TIME])
    request: PolicyRequest


class RedrivePolicyChanges(Page[RedrivePolicyChange]):
    """The newest first; also of a policy that was deleted."""
