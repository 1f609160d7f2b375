"""How the collector itself fares, as events: one snapshot at every change, and as a heartbeat.

Its counts begin with the process: dead letters (KIP-1191's three metrics), and what was abandoned (KIP-611).
A later ``started_at_ms`` means that they began anew; what was abandoned before is gone with its process.
"""

from collections.abc import Iterator
from typing import Final

from collector.abandonment import Abandonments
from collector.contract import conduct
from collector.contract.events import CollectorCount, CollectorSnapshot, Position
from collector.dead_letters import LetterCounts
from collector.log_context import Scope
from collector.outbox import Outlet
from collector.sources.source import State

CONDUCT_SUFFIX: Final = "#conduct"
MAX_SUBJECTS: Final = 1_000
"""How many abandoned sources one event names."""

ABANDONED: Final = {Scope.TASK: conduct.ABANDONED_TASKS, Scope.CONNECTOR: conduct.ABANDONED_CONNECTORS}


class Conduct:
    """Tells the counts of one collector; what the queue does not take is told with the next change."""

    def __init__(
        self,
        collector: str,
        abandoned: Abandonments,
        *,
        saved: State | None,
        kafka_cluster: str,
        heartbeat_interval_ms: int,
        started_at_ms: int,
    ) -> None:
        self.source = f"collector:{collector}{CONDUCT_SUFFIX}"
        self._collector = collector
        self._abandoned = abandoned
        self._kafka_cluster = kafka_cluster
        self._heartbeat_interval_ms = heartbeat_interval_ms
        self._started_at_ms = started_at_ms
        self._position_ms = int((saved or {}).get("position_ms", 0))
        self._told: tuple[tuple[CollectorCount, ...], int] | None = None

    def announce(self, letters: LetterCounts, now_ms: int, outlet: Outlet) -> None:
        """Send the snapshot, if it is due."""
        counts = (*_of_letters(letters), *_of_abandoned(self._abandoned))
        if self._told is not None:
            told, at_ms = self._told
            if told == counts and 0 <= now_ms - at_ms < self._heartbeat_interval_ms:
                return
        position_ms = max(now_ms, self._position_ms + 1)
        event = CollectorSnapshot(
            source=self.source,
            position=Position(position_ms),
            happened_at_ms=now_ms,
            observed_at_ms=now_ms,
            kafka_cluster=self._kafka_cluster,
            collector=self._collector,
            started_at_ms=self._started_at_ms,
            collector_counts=counts,
        )
        if outlet.offer((event,), {self.source: {"position_ms": position_ms}}):
            self._position_ms, self._told = position_ms, (counts, now_ms)


def _of_letters(counts: LetterCounts) -> Iterator[CollectorCount]:
    totals = {
        conduct.DEAD_LETTERS: counts.records,
        conduct.PRODUCE_REQUESTS: counts.produce_requests,
        conduct.FAILED_PRODUCE_REQUESTS: counts.failed_produce_requests,
        conduct.LOST: counts.lost,
    }
    for name, total in totals.items():
        yield CollectorCount(name=name, subject="", current=0, total=total)


def _of_abandoned(abandoned: Abandonments) -> Iterator[CollectorCount]:
    for scope, subject in abandoned.subjects()[:MAX_SUBJECTS]:
        count = abandoned.of(subject)
        yield CollectorCount(name=ABANDONED[scope], subject=subject, current=count.current, total=count.total)
