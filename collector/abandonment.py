"""What did not stop in time (KIP-611's abandoned-connectors-*, abandoned-tasks-* and the counts of each).

``total`` counts over the life of the process; ``current`` only what still runs.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from collector.log_context import Scope


@dataclass(frozen=True, slots=True)
class Count:
    """How many were abandoned, and how many of them still run."""

    current: int
    total: int


@dataclass(frozen=True, slots=True)
class _Abandoned:
    name: str
    scope: Scope
    runs: Callable[[], bool]


class Abandonments:
    """Keeps count; ``runs`` tells whether the abandoned thread has not ended yet."""

    def __init__(self) -> None:
        self._all: tuple[_Abandoned, ...] = ()
        self._adding = threading.Lock()

    def add(self, name: str, scope: Scope, runs: Callable[[], bool]) -> None:
        """One more."""
        with self._adding:
            self._all += (_Abandoned(name, scope, runs),)

    def count(self, scope: Scope) -> Count:
        """All connectors, or all tasks."""
        return _count([one for one in self._all if one.scope == scope])

    def subjects(self) -> list[tuple[Scope, str]]:
        """What was ever abandoned, each once, in its order."""
        return list(dict.fromkeys((one.scope, one.name) for one in self._all))

    def of(self, name: str) -> Count:
        """The instances of one source."""
        return _count([one for one in self._all if one.name == name])


def _count(abandoned: list[_Abandoned]) -> Count:
    return Count(sum(one.runs() for one in abandoned), len(abandoned))
