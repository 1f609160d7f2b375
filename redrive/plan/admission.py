"""What an order has to be before it is accepted. Pure: Kafka was asked before, the scan comes after.

The first thing that does not fit is an error that says what to do about it; what is unwise is a warning.
"""

import difflib
from collections.abc import Callable, Iterable
from typing import Final

from deadwatch.deadletter.filter import Filter
from deadwatch.orders.errors import ConfirmError, RefusedOrderError
from deadwatch.orders.order import (
    LEAST_DELIVERY_TIMEOUT_MS,
    LEAST_RATE,
    MOST_DELIVERY_TIMEOUT_MS,
    MOST_RATE,
    MOST_REDIRECTS,
    MapTarget,
    OrderRequest,
    RetryTarget,
    TopicTarget,
)
from deadwatch.orders.reasons import MEANINGS, SkipReason
from deadwatch.orders.targets import TargetRules, cycle
from redrive.plan.plan import Plan

RATES: Final = ("records_per_second", "bytes_per_second", "per_target_records_per_second")

KnownGroup = Callable[[str], bool]
"""Whether a group of dead letters of the order's topic has this fingerprint."""


def admit(
    request: OrderRequest, rules: TargetRules, known_group: KnownGroup
) -> tuple[Filter | None, tuple[str, ...]]:
    """Accept the order as far as it can be judged without reading a record.

    Returns its compiled filter, and warnings of what is accepted but unwise.

    Raises:
        FilterError: the filter does not compile.
        RefusedOrderError: anything else that cannot be carried out.
    """
    _check_topic(request.dlq_topic, rules)
    group = request.selection.group
    if group is not None and not known_group(group):
        raise RefusedOrderError(
            f"no group of dead letters on {request.dlq_topic} has the fingerprint {group}; "
            "/api/v1/dead-letters/groups lists them"
        )
    _check_partitions(request, rules.partitions[request.dlq_topic])
    return check_terms(request, rules, passed_over=None), tuple(_warnings(request))


def check_terms(
    request: OrderRequest, rules: TargetRules, passed_over: SkipReason | None = SkipReason.TARGET_MISSING
) -> Filter | None:
    """Refuse an order that can never be carried out, whatever Kafka holds: ``rules`` need no topics.

    Returns its compiled filter.

    Raises:
        FilterError: the filter does not compile.
        RefusedOrderError: anything else that can never be carried out.
    """
    matcher = None if request.selection.filter is None else Filter(request.selection.filter)
    for topic in _named(request):
        refusal = rules.refusal(topic)
        if refusal is not None and refusal is not passed_over:
            raise RefusedOrderError(f"target {topic} is refused: {MEANINGS[refusal]}")
    _check_contradictions(request)
    return matcher


def check_plan(request: OrderRequest, plan: Plan, max_unconfirmed: int) -> None:
    """Refuse an order that would move nothing, or much that nobody has confirmed; a dry run may do both.

    Raises:
        RefusedOrderError: there is nothing to do.
        ConfirmError: it may move or park more than was confirmed, or than ``max_unconfirmed`` where
            nothing was.
    """
    if request.dry_run:
        return
    if plan.selected == 0 and not plan.at_least:
        problems = ", ".join(f"{problem} ({count} times)" for problem, count in plan.filter_problems.items())
        raise RefusedOrderError(
            f"the selection matches none of the {plan.read} records read from {request.dlq_topic}"
            + (f"; the filter could not be evaluated: {problems}" if problems else "")
        )
    if plan.left_out and plan.left_out == plan.selected and not plan.at_least:
        raise RefusedOrderError(
            f"all {plan.left_out} records of the selection were moved or parked already, by earlier orders "
            'or policies: say "again": true, or --again, to move them once more'
        )
    if plan.to_move + plan.to_park == 0 and not plan.at_least:
        reasons = ", ".join(f"{reason} {count}" for reason, count in plan.skip_reasons.items())
        raise RefusedOrderError(f"every record of the selection would be skipped: {reasons}")
    if plan.at_most > (max_unconfirmed if request.confirm is None else request.confirm):
        raise ConfirmError(plan.at_most, max_unconfirmed, request.confirm)


