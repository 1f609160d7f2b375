"""Raw records of Kafka, as streaming hands them to its kernel."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa

from deadwatch.contract.events import KINDS, Event, Position, TaskTimeout
from deadwatch.contract.topics import EVENTS
from streaming.kernel import Context
from streaming.kernel.partial import RECORDS, Partial, summarise, summarise_once

Headers = list[tuple[str, bytes | None]]


def table(records: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Of one partition of the events topic unless a record says other; offsets count from 0."""
    rows = [_row(index, record) for index, record in enumerate(records)]
    return pa.Table.from_pylist(rows, schema=RECORDS)


def counted(
    records: Sequence[Mapping[str, Any]],
    marks: Mapping[str, Position] | None = None,
    *,
    samples: int = 2,
    now_ms: int = 1,
) -> Partial:
    """What the kernel makes of records, after events up to ``marks`` were counted."""
    context, summarise_all = Context(EVENTS, now_ms, samples), partial(summarise, table(records))
    return summarise_once(summarise_all(context), summarise_all, context, lambda _: marks or {})


def task_timeout(source: str, offset: int, happened_at_ms: int) -> TaskTimeout:
    """Of one of three tasks of an application, as a collector publishes it."""
    return TaskTimeout(
        source=source,
        position=Position(1, offset),
        happened_at_ms=happened_at_ms,
        observed_at_ms=happened_at_ms + 1,
        kafka_cluster="default",
        application="app",
        task=f"0_{offset % 3}",
        elapsed_ms=300,
        message="late",
    )


def event_of(value: bytes | None) -> Event:
    """The event in a record."""
    kind = KINDS[json.loads(value or b"")["kind"]]
    return msgspec.json.decode(value or b"", type=kind)


def _row(index: int, record: Mapping[str, Any]) -> dict[str, Any]:
    content = {name: record.get(name) for name in ("key", "value")}
    headers = record.get("headers")
    return {
        "topic": record.get("topic", EVENTS),
        "partition": record.get("partition", 0),
        "offset": record.get("offset", index),
        "timestamp_ms": record.get("timestamp_ms", 1_000),
        **content,
        **{f"{name}_bytes": -1 if value is None else len(value) for name, value in content.items()},
        "headers": None if headers is None else [{"key": name, "value": value} for name, value in headers],
    }
