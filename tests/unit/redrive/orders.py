"""An order for the tests of the redrive: of all records and no dry run, unless a test says otherwise."""

from typing import Any

from deadwatch.orders.order import Order, OrderRequest


def order(request: dict[str, Any], begin: dict[int, int], cut_off: dict[int, int], **fields: Any) -> Order:  # noqa: ANN401 -- fields of an order
    asked = {
        "dlq_topic": "dlq.t",
        "selection": {"all": True},
        "dry_run": False,
        "reason": "mended",
        **request,
    }
    same = {"id": "1", "requested_by": "me", "created_at_ms": 1, "begin": begin, "cut_off": cut_off}
    return Order.model_validate({**same, "request": OrderRequest.model_validate(asked), **fields})
