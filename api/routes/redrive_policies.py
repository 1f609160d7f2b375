"""Policies: standing orders that make redrives; created, read, changed, deleted; their redrives and their
history.

The ETag of a policy is its version. A request that sends it as ``If-Match`` changes that version or none. The
request's body is ``deadwatch.orders.policy.PolicyRequest``.
"""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Body, Path, Response
from pydantic import Field
from sqlalchemy import Connection

from api import cursor
from api.answers import TIME, Answer, Page, answer_of
from api.audit import Acting
from api.routes.redrives import ID, Redrives, page_of
from api.service import IfMatch, NoParameters, Paging, Service, Serving, expected_version
from deadwatch.orders.policy import Policy, PolicyRequest
from deadwatch.store.write import policies

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
        description="What keeps it from orders, of all its topics or of some; null: nothing.", examples=[None]
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


router = APIRouter(prefix="/redrive-policies", tags=["redrive policies"])
PolicyId = Annotated[str, Path(pattern=r"^[0-9a-f-]{1,36}$")]
Request = Annotated[PolicyRequest, Body(examples=[EXAMPLE])]


@router.post("", status_code=201, dependencies=[NoParameters])
def create(action: Acting, request: Request, response: Response) -> RedrivePolicy:
    """Create a standing order; the workers make its redrives."""
    also = action.witness(request.audited)
    made = action.service.policies.create(request, action.caller, also)
    return _answer(action.service, made, response)


@router.get("")
def listed(service: Serving, query: Paging) -> RedrivePolicies:
    """Policies, the oldest first."""
    with service.store.read() as connection:
        every = policies.every(connection)
        found, following = cursor.page(
            every, lambda one: (one.created_at_ms, one.id), query, numbers=1, names=1
        )
        return RedrivePolicies(items=[_policy_answer(connection, one) for one in found], next=following)


@router.get("/{policy}", dependencies=[NoParameters])
def one(service: Serving, policy: PolicyId, response: Response) -> RedrivePolicy:
    """One policy, as it is now."""
    with service.store.read() as connection:
        found = policies.find(connection, policy)
    return _answer(service, found, response)


@router.put("/{policy}", dependencies=[NoParameters])
def change(
    action: Acting, policy: PolicyId, request: Request, response: Response, if_match: IfMatch = None
) -> RedrivePolicy:
    """Replace the policy; how far it has read stays. `enabled` false pauses it, its order continues."""
    expected, also = expected_version(if_match), action.witness(request.audited)
    changed = action.service.policies.change(policy, request, action.caller, expected, also)
    return _answer(action.service, changed, response)


@router.delete("/{policy}", status_code=204, dependencies=[NoParameters])
def delete(action: Acting, policy: PolicyId, if_match: IfMatch = None) -> None:
    """Delete the policy; it makes no more redrives, one that is active continues."""
    by, expected = action.caller.name, expected_version(if_match)
    action.service.policies.delete(policy, by, expected, action.witness())


@router.get("/{policy}/redrives")
def its_redrives(service: Serving, policy: PolicyId, query: Paging) -> Redrives:
    """Its redrives, the newest first; also of a policy that was deleted."""
    return page_of(service, query, policy)


@router.get("/{policy}/changes")
def changes(service: Serving, policy: PolicyId, query: Paging) -> RedrivePolicyChanges:
    """Every change of the policy, the newest first."""
    with service.store.read() as connection:
        every = policies.changes(connection, policy)
    rows, following = cursor.page(every, lambda row: (-row.version,), query, numbers=1, names=0)
    items = [
        answer_of(RedrivePolicyChange, row, request=PolicyRequest.model_validate_json(row.request))
        for row in rows
    ]
    return RedrivePolicyChanges(items=items, next=following)


def _answer(service: Service, policy: Policy, response: Response) -> RedrivePolicy:
    response.headers["ETag"] = f'"{policy.version}"'
    with service.store.read() as connection:
        return _policy_answer(connection, policy)


def _policy_answer(connection: Connection, policy: Policy) -> RedrivePolicy:
    latest = policies.latest(connection, policy.id)
    return answer_of(
        RedrivePolicy,
        policy,
        enabled=policy.request.enabled,
        latest_order=None if latest is None else latest.id,
        dlq_topics=sorted(policy.positions),
    )
