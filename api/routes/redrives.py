"""Redrive orders: created, read, paused, resumed, cancelled.

The request is ``deadwatch.orders.order.OrderRequest``.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Body, Header, Path
from pydantic import Field

from api import cursor
from api.answers import TIME, Answer, Page, answer_of, instant
from api.audit import Acting
from api.cursor import Key, PageQuery
from api.service import NoParameters, Paging, Searching, Service, Serving
from api.signals.redrives import BOUNCED, NOT_MOVED, OUTCOME, REASON, SENT, SKIPPED, RedriveView, views
from api.signals.series import SeriesRow
from deadwatch.orders.order import OrderRequest, Status
from deadwatch.store.write import orders, policies
from deadwatch.store.write.orders import StoredOrder

ID = "0f8c2c0e-6d0b-4f5e-9a53-0c4f4d1f3b7a"
EXAMPLE = {
    "dlq_topic": "dlq.orders",
    "selection": {"filter": 'error_class.endsWith("DataException")'},
    "target": {"kind": "origin"},
    "limits": {"records_per_second": 50},
    "retry": {"max_attempts": 5},
    "dry_run": True,
    "reason": "converter fixed in 4.1",
}
"""A request that moves nothing: a dry run."""


class PlannedRecord(Answer):
    """One record of the selection, and what would happen to it."""

    partition: int = Field(examples=[0])
    offset: int = Field(examples=[42])
    timestamp: datetime | None = Field(examples=[TIME])
    error_class: str = Field(examples=["org.apache.kafka.connect.errors.DataException"])
    target_topic: str = Field(examples=["orders"])
    target_partition: int | None = Field(description="null: by its key.", examples=[3])
    skip_reason: str = Field(description="Empty: it would be moved.", examples=[""])


class RedrivePlan(Answer):
    """What the scan at the creation has found; it moved nothing."""

    to_move: int = Field(examples=[20000])
    at_least: bool = Field(description="The reading was cut short: there may be more.", examples=[False])
    at_most: int = Field(
        description="Records to move or to park: the number to confirm. Where the reading was cut short "
        "these are offsets, of which markers of transactions have some, too; at most `limits.max_records`: "
        "what such an order parks is then not counted.",
        examples=[20012],
    )
    read: int = Field(description="Records that were read.", examples=[20003])
    bytes: int = Field(description="Of keys and values to move.", examples=[38_000_000])
    targets: dict[str, int] = Field(examples=[{"orders": 20000}])
    to_park: int = Field(
        description="Records whose attempts are used up, or whose error class is excluded.", examples=[12]
    )
    park_reasons: dict[str, int] = Field(
        description="Of to_park; older plans have none.",
        examples=[{"attempts_used_up": 12}],
    )
    skip_reasons: dict[str, int] = Field(
        description="Records that would stay; `already_moved` and `already_parked`: by earlier orders, which "
        "`again` moves once more.",
        examples=[{"already_moved": 3}],
    )
    rehydrated: int = Field(
        description="Of to_move: their payload and attempts are read at the origin when they are moved; "
        "those whose attempts are used up are parked.",
        examples=[0],
    )
    dropped_headers: dict[str, int] = Field(
        description="Headers that moved records go without, by name: of how many records.",
        examples=[{"retry_topic-attempts": 20000}],
    )
    filter_problems: dict[str, int] = Field(examples=[{}])
    estimated_ms: int | None = Field(description="By the limits; null: there are none.", examples=[400_000])
    examples: list[PlannedRecord]
    warnings: list[str] = Field(examples=[[]])


class RedriveProgress(Answer):
    """How far an order is; until its outcomes are counted, the plan says how many records there are."""

    text: str = Field(
        description="One line for people.", examples=["1,203 of 20,000 done: 1,200 moved, 3 skipped"]
    )
    done: int = Field(description="Moved, parked, skipped or failed.", examples=[1203])
    total: int = Field(description="Records that it is about, as far as known.", examples=[20000])
    at_least: bool = Field(description="`total` is a lower bound.", examples=[False])
    counted: bool = Field(description="No more counts are to come.", examples=[False])


class Redrive(Answer):
    """An order, as it is now. Counts are of finished transactions."""

    id: str = Field(examples=[ID])
    status: Status = Field(examples=["RUNNING"])
    status_reason: str | None = Field(examples=[None])
    dry_run: bool = Field(examples=[False])
    dlq_topic: str = Field(examples=["dlq.orders"])
    dlq_topic_id: str | None = Field(
        description="Kafka's id of the topic at the order's creation: once the topic was made anew, the "
        "order moves nothing more, and fails; null: not known.",
        examples=["9d6b2f0e-7d1c-4a35-8f0e-3c1a5b7e2d48"],
    )
    cut_off: dict[str, int] = Field(
        description="Where it ends: at the `cut_off` of its request, else at the end offsets at its "
        "creation; what came later is not part of it.",
        examples=[{"0": 6667}],
    )
    progress: RedriveProgress
    to_move: int = Field(description="As planned; see `progress`.", examples=[20000])
    moved: int = Field(examples=[1200])
    skipped: int = Field(examples=[3])
    parked: int = Field(examples=[0])
    failed: int = Field(examples=[0])
    bounced: int = Field(description="Records that came back to a dead letter topic.", examples=[0])
    settled: int = Field(
        description="Records that did not come back within `guards.settle_window_ms`.", examples=[1100]
    )
    waiting: int | None = Field(
        description="Put off, by its worker's last report; null: engine spark does not report it.",
        examples=[17],
    )
    skip_reasons: dict[str, int] = Field(examples=[{"payload_expired": 3}])
    records_per_second: float | None = Field(examples=[49.8])
    created_at: datetime | None = Field(examples=[TIME])
    finished_at: datetime | None = Field(examples=[None])
    estimated_end_at: datetime | None = Field(examples=[TIME])
    requested_by: str = Field(examples=["anonymous"])
    policy: str | None = Field(description="The policy that made it; null: a person did.", examples=[None])
    reason: str = Field(examples=["converter fixed in 4.1"])
    plan: RedrivePlan
    request: OrderRequest


class Redrives(Page[Redrive]):
    """Orders, the newest first."""


class Outcome(Answer):
    """Records of an order with one outcome, for one reason."""

    outcome: str = Field(description="sent, parked, skipped, failed or bounced.", examples=["skipped"])
    reason: str = Field(examples=["payload_expired"])
    records: int = Field(examples=[3])
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class RedriveOutcomes(Page[Outcome]):
    """The most frequent first."""


def redrive_answer(view: RedriveView, now_ms: int) -> Redrive:
    """The order as the api answers it."""
    stored, outcomes = view.stored, view.outcomes
    order, request = stored.order, stored.order.request
    examples = [answer_of(PlannedRecord, example) for example in view.plan.examples]
    return answer_of(
        Redrive,
        order,
        status=stored.status,
        status_reason=stored.status_reason or None,
        dry_run=request.dry_run,
        dlq_topic=request.dlq_topic,
        dlq_topic_id=order.dlq_topic_id or None,
        cut_off={str(partition): offset for partition, offset in order.cut_off.items()},
        progress=answer_of(RedriveProgress, view.progress),
        to_move=view.plan.to_move,
        moved=outcomes.total(SENT),
        **{outcome: outcomes.total(outcome) for outcome in (*NOT_MOVED, BOUNCED)},
        settled=view.settled,
        waiting=0 if stored.status.final else stored.waiting if request.engine == "local" else None,
        skip_reasons=outcomes.reasons(SKIPPED),
        records_per_second=outcomes.records_per_second,
        finished_at=instant(stored.finished_at_ms),
        estimated_end_at=instant(view.estimated_end_ms(now_ms)),
        reason=request.reason,
        plan=answer_of(RedrivePlan, view.plan, examples=examples),
    )


router = APIRouter(prefix="/redrives", tags=["redrives"])
OrderId = Annotated[str, Path(pattern=r"^[0-9a-f-]{1,36}$")]
IdempotencyKey = Annotated[str | None, Header(min_length=1, max_length=200)]
DRY_RUN = "redrives.dry-run"


@router.post("", status_code=202, dependencies=[Searching, NoParameters])
def create(
    action: Acting,
    request: Annotated[OrderRequest, Body(examples=[EXAMPLE])],
    idempotency_key: IdempotencyKey = None,
) -> Redrive:
    """Create a redrive: a dry run by default. The same Idempotency-Key makes one order."""
    service, also = action.service, action.witness(request.audited, DRY_RUN if request.dry_run else "")
    made = service.orders.create(request, action.caller, idempotency_key or "", also)
    return answer(service, made)


@router.get("")
def listed(service: Serving, query: Paging) -> Redrives:
    """Orders, the newest first; of dry runs the latest 1 000."""
    return page_of(service, query)


@router.get("/{order}", dependencies=[NoParameters])
def one(service: Serving, order: OrderId) -> Redrive:
    """One order, as it is now."""
    with service.store.read() as connection:
        row = orders.find(connection, order)
    return answer(service, row)


@router.get("/{order}/outcomes")
def outcomes(service: Serving, order: OrderId, query: Paging) -> RedriveOutcomes:
    """What became of the order's records, by outcome and reason."""
    with service.store.read() as connection:
        (view,) = views(connection, [orders.find(connection, order)], service.now_ms())

    def frequency(row: SeriesRow) -> Key:
        return -row.value, row.labels[OUTCOME], row.labels[REASON]

    rows, following = cursor.page(view.outcomes.rows, frequency, query, numbers=1, names=2)
    items = [
        answer_of(Outcome, row, outcome=row.labels[OUTCOME], reason=row.labels[REASON], records=row.value)
        for row in rows
    ]
    return RedriveOutcomes(items=items, next=following)


