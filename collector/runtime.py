"""Tasks that may be abandoned (KIP-611): each source in its own thread, and one total time for all to stop.

A source that blocks holds up neither another nor the end of the process. At the end every task is told first,
then waited for in turn within what is left of the total; what has not ended by then is abandoned, said and
counted.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from collector.abandonment import Abandonments
from collector.conduct import CONDUCT_SUFFIX, Conduct
from collector.contract.backoff import Backoff
from collector.health import unheard
from collector.log_context import Scope, invoke, log_context
from collector.outbox import Outlet, Parcels
from collector.publisher import NAME, Publisher
from collector.retirement import Retirement
from collector.settings import CollectorSettings
from collector.sources.source import Source, State
from collector.status import STATUS_SUFFIX, Status
from collector.task import Surroundings, Task

log = logging.getLogger(__name__)

TICK_MS: Final = 500
PUBLISHER_SHARE: Final = 5
"""Of the total time to stop, the publisher is kept the n-th part."""


class Runtime:
    """Runs sources and the publisher until told to stop; ``abandoned`` knows what did not."""

    def __init__(
        self,
        settings: CollectorSettings,
        parcels: Parcels,
        publisher: Publisher,
        around: Surroundings,
        saved: Mapping[str, State],
    ) -> None:
        self.abandoned = Abandonments()
        self._retirement = Retirement(self.abandoned, settings.graceful_timeout_ms)
        self._settings = settings
        self._parcels = parcels
        self._publisher = publisher
        self._around = around
        self._saved = saved
        self._tasks: list[Task] = []
        self._starting = threading.Lock()
        self._outlet = Outlet(parcels)
        self._status = self._status_of(f"collector:{settings.name}", "collector")
        self._conduct = self._conduct_of(settings)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What has been started."""
        return tuple(self._tasks)

    def saved(self, source: str) -> State | None:
        """Where the source of that name was left, by its last instance or in the last life of the process."""
        left = next((task.state for task in self.tasks if task.name == source), None)
        return self._saved.get(source) if left is None else left

    def start(self, make: Callable[[], Source], scope: Scope = Scope.TASK) -> None:
        """Begin a source, once for each name; sources may start others. ``make`` makes each instance."""
        source = make()
        with self._starting:
            if any(task.name == source.name for task in self._tasks):
                _refuse(source)
                return
            status = self._status_of(source.name, source.kind)
            outlet = Outlet(self._parcels)
            task = Task(
                source,
                make,
                scope=scope,
                outlet=outlet,
                status=status,
                around=self._around,
                retirement=self._retirement,
            )
            self._tasks.append(task)
            task.start()

    def run(self, stop: threading.Event, beat: Callable[[], None] = unheard) -> str:
        """Publish until ``stop``; the reason if it ended before, else "". ``beat`` says that it goes on."""
        self._around.telemetry.observe(
            lambda: self._publisher.letter_counts,
            lambda: self.abandoned.count(Scope.TASK),
            lambda: self.abandoned.count(Scope.CONNECTOR),
        )
        publishing = self._publisher.start()
        while not stop.is_set() and not self._publisher.ended.is_set():
            beat()
            self._announce()
            stop.wait(min(TICK_MS, self._settings.heartbeat_interval_ms) / 1_000)
        self._shut_down(publishing)
        return self._publisher.failure

    def _announce(self) -> None:
        for task in self.tasks:
            task.announce()
        self._status.announce("", self._around.clock(), self._outlet)
        self._announce_conduct()

    def _announce_conduct(self) -> None:
        self._conduct.announce(self._publisher.letter_counts, self._around.clock(), self._outlet)

    def _shut_down(self, publishing: threading.Thread) -> None:
        self._around.stop.set()
        total_ms = self._settings.graceful_timeout_ms
        deadline_ms = _monotonic_ms() + total_ms
        for task in self.tasks:
            if not task.join(deadline_ms - total_ms / PUBLISHER_SHARE - _monotonic_ms()):
                self._abandon(task)
        self._announce_conduct()
        self._publisher.stop()
        publishing.join(max(deadline_ms - _monotonic_ms(), 0) / 1_000)
        if publishing.is_alive():
            log.error("Graceful stop of task %s failed.", NAME)
            self.abandoned.add(NAME, Scope.TASK, publishing.is_alive)
        self._say_what_is_left()
        self._around.telemetry.close(deadline_ms - _monotonic_ms())

    def _abandon(self, task: Task) -> None:
        with log_context(task.name, task.scope, task.sequence):
            log.error("Graceful stop of task %s failed.", task.name)
        self.abandoned.add(task.name, task.scope, task.runs)
        task.abandon()

    def _say_what_is_left(self) -> None:
        connectors, tasks = (self.abandoned.count(scope) for scope in (Scope.CONNECTOR, Scope.TASK))
        log.info(
            "Stopped; abandoned-connectors-current=%d abandoned-connectors-total=%d"
            " abandoned-tasks-current=%d abandoned-tasks-total=%d",
            connectors.current,
            connectors.total,
            tasks.current,
            tasks.total,
        )

    def _conduct_of(self, settings: CollectorSettings) -> Conduct:
        return Conduct(
            settings.name,
            self.abandoned,
            saved=self._saved.get(f"collector:{settings.name}{CONDUCT_SUFFIX}"),
            kafka_cluster=settings.kafka_cluster,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            started_at_ms=self._around.clock(),
        )

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


def _refuse(source: Source) -> None:
    with log_context(source.name, Scope.VALIDATION):
        log.warning("%s is set more than once; it is read once", source.name)
        invoke(source, source.close)


def _monotonic_ms() -> float:
    return time.monotonic() * 1_000
