"""Tasks that may be abandoned (KIP-611): each source in its own thread, and one total time for all to stop.

A source that blocks delays neither another source nor the end of the process. At the end all tasks are
told to stop first, then each is waited for within what is left of the total; what has not ended by then
is abandoned, logged and counted.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from collector.publish.publisher import NAME, BoundedChannel, ChunkQueue, Publisher
from collector.settings import CollectorSettings
from collector.sources.source import Publishing, Source, State
from collector.tasks.status import ENDED, Abandonments, counts_of, self_reports, source_status
from collector.tasks.task import Task, TaskContext
from deadwatch.contract.events.self_report import STATUS
from deadwatch.runtime.clock import monotonic_ms
from deadwatch.runtime.health import unheard
from deadwatch.runtime.logs import Scope, invoke, log_context

log = logging.getLogger(__name__)

TICK_MS: Final = 500
SHORTEN_MS: Final = 3_600_000
"""Not at once: sources that other sources start have to be found first."""
PUBLISHER_SHARE: Final = 5
"""The n-th part of the total time to stop is reserved for the publisher."""


class Runtime:
    """Runs sources and the publisher until it is stopped; ``abandoned`` counts what did not end in time."""

    def __init__(
        self,
        settings: CollectorSettings,
        chunks: ChunkQueue,
        publisher: Publisher,
        context: TaskContext,
        saved: Mapping[str, State],
        *,
        shortened: Callable[[Mapping[str, State], Iterable[State], int], Mapping[str, State | None]],
    ) -> None:
        self.abandoned = Abandonments(settings.graceful_timeout_ms)
        self._settings = settings
        self._chunks = chunks
        self._publisher = publisher
        self._context = context
        self._saved = saved
        self._shortened = shortened
        self.tasks: dict[str, Task] = {}
        """The tasks that have been started, by their source; others may be added meanwhile."""
        self._starting = threading.Lock()
        self.publishing = Publishing(
            self.saved, settings.kafka_cluster, settings.heartbeat_interval_ms, context.clock, settings.name
        )
        self._channel = channel = BoundedChannel(chunks)
        name = f"collector:{settings.name}"
        left = {source for source, state in saved.items() if source.endswith(STATUS) and not state.get(ENDED)}
        self._others = {source.removesuffix(STATUS) for source in left} - {name}
        self._status = source_status(name, "collector", channel, self.publishing)
        self._self_reports = self_reports(settings.name, channel, self.publishing)

    def saved(self, source: str) -> State | None:
        """The state that the last instance of a source has left, in this process or before its start."""
        task = self.tasks.get(source)
        return self._saved.get(source) if task is None or task.state is None else task.state

    def runs(self, source: str) -> bool:
        """Whether this source has not ended."""
        return source in self.tasks

    def start(self, make: Callable[[], Source], scope: Scope = Scope.TASK) -> None:
        """Start a source, once for each name; sources may start others. ``make`` makes each instance."""
        with self._starting:
            source = make()
            if self.runs(source.name):
                with log_context(source.name, Scope.VALIDATION):
                    log.warning("%s is set more than once; it is read once", source.name)
                    invoke(source, source.close)
                return
            channel = BoundedChannel(self._chunks)
            task = Task(
                source,
                make,
                scope=scope,
                channel=channel,
                status=source_status(source.name, source.kind, channel, self.publishing),
                context=self._context,
                abandoned=self.abandoned,
            )
            self.tasks[source.name] = task
            task.start()

    def run(self, stop: threading.Event, beat: Callable[[], None] = unheard) -> str:
        """Publish until ``stop``; the reason if it ended before, else "". ``beat`` is called meanwhile."""
        self._context.telemetry.observe(lambda: self._publisher.dead_letters.counts, self.abandoned.count)
        publishing, began_ms = self._publisher.start(), monotonic_ms()
        shorten_ms = began_ms + SHORTEN_MS
        while not stop.is_set() and not self._publisher.ended.is_set():
            beat()
            for task in tuple(self.tasks.values()):
                task.announce()
                if task.over:
                    self._drop(task)
            if monotonic_ms() - began_ms >= self._settings.heartbeat_interval_ms:
                self._end_others()
            if monotonic_ms() >= shorten_ms:
                self.shorten()
                shorten_ms = monotonic_ms() + SHORTEN_MS
            self._status.publish(up=True, message="")
            self._report()
            stop.wait(min(TICK_MS, self._settings.heartbeat_interval_ms) / 1_000)
        self._shut_down(publishing)
        return self._publisher.failure

    def _drop(self, task: Task) -> None:
        with self._starting:
            if task.state is not None:
                self._saved = {**self._saved, task.name: task.state}
            del self.tasks[task.name]

    def shorten(self) -> None:
        """Keep less of sources that are not read: what ``shortened`` makes of their states by this time."""
        with self._starting:
            left = {name: state for name, state in self._saved.items() if name not in self.tasks}
            read = [state for name in self.tasks if (state := self.saved(name)) is not None]
            changes = self._shortened(left, read, self._context.clock())
            if changes and self._channel.offer((), changes):
                after = {**self._saved, **changes}
                self._saved = {name: state for name, state in after.items() if state is not None}

    def _end_others(self) -> None:
        """Tell that the sources have ended that were read before this start, and are not any more."""
        self._others -= set(self.tasks)
        for name in sorted(self._others):
            status = source_status(name, "", self._channel, self.publishing)
            if status.publish(up=True, message="", ended=True):
                self._others.remove(name)

    def _report(self) -> None:
        counts = counts_of(self._publisher.dead_letters.counts, self.abandoned)
        self._self_reports.publish(collector_counts=counts)

    def _shut_down(self, publishing: threading.Thread) -> None:
        self._context.stop.set()
        total_ms = self._settings.graceful_timeout_ms
        deadline_ms = monotonic_ms() + total_ms
        for task in tuple(self.tasks.values()):
            if not task.ends(deadline_ms - total_ms / PUBLISHER_SHARE - monotonic_ms()):
                task.abandon()
        self._report()
        self._publisher.stop()
        publishing.join(max(deadline_ms - monotonic_ms(), 0) / 1_000)
        if publishing.is_alive():
            self.abandoned.add(NAME, Scope.TASK, publishing.is_alive)
        self._log_abandoned()
        self._context.telemetry.close(deadline_ms - monotonic_ms())

    def _log_abandoned(self) -> None:
        connectors, tasks = (self.abandoned.count(scope) for scope in (Scope.CONNECTOR, Scope.TASK))
        figures = (
            f"abandoned-{name}-current={count.current} abandoned-{name}-total={count.total}"
            for name, count in (("connectors", connectors), ("tasks", tasks))
        )
        log.info("Stopped; %s", " ".join(figures))
