"""When a task that Connect calls RUNNING is stalled: records wait, and nothing moves.

What proves that records wait is not the same everywhere, and no clue is a proof by one observation: it must
hold, with nothing moving, for its whole time limit. ``stalled`` is ``stalled_after_ms``, ``flush`` the
workers' ``offset.flush.interval.ms``, within which a sink that makes progress comes to its commit.

* UNREAD, a sink: records lie in its partitions beyond all that it has read; no record was read or passed on
  and no offset committed for ``stalled``.
* UNFINISHED, a sink: it holds records that are not committed; none was read or passed on, nor did it come to
  a commit, for ``stalled + flush``. A sink that buffers comes to its commits and commits nothing.
* UNCOMMITTED, a sink whose beans are not known: records lie beyond its committed offsets, which did not
  move for ``stalled + flush``.
* UNWRITTEN, a source: it has polled records that are not written to Kafka; none was polled or written
  for ``stalled``. A source that polls nothing may be idle: nothing in Connect shows whether records wait at
  its system, so that is never a clue, and a source whose beans are not known is not judged.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from collector.settings import ConnectSettings
from collector.sources.connect.interfaces import Key, Progress


class Clue(StrEnum):
    """What shows that records wait; the value is the text for people."""

    UNREAD = "records wait on its topics and it reads none"
    UNFINISHED = "it holds records and neither finishes nor commits them"
    UNCOMMITTED = "records wait on its topics and it commits none"
    UNWRITTEN = "it has polled records and they are not written to Kafka"


OF_KAFKA = frozenset({Clue.UNREAD, Clue.UNCOMMITTED})
"""Clues that rest on offsets."""

OF_BEANS = frozenset({Clue.UNREAD, Clue.UNFINISHED, Clue.UNWRITTEN})
"""Clues that rest on the agent's beans."""


class Extent(NamedTuple):
    """Of one partition: the committed offset, and the end of what can be read."""

    committed: int
    end: int


@dataclass(frozen=True, slots=True)
class TaskObservation:
    """What one poll shows of a task.

    ``extents`` are of the partitions that the task reads; None: not known. ``steady`` is false while
    its group rebalances.
    """

    running: bool
    sink: bool
    progress: Progress | None = None
    extents: tuple[Extent, ...] | None = None
    steady: bool = True


class Timer(NamedTuple):
    """Since when records have waited without ``motion``; ``empty``: the offsets proved to hold no record."""

    since_ms: int
    motion: tuple[int, ...]
    empty: bool = False


Timers = Mapping[Clue, Timer]


def limit_ms(settings: ConnectSettings, clue: Clue) -> int:
    """How long nothing may move; with the commits' interval if a commit is the sign of progress."""
    flush_ms = settings.offset_flush_interval_ms if clue in {Clue.UNFINISHED, Clue.UNCOMMITTED} else 0
    return settings.stalled_after_ms + flush_ms


def next_timers(timers: Timers, observation: TaskObservation, now_ms: int) -> Timers:
    """The timers after an observation: those that continue keep their start, those of unknown values stay."""
    if not observation.running:
        return {}
    unknown = OF_BEANS if observation.progress is None else frozenset[Clue]()
    unknown |= OF_KAFKA if observation.extents is None else frozenset()
    kept = {clue: timer for clue, timer in timers.items() if clue in unknown}
    return kept | {
        clue: timers[clue] if clue in timers and timers[clue].motion == motion else Timer(now_ms, motion)
        for clue, motion in _waiting(observation).items()
    }


def proven(timer: Timer, a_record_waits: bool | None, now_ms: int) -> tuple[Timer, bool]:
    """The timer after a look at what its offsets hold, and whether they make a stall.

    Offsets without a record (markers of transactions) may lie there for days: a record that comes behind
    them waits from when it was found, not since they were written. None: whether one waits is not known.
    """
    if a_record_waits is None:
        return timer, False
    if not a_record_waits:
        return timer._replace(empty=True), False
    if timer.empty:
        return Timer(now_ms, timer.motion), False
    return timer, True


def judged(timers: Timers, observation: TaskObservation) -> bool:
    """Whether a task is known to make progress, after an observation that does not show it stalled."""
    if not observation.running or observation.progress is not None:
        return True
    return observation.sink and observation.extents is not None and not OF_BEANS & timers.keys()


def _waiting(observation: TaskObservation) -> dict[Clue, tuple[int, ...]]:
    """The clues of an observation, each with the values that must not move."""
    progress = observation.progress
    if not observation.sink:
        held = progress is not None and progress.held > 0
        return {Clue.UNWRITTEN: (progress.records, progress.passed)} if progress and held else {}
    extents = observation.extents or () if observation.steady else ()
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


class Verdict(NamedTuple):
    """Whether a task was judged, and if it is stalled, since when and by which clue."""

    judged: bool = False
    since_ms: int = 0
    because: str = ""


class StallWatch:
    """The running timers of every task; ``saved`` are those of an earlier ``state``."""

    def __init__(self, settings: ConnectSettings, saved: Iterable[list[Any]] = ()) -> None:
        self._settings = settings
        self._timers: dict[Key, Timers] = {}
        self._verdicts: dict[Key, Verdict] = {}
        for connector, task, clue, since_ms, motion, *empty in saved:
            key, timer = Key(connector, task), Timer(since_ms, tuple(motion), *empty)
            self._timers[key] = {**self._timers.get(key, {}), Clue[clue]: timer}

    def judge(
        self, key: Key, observation: TaskObservation, a_record_waits: Callable[[], bool | None], now_ms: int
    ) -> Verdict:
        """Judge a task; ``a_record_waits`` is asked only when the offsets alone would call it stalled.

        While the offsets are unknown, a stall that rests on them stays; one that rests on beans is not judged
        while the agent does not answer.
        """
        timers = dict(next_timers(self._timers.get(key, {}), observation, now_ms))
        before, self._timers[key] = self._verdicts.pop(key, None), timers
        for since_ms, clue in sorted((timer.since_ms, clue) for clue, timer in timers.items()):
            verdict = Verdict(judged=True, since_ms=since_ms, because=clue.value)
            early = now_ms - since_ms < limit_ms(self._settings, clue)
            if early or (clue in OF_BEANS and observation.progress is None):
                continue
            if clue in OF_KAFKA and observation.extents is None:
                stalled = verdict == before
            elif clue in OF_KAFKA:
                timers[clue], stalled = proven(timers[clue], a_record_waits(), now_ms)
            else:
                stalled = True
            if stalled:
                self._verdicts[key] = verdict
                return verdict
        return Verdict(judged(timers, observation))

    def keep(self, keys: Collection[Key]) -> None:
        """Keep these tasks and forget all others."""
        self._timers = {key: timers for key, timers in self._timers.items() if key in keys and timers}
        self._verdicts = {key: verdict for key, verdict in self._verdicts.items() if key in keys}

    def state(self) -> list[list[object]]:
        """The running timers, as they are saved."""
        return [
            [*key, clue.name, timer.since_ms, list(timer.motion), timer.empty]
            for key, timers in self._timers.items()
            for clue, timer in timers.items()
        ]
