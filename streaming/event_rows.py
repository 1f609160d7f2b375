"""Events as Spark collects them, turned back into the contract's own."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Row

from collector.contract.events import (
    KINDS,
    CollectorCount,
    ConnectTask,
    DeadLetterTopic,
    Event,
    Finding,
    Instance,
    OffsetRange,
    Position,
    ShareGroup,
)
from streaming.event_schema import required_fields

Nested = Instance | ShareGroup | DeadLetterTopic | Finding | ConnectTask | CollectorCount | OffsetRange
NESTED: Mapping[str, type[Nested]] = {
    "instances": Instance,
    "share_groups": ShareGroup,
    "dead_letter_topics": DeadLetterTopic,
    "findings": Finding,
    "connect_tasks": ConnectTask,
    "collector_counts": CollectorCount,
    "written": OffsetRange,
    "handled": OffsetRange,
}
"""What the lists of an event hold, by the name of the field."""


def event_of(row: Row) -> Event:
    """The event of a complete row of ``event_schema``."""
    cls = KINDS[row.kind]
    return cls(**{name: _value(name, row[name]) for name in required_fields(cls)})


def _value(name: str, value: Any) -> Any:  # noqa: ANN401 -- a field's type is known by its name alone
    if name == "position":
        return Position(*value)
    if name in NESTED:
        return tuple(NESTED[name](**one.asDict()) for one in value)
    return value
