"""When a whole snapshot is due, and at which position: at every change, and as a heartbeat.

Positions are times in ms that only grow, over restarts too.
"""

from collections.abc import Callable
from typing import NamedTuple

from collector.contract.events import Position
from collector.sources.source import State


class Moment(NamedTuple):
    """When a snapshot was taken, and its place among those of its source."""

    position: Position
    now_ms: int


class Snapshots:
    """Remembers what was told last."""

    def __init__(self, saved: State | None, heartbeat_interval_ms: int, clock: Callable[[], int]) -> None:
        self._position_ms = int((saved or {}).get("position_ms", 0))
        self._heartbeat_interval_ms = heartbeat_interval_ms
        self._clock = clock
        self._told: object = None
        self._told_ms: int | None = None

    def due(self, content: object) -> Moment | None:
        """The moment to put on a snapshot of ``content``; None while nothing changed and no beat is due."""
        now_ms = self._clock()
        beat = self._told_ms is None or now_ms - self._told_ms >= self._heartbeat_interval_ms
        if content == self._told and not beat:
            return None
        self._told, self._told_ms = content, now_ms
        self._position_ms = max(now_ms, self._position_ms + 1)
        return Moment(Position(self._position_ms), now_ms)

    def state(self) -> dict[str, int]:
        """What to save."""
        return {"position_ms": self._position_ms}
