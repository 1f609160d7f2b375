"""A redrive order as the store keeps it."""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import RowMapping

from streaming.redrive.order import Order, OrderRequest, Status
from streaming.store.batch import storable

ACTIVE = (Status.RUNNING, Status.PAUSED, Status.CANCELLING)


@dataclass(frozen=True, slots=True)
class StoredOrder:
    """An order, how it is, and ``plan``: what the scan at its creation has shown, as JSON."""

    order: Order
    plan: str
    status: Status
    status_reason: str
    finished_at_ms: int
    idempotency_key: str
    worker: str
    epoch: int
    expires_at_ms: int
    waiting: int

    @property
    def key(self) -> tuple[int, str]:
        """Its place in the list."""
        return self.order.created_at_ms, self.order.id


def stored(row: RowMapping) -> StoredOrder:
    """The order of a row."""
    return StoredOrder(
        order=order_of(row),
        plan=row["plan"],
        status=Status(row["status"]),
        status_reason=row["status_reason"],
        finished_at_ms=row["finished_at_ms"],
        idempotency_key=row["idempotency_key"],
        worker=row["worker"],
        epoch=row["epoch"],
        expires_at_ms=row["expires_at_ms"],
        waiting=row["waiting"],
    )


def order_of(row: RowMapping) -> Order:
    """What was asked for, as it was accepted."""
    return Order(
        id=row["id"],
        request=OrderRequest.model_validate_json(row["request"]),
        requested_by=row["requested_by"],
        created_at_ms=row["created_at_ms"],
        begin=_offsets(row["begin"]),
        cut_off=_offsets(row["cut_off"]),
        policy=row["policy"],
    )


def values(order: Order, plan: str, idempotency_key: str) -> dict[str, Any]:
    """The columns of an order that nobody holds yet; a dry run is over as soon as it is there."""
    dry_run = order.request.dry_run
    return {
        "id": order.id,
        "dlq_topic": order.request.dlq_topic,
        "request": order.request.model_dump_json(by_alias=True),
        "begin": json.dumps(order.begin),
        "cut_off": json.dumps(order.cut_off),
        "plan": plan,
        "dry_run": dry_run,
        "requested_by": storable(order.requested_by),
        "idempotency_key": idempotency_key,
        "status": Status.COMPLETED if dry_run else Status.RUNNING,
        "status_reason": "",
        "created_at_ms": order.created_at_ms,
        "finished_at_ms": order.created_at_ms if dry_run else 0,
        "worker": "",
        "epoch": 0,
        "expires_at_ms": 0,
        "policy": order.policy,
        "waiting": 0,
        "sent_before": 0,
        "bounced_before": 0,
    }


def _offsets(text: str) -> dict[int, int]:
    return {int(partition): int(offset) for partition, offset in json.loads(text).items()}
