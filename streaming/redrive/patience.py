"""Targets that did not answer: how long each is left alone, and when its time is up (KIP-572).

A target is a partition, or -1 where the record's key decides: it stands for all partitions of the topic.
"""

from collections.abc import Iterable
from random import Random
from typing import Final

from collector.contract.backoff import Backoff
from collector.contract.deadline import Deadline
from streaming.redrive.decision import Patience
from streaming.redrive.moved import BY_KEY

Target = tuple[str, int]

TRANSACTION: Final = ("", BY_KEY)
"""What is to blame when no target is."""


class Patiences:
    """Of one order; targets that answer have none."""

    def __init__(self, task_timeout_ms: int, backoff: Backoff, rng: Random) -> None:
        self._task_timeout_ms, self._backoff, self._rng = task_timeout_ms, backoff, rng
        self._by_target: dict[Target, Patience] = {}

    def of(self, topic: str, partition: int | None) -> Patience | None:
        """None: nothing is held against it."""
        if not self._by_target:
            return None
        return self._by_target.get((topic, BY_KEY if partition is None else partition))

    def failed(self, targets: Iterable[Target], now_ms: int) -> None:
        """Each has met one more timeout, and so have the records of its topic that go by key."""
        both = (one for topic, partition in targets for one in ((topic, partition), (topic, BY_KEY)))
        for target in dict.fromkeys(both):
            known = self._by_target.get(target) or Patience(Deadline(self._task_timeout_ms))
            wait_ms = self._backoff.delay_ms(known.failures + 1, self._rng)
            self._by_target[target] = known.failed(now_ms, wait_ms)

    def progressed(self, targets: Iterable[Target]) -> None:
        """Each has taken records: its patience is restored, and that of the records that go by key."""
        for topic, partition in targets:
            self._by_target.pop((topic, partition), None)
            self._by_target.pop((topic, BY_KEY), None)
        self._by_target.pop(TRANSACTION, None)

    def answered(self, topic: str) -> None:
        """All partitions of a topic of ours have."""
        for target in [one for one in self._by_target if one[0] == topic]:
            del self._by_target[target]

    def running(self) -> bool:
        """Whether any timer runs."""
        return bool(self._by_target)

    def expired(self) -> Target | None:
        """One whose time is up."""
        return next((target for target, one in self._by_target.items() if one.expired), None)

    def failing(self, most: int) -> Target | None:
        """One that has failed ``most`` times in a row."""
        return next((target for target, one in self._by_target.items() if one.failures >= most), None)
