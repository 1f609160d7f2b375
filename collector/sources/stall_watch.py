"""Watches tasks for stalls from look to look, over restarts of the collector too."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from collector.sources import stalled
from collector.sources.abandoned import Key
from collector.sources.stalled import OF_BEANS, OF_KAFKA, Clue, Patience, Seen, Timer, Timers


class Verdict(NamedTuple):
    """Whether it is known that a task gets on, and if it does not, since when and by what sign."""

    judged: bool = False
    since_ms: int = 0
    because: str = ""


class StallWatch:
    """The running timers of every task; ``saved`` are those of an earlier ``state``."""

    def __init__(self, patience: Patience, saved: Iterable[list[Any]] = ()) -> None:
        self._patience = patience
        self._timers: dict[Key, Timers] = {}
        self._verdicts: dict[Key, Verdict] = {}
        for connector, task, clue, since_ms, motion in saved:
            key, timer = Key(connector, task), Timer(since_ms, tuple(motion))
            self._timers[key] = {**self._timers.get(key, {}), Clue[clue]: timer}

    def look(self, key: Key, seen: Seen, a_record_waits: Callable[[], bool], now_ms: int) -> Verdict:
        """Judge a task; ``a_record_waits`` is asked only when the offsets alone would call it stalled.

        While Kafka does not tell of its offsets, a stall that rests on them stays; one that rests on beans is
        not judged while the agent does not tell.
        """
        timers = stalled.following(self._timers.get(key, {}), seen, now_ms)
        before, self._timers[key] = self._verdicts.pop(key, None), timers
        for clue, since_ms in stalled.due(timers, self._patience, now_ms):
            verdict = Verdict(judged=True, since_ms=since_ms, because=clue.value)
            if _holds(clue, seen, a_record_waits, was_so=verdict == before):
                self._verdicts[key] = verdict
                return verdict
        return Verdict(stalled.judged(timers, seen))

    def keep(self, keys: Collection[Key]) -> None:
        """Forget all other tasks."""
        self._timers = {key: timers for key, timers in self._timers.items() if key in keys and timers}
        self._verdicts = {key: verdict for key, verdict in self._verdicts.items() if key in keys}

    def state(self) -> list[list[object]]:
        """What to save."""
        return [
            [*key, clue.name, timer.since_ms, list(timer.motion)]
            for key, timers in self._timers.items()
            for clue, timer in timers.items()
        ]


def _holds(clue: Clue, seen: Seen, a_record_waits: Callable[[], bool], *, was_so: bool) -> bool:
    """Whether a clue whose patience is over makes a stall."""
    if clue in OF_BEANS and seen.progress is None:
        return False
    if clue not in OF_KAFKA:
        return True
    return a_record_waits() if seen.extents is not None else was_so
