"""Tasks that may be abandoned (KIP-611): each source in its own thread, and one total time for all to stop.

A source that blocks holds up neither another nor the end of the process. At the end every task is told first,
then waited for in turn within what is left of the total; what has not ended by then is abandoned, said and
counted.
"""

import logging
import threading
import time
from collections.abc import Mapping
from typing import Final

from collector.contract.backoff import Backoff
from collector.outbox import Outlet, Parcels
from collector.publisher import Publisher
from collector.settings import CollectorSettings
from collector.sources.source import Source, State
from collector.status import STATUS_SUFFIX, Status
from collector.task import Surroundings, Task

log = logging.getLogger(__name__)

TICK_MS: Final = 500
PUBLISHER_SHARE: Final = 5
"""Of the total time to stop, the publisher is kept the n-th part."""


class Runtime:
    """Runs sources and the publisher until told to stop; ``abandoned`` counts the tasks that did not."""

    def __init__(
        self,
        settings: CollectorSettings,
        parcels: Parcels,
        publisher: Publisher,
        around: Surroundings,
        saved: Mapping[str, State],
    ) -> None:
        self.abandoned = 0
        self._settings = settings
        self._parcels = parcels
        self._publisher = publisher
        self._around = around
        self._saved = saved
        self._tasks: list[Task] = []
        self._starting = threading.Lock()
        self._outlet = Outlet(parcels)
        self._status = self._status_of(f"collector:{settings.name}", "collector")

    def saved(self, source: str) -> State | None:
        """Where the source of that name was left."""
        return self._saved.get(source)

    def start(self, source: Source) -> None:
        """Begin a source, once for each name; sources may start others."""
        with self._starting:
            if any(task.name == source.name for task in self._tasks):
                log.warning("%s is set more than once; it is read once", source.name)
                source.close()
                return
            status = self._status_of(source.name, source.kind)
            task = Task(source, Outlet(self._parcels), status, len(self._tasks) + 1, self._around)
            self._tasks.append(task)
            task.start()

    def run(self, stop: threading.Event) -> str:
        """Publish until ``stop``; the reason if it ended before, else ""."""
        publishing = self._publisher.start()
        while not stop.is_set() and not self._publisher.ended.is_set():
            self._announce()
            stop.wait(min(TICK_MS, self._settings.heartbeat_interval_ms) / 1_000)
        self._shut_down(publishing)
        return self._publisher.failure

    def _announce(self) -> None:
        for task in tuple(self._tasks):
            task.announce()
        self._status.announce("", self._around.clock(), self._outlet)

    def _shut_down(self, publishing: threading.Thread) -> None:
        self._around.stop.set()
        total_ms = self._settings.connector_shutdown_graceful_timeout_ms
        deadline_ms = _monotonic_ms() + total_ms
        for task in tuple(self._tasks):
            if not task.join(deadline_ms - total_ms / PUBLISHER_SHARE - _monotonic_ms()):
                self._abandon(task.name)
        self._publisher.stop()
        publishing.join(max(deadline_ms - _monotonic_ms(), 0) / 1_000)
        if publishing.is_alive():
            self._abandon("publisher")
        log.info("Stopped; %d abandoned", self.abandoned)

    def _abandon(self, name: str) -> None:
        log.error("Graceful stop of task %s failed.", name)
        self.abandoned += 1

    def _status_of(self, subject: str, kind: str) -> Status:
        return Status(
            subject,
            kind,
            saved=self._saved.get(f"{subject}{STATUS_SUFFIX}"),
            kafka_cluster=self._settings.kafka_cluster,
            heartbeat_interval_ms=self._settings.heartbeat_interval_ms,
        )


def backoff(settings: CollectorSettings) -> Backoff:
    """The retry schedule of the settings; a misconfigured one is said once."""
    schedule = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
    if schedule.misconfigured:
        log.warning(
            "Configuration 'retry_backoff_ms' with value '%d' is greater than configuration"
            " 'retry_backoff_max_ms' with value '%d'. A static backoff with value '%d' will be applied.",
            schedule.initial_ms,
            schedule.max_ms,
            schedule.max_ms,
        )
    return schedule


def _monotonic_ms() -> float:
    return time.monotonic() * 1_000
