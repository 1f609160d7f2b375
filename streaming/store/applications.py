"""Merging the timers of Streams tasks: bounded in number and in time."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import reduce
from typing import Final

from sqlalchemy import Connection, delete, select

from collector.contract.events import Event, TaskTimerEnded, TaskTimerStarted
from streaming.store.caps import Caps
from streaming.store.engine import chunks, upsert
from streaming.store.schema import task_timers
from streaming.store.storable import clamped, storable_values
from streaming.store.task_timers import Place, States, Timer, following, said_at_ms

KEPT_MS: Final = 86_400_000
"""How long a timer that has ended is remembered, for its application to show 0."""

FACTS: Final = tuple(Timer.__dataclass_fields__)


def merge(connection: Connection, events: Sequence[Event], caps: Caps) -> None:
    """Apply the events in their order."""
    told = [one for one in events if isinstance(one, TaskTimerStarted | TaskTimerEnded)]
    if not told:
        return
    latest_ms = max(map(said_at_ms, told))
    connection.execute(delete(task_timers).where(task_timers.c.heard_ms < clamped(latest_ms - KEPT_MS)))
    before = _read(connection, {one.application for one in told})
    after = reduce(following, told, before)
    changed = [place for place, timer in after.items() if before.get(place) != timer]
    rows = [_row(place, after[place]) for place in changed]
    upsert(connection, task_timers, caps.fitting(connection, task_timers, rows))


def _row(place: Place, timer: Timer) -> dict[str, object]:
    return {**storable_values(place._asdict()), **storable_values(asdict(timer))}


def _read(connection: Connection, applications: Iterable[str]) -> States:
    return {
        Place(*(row[name] for name in Place._fields)): Timer(**{name: row[name] for name in FACTS})
        for chunk in chunks(applications)
        for row in connection.execute(
            select(task_timers).where(task_timers.c.application.in_(chunk))
        ).mappings()
    }
