"""An order for the tests of the redrive, of all records and no dry run unless one says so; and its claim."""

from typing import Any

from deadwatch.orders.order import Claim, Order, OrderRequest, Orders

LEASE_MS = 5_000


def order(request: dict[str, Any], begin: dict[int, int], cut_off: dict[int, int], **fields: Any) -> Order:  # noqa: ANN401 -- fields of an order
    asked = {
        "dlq_topic": "dlq.t",
        "selection": {"all": True},
        "dry_run": False,
        "reason": "fixed",
        **request,
    }
    same = {"id": "1", "requested_by": "me", "created_at_ms": 1, "begin": begin, "cut_off": cut_off}
    return Order.model_validate({**same, "request": OrderRequest.model_validate(asked), **fields})


def claimed(orders: Orders, now_ms: int, worker: str = "w") -> Claim:
    """The order that waits longest."""
    claim = orders.claim(worker, now_ms, LEASE_MS)
    assert claim is not None
    return claim
