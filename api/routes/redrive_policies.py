"""Policies: made, looked at, changed, deleted; their orders and their history.

The ETag of a policy is its version. Whoever sends it as ``If-Match`` changes that version or none.
"""

import re
from typing import Annotated

from fastapi import APIRouter, Body, Header, Path, Response
from sqlalchemy import Connection

from api import cursor
from api.audit import Auditing
from api.auth import Calling
from api.cursor import Key
from api.policy_schemas import (
    EXAMPLE,
    RedrivePolicies,
    RedrivePolicy,
    RedrivePolicyChange,
    RedrivePolicyChanges,
)
from api.redrive_schemas import Redrives
from api.routes.redrives import NoParameters, answers
from api.service import Paging, Service, Serving
from api.times import instant
from streaming.redrive.errors import RefusedOrderError
from streaming.redrive.policy import Policy, PolicyRequest
from streaming.store import orders, policies

router = APIRouter(prefix="/redrive-policies", tags=["redrive policies"])

PolicyId = Annotated[str, Path(pattern=r"^[0-9a-f-]{1,36}$")]
Request = Annotated[PolicyRequest, Body(examples=[EXAMPLE])]
IfMatch = Annotated[str | None, Header(max_length=100, description="The ETag that was read.")]


@router.post("", status_code=201, dependencies=[NoParameters])
def create(
    service: Serving, who: Calling, audit: Auditing, request: Request, response: Response
) -> RedrivePolicy:
    """Make a standing order; its redrives are made by the workers."""
    return _answer(
        service, service.standing.create(request, who.name, audit.witness(request.reason)), response
    )


@router.get("")
def listed(service: Serving, query: Paging) -> RedrivePolicies:
    """Policies, the oldest first."""
    with service.store.read() as connection:
        found, following = cursor.page(
            policies.every(connection), _age, query.after, query.limit, numbers=1, names=1
        )
        return RedrivePolicies(items=[_shown(connection, one) for one in found], next=following)


@router.get("/{policy}", dependencies=[NoParameters])
def one(service: Serving, policy: PolicyId, response: Response) -> RedrivePolicy:
    """One, as it is now."""
    with service.store.read() as connection:
        found = policies.find(connection, policy)
    return _answer(service, found, response)


@router.put("/{policy}", dependencies=[NoParameters])
def change(  # noqa: PLR0917 -- what the framework hands over
    service: Serving,
    who: Calling,
    audit: Auditing,
    policy: PolicyId,
    request: Request,
    response: Response,
    if_match: IfMatch = None,
) -> RedrivePolicy:
    """Put this in its place; how far it has looked stays. `enabled` false pauses it, its order goes on."""
    also = audit.witness(request.reason)
    changed = service.standing.change(policy, request, who.name, _version(if_match), also)
    return _answer(service, changed, response)


@router.delete("/{policy}", status_code=204, dependencies=[NoParameters])
def delete(
    service: Serving, who: Calling, audit: Auditing, policy: PolicyId, if_match: IfMatch = None
) -> None:
    """No more redrives of it; one that is active goes on."""
    service.standing.delete(policy, who.name, _version(if_match), audit.witness())


@router.get("/{policy}/redrives")
def its_redrives(service: Serving, policy: PolicyId, query: Paging) -> Redrives:
    """Its redrives, the newest first; also of a policy that was deleted."""
    after = None if query.after is None else cursor.decode(query.after, names=1)
    with service.store.read() as connection:
        policies.changes(connection, policy)
        rows = orders.page(connection, after, query.limit + 1, policy)
    page, following = cursor.cut(rows, query.limit)
    return Redrives(items=answers(service, page), next=following)


@router.get("/{policy}/changes")
def changes(service: Serving, policy: PolicyId, query: Paging) -> RedrivePolicyChanges:
    """Who made what of it, the newest first."""
    with service.store.read() as connection:
        every = policies.changes(connection, policy)
    rows, following = cursor.page(
        every, lambda row: (-row["version"],), query.after, query.limit, numbers=1, names=0
    )
    return RedrivePolicyChanges(
        items=[
            RedrivePolicyChange(
                version=row["version"],
                change=row["change"],
                changed_by=row["changed_by"],
                changed_at=instant(row["changed_at_ms"]),
                request=PolicyRequest.model_validate_json(row["request"]),
            )
            for row in rows
        ],
        next=following,
    )


def _age(policy: Policy) -> Key:
    return policy.created_at_ms, policy.id


def _version(if_match: str | None) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    match = re.fullmatch(r'\s*"(\d{1,18})"\s*', if_match)
    if match is None:
        raise RefusedOrderError(f'If-Match takes the ETag of the policy, as "3", not {if_match!r}')
    return int(match[1])


def _answer(service: Service, policy: Policy, response: Response) -> RedrivePolicy:
    response.headers["ETag"] = f'"{policy.version}"'
    with service.store.read() as connection:
        return _shown(connection, policy)


def _shown(connection: Connection, policy: Policy) -> RedrivePolicy:
    latest = policies.latest(connection, policy.id)
    return RedrivePolicy(
        id=policy.id,
        version=policy.version,
        enabled=policy.request.enabled,
        status_reason=policy.status_reason or None,
        latest_order=None if latest is None else latest.id,
        dlq_topics=sorted(policy.positions),
        changed_by=policy.changed_by,
        created_at=instant(policy.created_at_ms),
        changed_at=instant(policy.changed_at_ms),
        request=policy.request,
    )
