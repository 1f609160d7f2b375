"""When a task that Connect calls RUNNING is stalled: records wait, and nothing moves.

What proves that records wait is not the same everywhere, and no clue is a proof from one look: it must hold,
with nothing moving, for its whole patience. ``stalled`` is ``stalled_after_ms``, ``flush`` the workers'
``offset.flush.interval.ms``, within which a sink that gets on comes to its commit.

* UNREAD, a sink: records lie in its partitions beyond all that it has read; no record was read or passed on
  and no offset committed for ``stalled``.
* UNFINISHED, a sink: it holds records that are not committed; none was read or passed on, nor did it come to
  a commit, for ``stalled + flush``. A sink that buffers comes to its commits and commits nothing.
* UNCOMMITTED, a sink whose beans are not known: records lie beyond its committed offsets, which did not
  move for ``stalled + flush``.
* UNWRITTEN, a source: it has polled records that are not written to Kafka; none was polled or written
  for ``stalled``. A source that polls nothing may be idle: nothing in Connect tells whether records wait at
  its system, so that is never a clue, and a source whose beans are not known is not judged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from collector.sources.task_beans import Progress


class Clue(StrEnum):
    """What shows that records wait; the value says it."""

    UNREAD = "records wait on its topics and it reads none"
    UNFINISHED = "it holds records and neither finishes nor commits them"
    UNCOMMITTED = "records wait on its topics and it commits none"
    UNWRITTEN = "it has polled records and they are not written to Kafka"


OF_KAFKA = frozenset({Clue.UNREAD, Clue.UNCOMMITTED})
"""Clues that rest on offsets."""

OF_BEANS = frozenset({Clue.UNREAD, Clue.UNFINISHED, Clue.UNWRITTEN})
"""Clues that rest on what the agent tells."""


class Extent(NamedTuple):
    """Of one partition: the committed offset, and the end of what can be read."""

    committed: int
    end: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look shows of a task.

    ``extents`` are of the partitions that the task reads; None: Kafka has not told. ``steady`` is false while
    its group rebalances.
    """

    running: bool
    sink: bool
    progress: Progress | None = None
    extents: tuple[Extent, ...] | None = None
    steady: bool = True


class Timer(NamedTuple):
    """Since when records have waited without ``motion``."""

    since_ms: int
    motion: tuple[int, ...]


Timers = Mapping[Clue, Timer]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long nothing may move."""

    stalled_after_ms: int
    offset_flush_interval_ms: int

    def of(self, clue: Clue) -> int:
        """In ms; with the commits' interval where a commit is the sign of life."""
        flush_ms = self.offset_flush_interval_ms if clue in {Clue.UNFINISHED, Clue.UNCOMMITTED} else 0
        return self.stalled_after_ms + flush_ms


def following(timers: Timers, seen: Seen, now_ms: int) -> Timers:
    """The timers after a look: those that go on keep their start; what was not told stays as it was."""
    if not seen.running:
        return {}
    untold = _untold(seen)
    kept = {clue: timer for clue, timer in timers.items() if clue in untold}
    return kept | {
        clue: timers[clue] if clue in timers and timers[clue].motion == motion else Timer(now_ms, motion)
        for clue, motion in _waiting(seen).items()
    }


def due(timers: Timers, patience: Patience, now_ms: int) -> list[tuple[Clue, int]]:
    """The clues whose patience is over, and since when; the longest first."""
    over = [
        (timer.since_ms, clue)
        for clue, timer in timers.items()
        if now_ms - timer.since_ms >= patience.of(clue)
    ]
    return [(clue, since_ms) for since_ms, clue in sorted(over)]


def judged(timers: Timers, seen: Seen) -> bool:
    """Whether it is known that a task gets on, after a look that does not call it stalled."""
    if not seen.running or seen.progress is not None:
        return True
    return seen.sink and seen.extents is not None and not OF_BEANS & timers.keys()


def _untold(seen: Seen) -> frozenset[Clue]:
    beans = OF_BEANS if seen.progress is None else frozenset[Clue]()
    return beans | (OF_KAFKA if seen.extents is None else frozenset())


def _waiting(seen: Seen) -> dict[Clue, tuple[int, ...]]:
    """The clues that a look gives, each with what must not move."""
    progress = seen.progress
    if not seen.sink:
        held = progress is not None and progress.held > 0
        return {Clue.UNWRITTEN: (progress.records, progress.passed)} if progress and held else {}
    extents = seen.extents or () if seen.steady else ()
    committed = tuple(extent.committed for extent in extents)
    if progress is None:
        behind = any(extent.committed < extent.end for extent in extents)
        return {Clue.UNCOMMITTED: committed} if behind else {}
    clues: dict[Clue, tuple[int, ...]] = {}
    if any(extent.committed + progress.held < extent.end for extent in extents):
        clues[Clue.UNREAD] = (progress.records, progress.passed, *committed)
    if progress.held:
        clues[Clue.UNFINISHED] = (progress.records, progress.passed, progress.turns)
    return clues
