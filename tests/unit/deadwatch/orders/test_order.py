"""The defaults of a request, and the numbers that it may have."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from deadwatch.orders.errors import ConfirmError
from deadwatch.orders.order import (
    LEAST_DELIVERY_TIMEOUT_MS,
    Guards,
    Limits,
    MapTarget,
    Order,
    OrderRequest,
    Place,
    Retry,
    RetryTarget,
    Selection,
    Status,
)
from deadwatch.orders.policy import PolicyRequest
from tests.paths import ROOT

ORDER: dict[str, Any] = {"dlq_topic": "t", "reason": "r", "selection": {"all": True}}
POLICY: dict[str, Any] = {"dlq_topics": ["t"], "reason": "r"}
ACCEPTED: dict[str, Any] = {"id": "1", "request": ORDER, "requested_by": "me", "created_at_ms": 1}


def test_the_defaults_of_a_request() -> None:
    asked = OrderRequest.model_validate(ORDER)
    limits = {"records_per_second": 50, "max_in_flight": 1_000}
    assert asked.limits.model_dump(exclude_none=True) == limits
    backoff = {"retry_backoff_ms": 1_000, "retry_backoff_max_ms": 60_000}
    assert asked.retry.model_dump() == {"max_attempts": 5, **backoff, "park_error_classes": ()}
    guards = {"max_bounce_ratio": 0.5, "max_consecutive_failures": 100, "settle_window_ms": 600_000}
    assert asked.guards.model_dump(exclude_none=True) == guards
    timeouts = asked.task_timeout_ms, asked.delivery_timeout_ms, LEAST_DELIVERY_TIMEOUT_MS
    assert timeouts == (300_000, 120_000, 30_005)
    assert (asked.dry_run, asked.again, asked.engine, asked.target.kind) == (True, False, "local", "origin")
    policy = PolicyRequest.model_validate(POLICY)
    assert (policy.enabled, policy.include_existing, policy.excluded) == (True, False, "park")
    final = [Status.COMPLETED, Status.CANCELLED, Status.FAILED]
    assert [status for status in Status if status.final] == final


BOUNDS: list[tuple[type[BaseModel], dict[str, Any], str, Any, Any]] = [
    (Place, {"offset": 0}, "partition", 0, -1),
    (Place, {"partition": 0}, "offset", 0, -1),
    (Selection, {}, "filter", "x", ""),
    (Selection, {}, "filter", "x" * 4_000, "x" * 4_001),
    (Selection, {}, "offsets", {0: (0, 1)}, {}),
    (
        Selection,
        {},
        "records",
        [{"partition": 0, "offset": 0}] * 10_000,
        [{"partition": 0, "offset": 0}] * 10_001,
    ),
    (Selection, {}, "records", [{"partition": 0, "offset": 0}], []),
    (MapTarget, {"kind": "map"}, "map", {"a": "b"}, {}),
    (RetryTarget, {"kind": "retry"}, "consumergroup", "g", ""),
    (Limits, {}, "records_per_second", 0.01, 0),
    (Limits, {}, "bytes_per_second", 1, 0),
    (Limits, {}, "max_records", 1, 0),
    (Limits, {}, "max_in_flight", 1, 0),
    (Limits, {}, "per_target_records_per_second", 0.01, 0),
    (Retry, {}, "max_attempts", 1, 0),
    (Retry, {}, "max_attempts", 1_000, 1_001),
    (Retry, {}, "retry_backoff_ms", 0, -1),
    (Retry, {}, "retry_backoff_max_ms", 0, -1),
    (Retry, {}, "retry_backoff_max_ms", 604_800_000, 604_800_001),
    (Retry, {}, "park_error_classes", ["a"] * 100, ["a"] * 101),
    (Guards, {}, "max_bounce_ratio", 0.01, 0),
    (Guards, {}, "max_bounce_ratio", 1, 1.01),
    (Guards, {}, "max_consecutive_failures", 1, 0),
    (Guards, {}, "max_target_lag", 1, 0),
    (Guards, {}, "settle_window_ms", 0, -1),
    (OrderRequest, ORDER, "task_timeout_ms", 0, -1),
    (OrderRequest, ORDER, "delivery_timeout_ms", 1, 0),
    (OrderRequest, ORDER, "drop_headers", ["x"] * 100, ["x"] * 101),
    (OrderRequest, ORDER, "drop_headers", ["x-*", "*"], ["x-*-y"]),
    (OrderRequest, ORDER, "drop_headers", None, [""]),
    (OrderRequest, ORDER, "reason", "r", ""),
    (OrderRequest, ORDER, "reason", "r" * 1_000, "r" * 1_001),
    (OrderRequest, ORDER, "confirm", 0, -1),
    (OrderRequest, ORDER, "cut_off", {0: 0}, {0: -1}),
    (OrderRequest, ORDER, "dlq_topic", "t" * 249, "t" * 250),
    (Order, ACCEPTED | {"cut_off": {}}, "begin", {0: 0}, {0: -1}),
    (Order, ACCEPTED | {"begin": {}}, "cut_off", {0: 0}, {-1: 0}),
    (PolicyRequest, POLICY, "dlq_topics", ["t"] * 100, ["t"] * 101),
    (PolicyRequest, POLICY, "filter", "x", ""),
    (PolicyRequest, POLICY, "filter", "x" * 3_998, "x" * 3_999),
    (PolicyRequest, POLICY, "exclude_error_classes", ["a"] * 100, ["a"] * 101),
]


@pytest.mark.parametrize(("model", "others", "name", "good", "bad"), BOUNDS, ids=[row[2] for row in BOUNDS])
def test_a_value_at_its_bound_is_taken_and_the_next_one_refused(
    model: type[BaseModel], others: dict[str, Any], name: str, good: object, bad: object
) -> None:
    model.model_validate(others | {name: good})
    with pytest.raises(ValidationError):
        model.model_validate(others | {name: bad})


NEW = "look at a new dry run, and say its number and its cut_off, which leaves out what comes later"


@pytest.mark.parametrize(
    ("confirmed", "text"),
    [
        (None, ', more than 9, and nothing is confirmed: look at the dry run, then say "confirm": 10'),
        (0, f", and 0 are confirmed: {NEW}"),
        (7, f", and 7 are confirmed: {NEW}"),
    ],
)
def test_an_order_that_needs_to_be_confirmed_says_what_is(confirmed: int | None, text: str) -> None:
    assert str(ConfirmError(10, 9, confirmed)) == f"this may move or park 10 records{text}"


def test_the_page_of_redrives_names_every_guard_with_its_default() -> None:
    page = (ROOT / "docs/redrive-semantics.md").read_text().splitlines()
    (row,) = [line for line in page if line.startswith("| `guards` |")]
    for name, default in Guards().model_dump().items():
        assert f"`{name}`" in row
        assert default is None or f"`{name}` ({default:,})".replace(",", " ") in row
