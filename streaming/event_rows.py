"""Events as Spark collects them, turned back into the contract's own."""

from typing import Any

from pyspark.sql import Row

from collector.contract.events import KINDS, Event, Instance, Position
from streaming.event_schema import required_fields


def event_of(row: Row) -> Event:
    """The event of a complete row of ``event_schema``."""
    cls = KINDS[row.kind]
    return cls(**{name: _value(name, row[name]) for name in required_fields(cls)})


def _value(name: str, value: Any) -> Any:  # noqa: ANN401 -- a field's type is known by its name alone
    if name == "position":
        return Position(*value)
    if name == "instances":
        return tuple(Instance(**instance.asDict()) for instance in value)
    return value
