"""Redrive orders: made, looked at, paused, resumed, cancelled."""

from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Header, Path

from api import cursor
from api.audit import Auditing
from api.auth import Calling
from api.cursor import Key
from api.redrive_progress import Progress
from api.redrive_schemas import (
    EXAMPLE,
    Outcome,
    PlannedRecord,
    Redrive,
    RedriveOutcomes,
    RedrivePlan,
    RedriveProgress,
    Redrives,
)
from api.redrives import BOUNCED, FAILED, PARKED, SENT, SKIPPED, RedriveView, views
from api.rows import SeriesRow
from api.service import Paging, Service, Serving, no_parameters
from api.times import instant
from streaming.redrive.order import OrderRequest
from streaming.redrive.plan import Plan
from streaming.store import orders
from streaming.store.order_rows import StoredOrder

router = APIRouter(prefix="/redrives", tags=["redrives"])

OrderId = Annotated[str, Path(pattern=r"^[0-9a-f-]{1,36}$")]
IdempotencyKey = Annotated[str | None, Header(min_length=1, max_length=200)]
NoParameters = Depends(no_parameters)
DRY_RUN = "redrives.dry-run"


@router.post("", status_code=202, dependencies=[NoParameters])
def create(
    service: Serving,
    who: Calling,
    audit: Auditing,
    request: Annotated[OrderRequest, Body(examples=[EXAMPLE])],
    idempotency_key: IdempotencyKey = None,
) -> Redrive:
    """Ask for a redrive: a dry run unless said otherwise. The same Idempotency-Key makes one order."""
    also = audit.witness(request.reason, DRY_RUN if request.dry_run else "")
    return answers(service, [service.redriving.create(request, who.name, idempotency_key or "", also)])[0]


@router.get("")
def listed(service: Serving, query: Paging) -> Redrives:
    """Orders, the newest first; of dry runs the latest 1 000."""
    after = None if query.after is None else cursor.decode(query.after, names=1)
    with service.store.read() as connection:
        rows = orders.page(connection, after, query.limit + 1)
    page, following = cursor.cut(rows, query.limit)
    return Redrives(items=answers(service, page), next=following)


@router.get("/{order}", dependencies=[NoParameters])
def one(service: Serving, order: OrderId) -> Redrive:
    """An order, as it is now."""
    with service.store.read() as connection:
        row = orders.find(connection, order)
    return answers(service, [row])[0]


@router.get("/{order}/outcomes")
def outcomes(service: Serving, order: OrderId, query: Paging) -> RedriveOutcomes:
    """What became of its records, by outcome and reason."""
    with service.store.read() as connection:
        (view,) = views(connection, [orders.find(connection, order)], service.now_ms())
    rows, following = cursor.page(
        view.outcomes.rows, _frequency, query.after, query.limit, numbers=1, names=2
    )
    items = [
        Outcome(
            outcome=row.labels["outcome"],
            reason=row.labels["outcome_reason"],
            records=row.value,
            first_seen=instant(row.first_ms),
            last_seen=instant(row.last_ms),
        )
        for row in rows
    ]
    return RedriveOutcomes(items=items, next=following)


def _frequency(row: SeriesRow) -> Key:
    return -row.value, row.labels["outcome"], row.labels["outcome_reason"]


@router.post("/{order}/cancel", status_code=202, dependencies=[NoParameters])
def cancel(service: Serving, who: Calling, audit: Auditing, order: OrderId) -> Redrive:
    """Stop it for ever; what it has moved stays moved."""
    return answers(service, [service.redriving.cancel(order, f"cancelled by {who.name}", audit.witness())])[0]


@router.post("/{order}/pause", status_code=202, dependencies=[NoParameters])
def pause(service: Serving, who: Calling, audit: Auditing, order: OrderId) -> Redrive:
    """Stop it for now."""
    return answers(service, [service.redriving.pause(order, f"paused by {who.name}", audit.witness())])[0]


@router.post("/{order}/resume", status_code=202, dependencies=[NoParameters])
def resume(service: Serving, audit: Auditing, order: OrderId) -> Redrive:
    """Let it go on where it was paused."""
    return answers(service, [service.redriving.resume(order, audit.witness())])[0]


def answers(service: Service, rows: Iterable[StoredOrder]) -> list[Redrive]:
    """The orders, as they are now."""
    with service.store.read() as connection:
        found = views(connection, rows, service.now_ms())
    return [_redrive(view, service.now_ms()) for view in found]


def _redrive(view: RedriveView, now_ms: int) -> Redrive:
    stored, outcomes = view.stored, view.outcomes
    order, request = stored.order, stored.order.request
    return Redrive(
        id=order.id,
        status=stored.status,
        status_reason=stored.status_reason or None,
        dry_run=request.dry_run,
        dlq_topic=request.dlq_topic,
        cut_off={str(partition): offset for partition, offset in order.cut_off.items()},
        progress=_progress(view.progress),
        to_move=view.plan.to_move,
        moved=outcomes.total(SENT),
        skipped=outcomes.total(SKIPPED),
        parked=outcomes.total(PARKED),
        failed=outcomes.total(FAILED),
        bounced=outcomes.total(BOUNCED),
        settled=view.settled,
        waiting=_waiting(stored),
        skip_reasons=outcomes.reasons(SKIPPED),
        records_per_second=outcomes.records_per_second,
        created_at=instant(order.created_at_ms),
        finished_at=instant(stored.finished_at_ms),
        estimated_end_at=instant(view.estimated_end_ms(now_ms)),
        requested_by=order.requested_by,
        policy=order.policy or None,
        reason=request.reason,
        plan=_plan(view.plan),
        request=request,
    )


def _progress(progress: Progress) -> RedriveProgress:
    return RedriveProgress(
        text=progress.text,
        done=progress.done,
        total=progress.total,
        at_least=progress.at_least,
        counted=progress.counted,
    )


def _waiting(stored: StoredOrder) -> int | None:
    if stored.status.final:
        return 0
    return stored.waiting if stored.order.request.engine == "local" else None


def _plan(plan: Plan) -> RedrivePlan:
    examples = [
        PlannedRecord(timestamp=instant(one.timestamp_ms), **one.model_dump(exclude={"timestamp_ms"}))
        for one in plan.examples
    ]
    return RedrivePlan(**plan.model_dump(exclude={"examples"}), examples=examples)
