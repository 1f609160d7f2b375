"""Status events, how each source is and how the collector itself is; and what the collector has abandoned.

Statuses are published at every change and as a heartbeat. The self-report holds counts that begin with the
process: our own dead letters (KIP-1191's three metrics) and what was abandoned (KIP-611). A later
``started_at_ms`` means that the counts began anew; what was abandoned before has ended with its process.

Tasks that did not stop in time are abandoned. An instance that fails is closed before the next one begins,
and abandoned if that takes too long. It has then been polled for the last time, so it moves no position that
the next instance moves.
"""

import logging
import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Final

from collector.publish.dead_letters import DeadLetterCounts
from collector.publish.publisher import BoundedChannel
from collector.sources.source import Publishing, Snapshots
from collector.telemetry import Count
from deadwatch.contract.events import CollectorSnapshot, Event, SourceStatus, self_report
from deadwatch.contract.events.self_report import STATUS, CollectorCount
from deadwatch.runtime.logs import Scope

log = logging.getLogger(__name__)

ENDED: Final = "ended"
SLICE_MS: Final = 50
MAX_SUBJECTS: Final = 1_000
"""How many abandoned sources one event names."""

ABANDONED: Final = {
    Scope.TASK: self_report.ABANDONED_TASKS,
    Scope.CONNECTOR: self_report.ABANDONED_CONNECTORS,
}


class Abandonments:
    """Counts what was abandoned, and closes instances for no longer than the graceful timeout."""

    def __init__(self, graceful_timeout_ms: int) -> None:
        self._graceful_timeout_ms = graceful_timeout_ms
        self._all: tuple[tuple[Scope, str, Callable[[], bool]], ...] = ()
        self._adding = threading.Lock()

    def add(self, name: str, scope: Scope, runs: Callable[[], bool]) -> None:
        """Log and count one more abandoned task or connector; ``runs``: its thread has not ended yet."""
        log.error("Graceful stop of task %s failed.", name)
        with self._adding:
            self._all += ((scope, name, runs),)

    def subjects(self) -> list[tuple[Scope, str]]:
        """Every source that was ever abandoned, once, in the order of the first time."""
        return list(dict.fromkeys((scope, name) for scope, name, _ in self._all))

    def count(self, subject: Scope | str) -> Count:
        """The count of all connectors, of all tasks, or of the instances of the source with this name."""
        found = [runs for *subjects, runs in self._all if subject in subjects]
        return Count(sum(runs() for runs in found), len(found))

    def retire(self, name: str, scope: Scope, close: Callable[[], None], stop: threading.Event) -> None:
        """Close an instance or, after the timeout, abandon it; once ``stop`` is set, the runtime does."""
        closing = threading.Thread(target=copy_context().run, args=(close,), name=name, daemon=True)
        closing.start()
        for _ in range(0, max(self._graceful_timeout_ms, 1), SLICE_MS):
            closing.join(None if stop.is_set() else SLICE_MS / 1_000)
            if not closing.is_alive():
                return
        self.add(name, scope, closing.is_alive)


class Announcement:
    """Publishes snapshots of its content that ``make`` makes; what the channel refuses stays due."""

    def __init__(
        self, source: str, make: Callable[..., Event], channel: BoundedChannel, publishing: Publishing
    ) -> None:
        self._source, self._make, self._channel = source, make, channel
        self._snapshots = Snapshots(source, publishing)

    def publish(self, **content: object) -> bool:
        """Publish the content, if that is due; false where that is still to be done."""
        events = self._snapshots.due(self._make, **content)
        state = {**self._snapshots.state(), ENDED: bool(content.get(ENDED))}
        if events and not self._channel.offer(events, {self._source: state}):
            self._snapshots.forget()
            return False
        return True


def source_status(subject: str, kind: str, channel: BoundedChannel, publishing: Publishing) -> Announcement:
    """Whether one source is up, or has ended: the fields of ``SourceStatus``, whose ``source`` is
    ``<subject>#status``.
    """
    make = partial(SourceStatus, subject=subject, source_kind=kind)
    return Announcement(f"{subject}{STATUS}", make, channel, publishing)


def self_reports(collector: str, channel: BoundedChannel, publishing: Publishing) -> Announcement:
    """The ``collector_counts`` of one collector; its ``source`` is ``collector:<name>#conduct``."""
    make = partial(CollectorSnapshot, collector=collector, started_at_ms=publishing.clock())
    return Announcement(f"collector:{collector}#conduct", make, channel, publishing)


def counts_of(counts: DeadLetterCounts, abandoned: Abandonments) -> tuple[CollectorCount, ...]:
    """What a self-report counts: our own dead letters, and each source that was abandoned."""
    totals = {
        self_report.DEAD_LETTERS: counts.records,
        self_report.PRODUCE_REQUESTS: counts.produce_requests,
        self_report.FAILED_PRODUCE_REQUESTS: counts.failed_produce_requests,
        self_report.LOST: counts.lost,
    }
    rows = [CollectorCount(name=name, subject="", current=0, total=total) for name, total in totals.items()]
    for scope, subject in abandoned.subjects()[:MAX_SUBJECTS]:
        name, count = ABANDONED[scope], abandoned.count(subject)
        rows += [CollectorCount(name=name, subject=subject, current=count.current, total=count.total)]
    return tuple(rows)
