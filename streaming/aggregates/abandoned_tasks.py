"""Abandoned tasks (KIP-611), timers, sources: events that change a state, for which order is everything."""

from collections.abc import Iterable

from collector.contract.events import Event
from streaming.aggregates import task_timeouts
from streaming.aggregates.summary import Summary


def ordered_events(summaries: Iterable[Summary]) -> tuple[Event, ...]:
    """The events of the batch that change a state, each source's in its order."""
    known = list(summaries)
    found = (event for one in known for event in one.stateful)
    return tuple(
        sorted((*found, *task_timeouts.ends(known)), key=lambda event: (event.source, event.position))
    )