def _check_topic(topic: str, rules: TargetRules) -> None:
    if topic not in rules.partitions:
        close = difflib.get_close_matches(topic, filter(rules.is_dlq, rules.partitions), n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise RefusedOrderError(f"topic {topic} does not exist, or we may not see it (DESCRIBE){hint}")
    if not rules.is_dlq(topic):
        raise RefusedOrderError(
            f"{topic} is no dead letter topic: no pattern of dlq_topics matches it and no configuration "
            "names it; add it to dlq_topics"
        )


def _check_partitions(request: OrderRequest, count: int) -> None:
    selection = request.selection
    places = (one.partition for one in selection.records or ())
    named = {*(selection.offsets or ()), *places, *(request.cut_off or ())}
    beyond = sorted(partition for partition in named if partition >= count)
    if beyond:
        raise RefusedOrderError(
            f"{request.dlq_topic} has no partition {beyond[0]}: it has {count}, counted from 0"
        )


def _named(request: OrderRequest) -> Iterable[str]:
    """The topics that the target rule names."""
    target = request.target
    if isinstance(target, MapTarget):
        if len(target.map) > MOST_REDIRECTS:
            raise RefusedOrderError(
                f"the map redirects {len(target.map)} topics, more than {MOST_REDIRECTS}: "
                "leave out those of which the dead letter topic holds no records"
            )
        circle = cycle(target.map)
        if circle:
            raise RefusedOrderError(f"the map goes round in a circle: {' -> '.join(circle)}")
        return sorted(set(target.map.values()) - set(target.map))
    if isinstance(target, TopicTarget):
        return [target.topic]
    return [target.topic] if isinstance(target, RetryTarget) and target.topic is not None else []


def _check_contradictions(request: OrderRequest) -> None:
    if request.delivery_timeout_ms < LEAST_DELIVERY_TIMEOUT_MS:
        raise RefusedOrderError(
            f"delivery_timeout_ms must be at least {LEAST_DELIVERY_TIMEOUT_MS}, "
            "the time of one request (KIP-91)"
        )
    if request.delivery_timeout_ms > MOST_DELIVERY_TIMEOUT_MS:
        raise RefusedOrderError(
            f"delivery_timeout_ms must be at most {MOST_DELIVERY_TIMEOUT_MS}: "
            "with a minute more Kafka's client takes no longer transaction.timeout.ms"
        )
    for name in RATES:
        rate = getattr(request.limits, name)
        if rate is not None and not LEAST_RATE <= rate <= MOST_RATE:
            raise RefusedOrderError(
                f"limits.{name} must be from {LEAST_RATE:g} to {MOST_RATE:g}, or null: no limit"
            )
    if (request.guards.max_target_lag is None) != (request.guards.lag_group is None):
        raise RefusedOrderError("max_target_lag and lag_group go together: set both or none")
    if request.engine == "spark" and request.limits.max_records is not None:
        raise RefusedOrderError(
            "limits.max_records cannot be kept by several executors at once: "
            'say engine "local", or leave it out'
        )


def _warnings(request: OrderRequest) -> Iterable[str]:
    retry = request.retry
    if retry.retry_backoff_ms > retry.retry_backoff_max_ms:
        yield "retry_backoff_ms is above retry_backoff_max_ms: every wait is the maximum (KIP-580)"
    if 0 < request.task_timeout_ms < request.delivery_timeout_ms:
        yield "task_timeout_ms is below delivery_timeout_ms: a target's second timeout is its last (KIP-572)"
    if request.dry_run and request.confirm is not None:
        yield "confirm has no effect on a dry run"
    if request.limits.records_per_second is None and request.limits.bytes_per_second is None:
        yield "without a limit of records or bytes a second, the targets get all at once"
