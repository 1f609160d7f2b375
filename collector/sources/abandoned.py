"""How many abandoned instances a Connect worker still runs: threads that its beans do not account for.

A connector or task runs on a thread that is named after it, and has a bean while the worker holds on to it;
the bean comes before the thread and goes after it. A bean whose task has failed stands for no thread, but
only some time after the failure, because a task closes on its own thread. A connector is also accounted for
by REST, since an abandoned instance may take the bean of its successor away when it ends.

A number changes only when two looks, a moment apart, agree thread by thread: what is just starting or
stopping never shows.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

FAILED: Final = "failed"
CLOSING_MS: Final = 30_000
"""How long a failed task may take to close before its thread counts as abandoned."""


class Key(NamedTuple):
    """A connector (``task`` empty) or one of its tasks."""

    connector: str
    task: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a worker: ids of the threads, and the status that each bean tells."""

    threads: Mapping[Key, frozenset[int]]
    beans: Mapping[Key, str]


def failures(look: Look, known: Mapping[Key, int], now_ms: int) -> dict[Key, int]:
    """Since when each failed task has been seen to have failed."""
    return {
        key: known.get(key, now_ms) for key, status in look.beans.items() if key.task and status == FAILED
    }


def count(
    look: Look, running: Collection[Key], failed_since_ms: Mapping[Key, int], now_ms: int
) -> dict[Key, int]:
    """Abandoned instances by key, without zeros; ``running`` are the connectors that REST says run here."""
    closed = {key for key, since_ms in failed_since_ms.items() if now_ms - since_ms > CLOSING_MS}
    held = {key for key in {*look.beans, *running} if key not in closed}
    surplus = {key: len(ids) - (key in held) for key, ids in look.threads.items()}
    return {key: number for key, number in surplus.items() if number > 0}


def settled(
    looks: tuple[Look, Look], counts: tuple[Mapping[Key, int], Mapping[Key, int]], before: Mapping[Key, int]
) -> dict[Key, int]:
    """The numbers both looks agree on; where they do not, the one from before."""
    first, second = counts
    result = {
        key: second.get(key, 0)
        if looks[0].threads.get(key) == looks[1].threads.get(key) and first.get(key) == second.get(key)
        else before.get(key, 0)
        for key in {*first, *second, *before}
    }
    return {key: number for key, number in result.items() if number}
