"""The line for a terminal that asks for the same redrive."""

import shlex

from streaming.redrive.order import (
    Guards,
    Limits,
    MapTarget,
    OrderRequest,
    Retry,
    RetryTarget,
    Selection,
    Target,
    TopicTarget,
)


def redrive(request: OrderRequest) -> str:
    """``deadwatch redrive …``, quoted for a shell; it shows the dry run and asks."""
    words = ["deadwatch", "redrive", request.dlq_topic, *_selection(request.selection)]
    target = _target(request.target)
    if target != "origin":
        words += ["--target", target]
    if request.limits.records_per_second not in {None, Limits().records_per_second}:
        words += ["--rate", f"{request.limits.records_per_second:g}"]
    if request.limits.max_records is not None:
        words += ["--max-records", str(request.limits.max_records)]
    if request.retry.max_attempts != Retry().max_attempts:
        words += ["--max-attempts", str(request.retry.max_attempts)]
    if request.guards.settle_window_ms != Guards().settle_window_ms:
        words += ["--settle-after", f"{request.guards.settle_window_ms / 1_000:g}"]
    if request.again:
        words += ["--again"]
    return shlex.join([*words, "--reason", request.reason])


def _selection(selection: Selection) -> list[str]:
    words = ["--all"] if selection.all else []
    for name, value in (("--group", selection.group), ("--filter", selection.filter)):
        words += [] if value is None else [name, value]
    for name, time in (("--from", selection.from_), ("--to", selection.to)):
        words += [] if time is None else [name, time.isoformat()]
    for partition, (first, end) in (selection.offsets or {}).items():
        words += ["--offsets", f"{partition}:{first}-{end}"]
    for place in selection.records or ():
        words += ["--record", f"{place.partition}:{place.offset}"]
    return words


def _target(target: Target) -> str:
    match target:
        case TopicTarget():
            return f"topic:{target.topic}"
        case RetryTarget():
            return f"retry:{target.consumergroup}"
        case MapTarget():
            return "map:" + ",".join(f"{old}={new}" for old, new in target.map.items())
    return "origin"
