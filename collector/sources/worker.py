"""One Connect worker as its agent shows it from look to look."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from collector.contract.events import Instance
from collector.sources.abandoned import Key, Look, count, failures, settled
from collector.sources.connect_rest import UNASSIGNED

SECOND_LOOK_MS: Final = 50
MAX_REPORTED: Final = 1_000
"""How many keys are remembered only to say that nothing of them is abandoned any more."""


class Worker:
    """Abandoned instances of one worker, and which keys have ever had one."""

    def __init__(self, had_abandoned: Iterable[Key] = ()) -> None:
        self.had_abandoned = dict.fromkeys(had_abandoned)
        self._counts: dict[Key, int] = {}
        self._failed_since_ms: dict[Key, int] = {}

    def observe(
        self,
        look: Callable[[], Look],
        instances: Mapping[Key, str],
        pause: Callable[[int], None],
        now_ms: int,
    ) -> None:
        """Take one look, and a second one before any number changes."""
        running = {key for key, state in instances.items() if not key.task and state != UNASSIGNED}
        first = look()
        self._failed_since_ms = failures(first, self._failed_since_ms, now_ms)
        counted = count(first, running, self._failed_since_ms, now_ms)
        if counted == self._counts:
            return
        pause(SECOND_LOOK_MS)
        second = look()
        counted_again = count(second, running, self._failed_since_ms, now_ms)
        self._counts = settled((first, second), (counted, counted_again), self._counts)
        self.had_abandoned |= dict.fromkeys(self._counts)
        for key in list(self.had_abandoned)[:-MAX_REPORTED]:
            del self.had_abandoned[key]

    def instances(self, states: Mapping[Key, str], *, threads_known: bool) -> tuple[Instance, ...]:
        """What REST knows, and beyond it whatever has or had something abandoned."""
        counts = self._counts if threads_known else {}
        return tuple(
            Instance(
                connector=key.connector,
                task=key.task,
                state=states.get(key, ""),
                abandoned=counts.get(key, 0),
            )
            for key in sorted({*states, *self.had_abandoned})
        )