@router.post("/{order}/cancel", status_code=202, dependencies=[NoParameters])
def cancel(action: Acting, order: OrderId) -> Redrive:
    """Stop the order for ever; what it has moved stays moved."""
    by = f"cancelled by {action.caller.name}"
    return answer(action.service, action.service.orders.cancel(order, by, action.witness()))


@router.post("/{order}/pause", status_code=202, dependencies=[NoParameters])
def pause(action: Acting, order: OrderId) -> Redrive:
    """Stop the order until it is resumed."""
    by = f"paused by {action.caller.name}"
    return answer(action.service, action.service.orders.pause(order, by, action.witness()))


@router.post("/{order}/resume", status_code=202, dependencies=[NoParameters])
def resume(action: Acting, order: OrderId) -> Redrive:
    """Continue the order where it was paused."""
    return answer(action.service, action.service.orders.resume(order, action.witness()))


def page_of(service: Service, query: PageQuery, policy: str = "", *, dry_runs: bool = True) -> Redrives:
    """A page of the orders, the newest first; with ``policy`` of those that it made, also if deleted."""
    after = None if query.after is None else cursor.decode(query.after, names=1)
    with service.store.read() as connection:
        if policy:
            policies.changes(connection, policy)
        rows = orders.page(connection, after, query.limit + 1, policy, dry_runs=dry_runs)
    page, following = cursor.cut(rows, lambda row: row.key, query.limit)
    return Redrives(items=answers(service, page), next=following)


def answer(service: Service, row: StoredOrder) -> Redrive:
    """The order as an answer, as it is now."""
    return answers(service, [row])[0]


def answers(service: Service, rows: Iterable[StoredOrder]) -> list[Redrive]:
    """The orders as answers, as they are now."""
    with service.store.read() as connection:
        found = views(connection, rows, service.now_ms())
    return [redrive_answer(view, service.now_ms()) for view in found]
