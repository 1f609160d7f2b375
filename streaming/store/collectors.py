"""A collector's counts of itself, followed through its restarts: totals never go back.

A later start means that the counts began anew, and that nothing of what was abandoned before still runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from typing import NamedTuple

from sqlalchemy import Connection, select

from collector.contract.events import CollectorCount, CollectorSnapshot, Event
from streaming.store.caps import Caps
from streaming.store.engine import upsert
from streaming.store.schema import collector_counts
from streaming.store.storable import MAX_INTEGER, storable_values


class Place(NamedTuple):
    """One count of one collector."""

    kafka_cluster: str
    collector: str
    name: str
    subject: str


@dataclass(frozen=True, slots=True)
class Counted:
    """What is known of a count; ``counted`` is of the life of the process that began at ``started_at_ms``."""

    started_at_ms: int = 0
    current: int = 0
    counted: int = 0
    total: int = 0
    observed_at_ms: int = 0


States = Mapping[Place, Counted]


def merge(connection: Connection, events: Sequence[Event], caps: Caps) -> None:
    """Apply the snapshots in their order."""
    snapshots = [one for one in events if isinstance(one, CollectorSnapshot)]
    if not snapshots:
        return
    before = _read(connection, {one.collector for one in snapshots})
    after = reduce(following, snapshots, before)
    rows = [
        {**storable_values(place._asdict()), **asdict(counted)}
        for place, counted in after.items()
        if before.get(place) != counted
    ]
    upsert(connection, collector_counts, caps.fitting(connection, collector_counts, rows))


def following(states: States, event: CollectorSnapshot) -> States:
    """The counts after ``event``; what it does not name runs no more."""
    named = {
        Place(event.kafka_cluster, event.collector, one.name, one.subject): one
        for one in event.collector_counts
    }
    own = (event.kafka_cluster, event.collector)
    silent = {place: replace(state, current=0) for place, state in states.items() if place[:2] == own}
    told = {place: _after(states.get(place, Counted()), one, event) for place, one in named.items()}
    return {**states, **silent, **told}


def _after(before: Counted, now: CollectorCount, event: CollectorSnapshot) -> Counted:
    anew = event.started_at_ms != before.started_at_ms or now.total < before.counted
    added = now.total - (0 if anew else before.counted)
    return Counted(
        started_at_ms=event.started_at_ms,
        current=now.current,
        counted=now.total,
        total=min(MAX_INTEGER, before.total + added),
        observed_at_ms=event.observed_at_ms,
    )


def _read(connection: Connection, collectors: set[str]) -> States:
    found = select(collector_counts).where(collector_counts.c.collector.in_(list(collectors)))
    return {
        Place(*(row[name] for name in Place._fields)): Counted(
            **{name: row[name] for name in Counted.__dataclass_fields__}
        )
        for row in connection.execute(found).mappings()
    }
