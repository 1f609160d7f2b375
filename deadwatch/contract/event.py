"""What every event carries, and where in its source it was read."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, NamedTuple


class Position(NamedTuple):
    """Where in its source an event was read; compares as a tuple.

    Logs: (number of the file under this name, byte offset of the entry, ordinal of the cause in the entry).
    Topics of log lines: (incarnation of the topic, offset of the record, ordinal in it; -1: a gap before it).
    Snapshots: (time of the snapshot in ms, 0, 0).
    """

    epoch: int
    offset: int = 0
    ordinal: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The fields that every event has: its source and its position there, its times, its cluster."""

    kind: ClassVar[str]

    source: str
    position: Position
    happened_at_ms: int
    observed_at_ms: int
    kafka_cluster: str


def field_values(part: Any) -> dict[str, object]:  # noqa: ANN401 -- an event, or what one holds: any dataclass
    """Name and value of each field, not copied; ``asdict`` copies, and takes twice as long."""
    return {name: getattr(part, name) for name in _names(part.__class__)}


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
